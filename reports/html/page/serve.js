// What users of a server would feel, and what the machine delivers.

const latencies = [['ttft', 'Time to the first token', 'TTFT'], ['tpot', 'Time per token after it', 'TPOT'],
                   ['end_to_end', 'Time to the whole answer', 'end to end']];
const quantileNames = [['mean_s', 'mean'], ['p50_s', 'p50'], ['p90_s', 'p90'], ['p95_s', 'p95'], ['p99_s', 'p99'], ['max_s', 'most']];

/// What weights that are not on devices need.
function hostTile() {
  const at = '/result/kv_cache/host', host = valueAt(at);
  if (!host) return null;
  const lacks = host.capacity_bytes !== null && host.used_bytes + host.cache_bytes_needed > host.capacity_bytes;
  return tile('Host memory', el('span', {class: lacks ? 'bad' : null}, num(at + '/used_bytes', 'bytes')),
              [host.capacity_bytes === null ? '' : ['of ', num(at + '/capacity_bytes', 'bytes'), ' '], 'on the fullest node',
               host.cache_bytes_needed > 0 ? [', and ', num(at + '/cache_bytes_needed', 'bytes'), ' of cache'] : '']);
}

function serveAnswer() {
  const r = doc.result, at = '/result/service', cache = '/result/kv_cache';
  const room = tile('Cache', num(cache + '/tokens', 'rate'), ['tokens a replica, ', num(cache + '/max_concurrency', 'number'), ' requests of full length']);
  if (!r.fits) {
    return section('answer', 'The answer',
      el('div', {class: 'verdict'}, el('strong', {class: 'bad'}, 'Does not fit'), say('/result/reason')),
      el('div', {class: 'tiles'}, room, hostTile()),
      el('h3', {}, 'What makes it fit'), el('p', {}, say('/result/cure')));
  }
  return section('answer', 'The answer',
    el('div', {class: 'verdict'}, el('strong', {}, num(at + '/output_tokens_per_s', 'rate'), ' tokens/s'),
       el('span', {}, num(at + '/all/requests', 'count'), ' requests in ', num(at + '/makespan_s', 'time'))),
    el('div', {class: 'tiles'},
      ...objectiveTiles(),
      tile('First token', num(at + '/all/ttft/p50_s', 'time'), ['half of them sooner; 99 % within ', num(at + '/all/ttft/p99_s', 'time')]),
      tile('Per token', num(at + '/all/tpot/p50_s', 'time'), ['half of them less; 99 % within ', num(at + '/all/tpot/p99_s', 'time')]),
      tile('Per user', [num(at + '/output_tokens_per_s_per_user', 'rate'), ' tokens/s'], 'while an answer is written'),
      tile('Per device', [num(at + '/output_tokens_per_s_per_device', 'rate'), ' tokens/s'], [num('/result/devices', 'count'), doc.result.devices === 1 ? ' device, busy ' : ' devices, busy ', num(at + '/devices_busy', 'percent'), ' of the time']),
      r.service.price_per_million_output_tokens === undefined ? null :
        tile('Price', num(at + '/price_per_million_output_tokens', 'money'), 'of 10⁶ tokens of output'),
      room, hostTile(),
      r.service.all.prefix_cache_hit_rate === undefined ? null :
        tile('Prefix cache', num(at + '/all/prefix_cache_hit_rate', 'percent'), ['of the tokens of prompts are found: ', num(at + '/all/prompt_tokens_cached', 'rate')]),
      r.service.speculative === undefined ? null :
        tile('Guesses', [num(at + '/speculative/mean_acceptance_length_tokens', 'number'), ' tokens'], ['a step and sequence; right are ', num(at + '/speculative/draft_acceptance_rate', 'percent')]),
      tile('Preemptions', num(at + '/all/preemptions', 'count'), ['at most ', num(at + '/most_sequences_in_step', 'count'), ' sequences in a step']),
      tile('Bound by', say(at + '/generation_bound_by'), 'while it only generates')));
}

const limitNames = {ttft: 'TTFT', tpot: 'TPOT', e2el: 'end to end'};

/// Whether as many requests are good as are asked for, and how many are a second.
function objectiveTiles() {
  const slo = doc.result.service.slo, at = '/result/service/slo';
  if (!slo) return [];
  const missed = Object.keys(slo.missed).flatMap((key, k) =>
    [k ? ', ' : '', limitNames[key], ' of ', num(at + pointer('limits', key + '_s'), 'time'), ' by ', num(at + pointer('missed', key), 'percent')]);
  const rate = doc.result.max_rate, found = rate?.rate_per_s;
  return [
    tile(el('span', {class: slo.attained === null ? '' : slo.attained ? 'good' : 'bad'}, slo.attained === null ? 'SLO' : slo.attained ? 'SLO met' : 'SLO missed'), num(at + '/attainment', 'percent'),
         ['of requests are good', ...(slo.attained === null ? [] : [', ', num(at + '/attainment_asked', 'percent'), ' are asked for']), '; missed: ', ...missed]),
    tile('Goodput', [num(at + '/goodput_requests_per_s', 'number'), ' requests/s'], [num(at + '/goodput_requests_per_s_per_device', 'number'), ' per device']),
    rate === undefined ? null
      : found ? tile('Highest rate', [num('/result/max_rate/rate_per_s', 'number'), ' a second'],
                     ['that meets them; requests per device: ', num('/result/max_rate/requests_per_s_per_device', 'number')])
      : tile('Highest rate', el('span', {class: 'bad'}, 'none meets them'),
             (rate.missed_rate_per_s ?? null) === null ? null : [num('/result/max_rate/missed_rate_per_s', 'number'), ' a second, the lowest tried, misses'])];
}

/// How many there are at each of the times, of intervals [from[i], to[i]).
function countsAt(times, from, to) {
  const starts = [...from].sort((a, b) => a - b), ends = [...to].sort((a, b) => a - b);
  let i = 0, k = 0;
  return times.map(t => {
    while (i < starts.length && starts[i] <= t) ++i;
    while (k < ends.length && ends[k] <= t) ++k;
    return i - k;
  });
}

/// Output tokens a second in each of `bins` equal parts; a request's come evenly.
function tokenRates(q, bins, whole) {
  const rates = new Array(bins).fill(0), width = whole / bins;
  q.output_tokens.forEach((tokens, i) => {
    const from = q.first_token_s[i], to = Math.max(q.finish_s[i], from + 1e-9);
    for (let b = Math.floor(from / width); b < bins && b * width < to; ++b) {
      const inside = Math.min(to, (b + 1) * width) - Math.max(from, b * width);
      if (inside > 0) rates[b] += tokens * inside / (to - from) / width;
    }
  });
  return rates;
}

const areaPath = (c, times, low, high) =>
  'M' + times.map((t, i) => `${c.px(t).toFixed(1)} ${c.py(high[i]).toFixed(1)}`).join('L') +
  'L' + times.map((t, i) => `${c.px(t).toFixed(1)} ${c.py(low[i]).toFixed(1)}`).reverse().join('L') + 'Z';

/// Waiting for their first token, on top of those that are being answered.
function drawPresence(q, whole, scale, width) {
  const times = Array.from({length: Math.max(2, Math.floor(width))}, (_, i, n = Math.floor(width) - 1) => whole * i / n);
  const answered = countsAt(times, q.first_token_s, q.finish_s).map(v => v * scale);
  const waiting = countsAt(times, q.arrival_s, q.first_token_s).map(v => v * scale);
  const all = answered.map((v, i) => v + waiting[i]), most = Math.max(1, ...all) * 1.08;
  const c = chart({width, height: 230, label: 'Requests that wait and requests that are being answered, over time',
    x: {low: 0, high: whole, values: ticks(0, whole, Math.min(8, width / 110)), text: formats.time, title: ''},
    y: {low: 0, high: most, values: ticks(0, most, Math.min(5, most)).filter(Number.isInteger), text: formats.count, title: 'requests'}});
  const zero = times.map(() => 0);
  c.root.append(svg('path', {d: areaPath(c, times, zero, answered), fill: colour('blue'), 'fill-opacity': 0.8}),
                svg('path', {d: areaPath(c, times, answered, all), fill: colour('orange'), 'fill-opacity': 0.85}));
  return c.root;
}

function drawRates(q, whole, scale, width) {
  const bins = Math.max(10, Math.floor(width / 6));
  const rates = tokenRates(q, bins, whole).map(v => v * scale), high = Math.max(1, ...rates) * 1.08;
  const c = chart({width, height: 190, label: 'Output tokens a second over time',
    x: {low: 0, high: whole, values: ticks(0, whole, Math.min(8, width / 110)), text: formats.time, title: 'since the first request came'},
    y: {low: 0, high, values: ticks(0, high, 4), text: formats.rate, title: 'tokens/s'}});
  const steps = rates.map((v, b) => `${b ? 'H' : 'M'}${c.px(whole * b / bins).toFixed(1)}${b ? 'V' : ' '}${c.py(v).toFixed(1)}`).join('') + `H${c.px(whole).toFixed(1)}`;
  c.root.append(svg('path', {d: steps, fill: 'none', stroke: colour('green'), 'stroke-width': 1.6}));
  return c.root;
}

function serveCourse() {
  const q = doc.requests;
  if (!q || q.arrival_s.length === 0) return null;
  const whole = q.finish_s.reduce((a, b) => Math.max(a, b), 0) || 1, scale = q.of / q.arrival_s.length;
  return section('course', 'Requests over time',
    responsive(width => [drawPresence(q, whole, scale, width), drawRates(q, whole, scale, width)], 'Requests and tokens over time'),
    legend([['being answered', colour('blue')], ['wait for their first token', colour('orange')], ['output tokens a second', colour('green')]]),
    el('p', {class: 'small soft'}, 'The tokens of a request are drawn as if they came evenly between its first and its last. ',
       scale > 1 ? `Drawn from ${formats.count(q.arrival_s.length)} of ${formats.count(q.of)} requests. ` : ''));
}

/// Seconds of each request, by the measure's key.
const latencyOf = {
  ttft: (q, i) => q.first_token_s[i] - q.arrival_s[i],
  tpot: (q, i) => q.output_tokens[i] > 1 ? (q.finish_s[i] - q.first_token_s[i]) / (q.output_tokens[i] - 1) : null,
  end_to_end: (q, i) => q.finish_s[i] - q.arrival_s[i],
};

function drawLatency(measure, width) {
  const q = doc.requests, byKind = q.kinds.map(() => []);
  q.arrival_s.forEach((_, i) => { const v = latencyOf[measure](q, i); if (v !== null && v > 0) byKind[q.kind[i]].push(v); });
  for (const list of byKind) list.sort((a, b) => a - b);
  const seen = byKind.filter(list => list.length);
  if (seen.length === 0) return el('p', {}, 'No request has one.');
  let low = Math.min(...seen.map(l => l[0])), high = Math.max(...seen.map(l => l.at(-1))) * 1.05;
  if (high < 2 * low) low /= 2, high *= 2;  // or it has no round value
  const c = chart({width, height: 300, label: 'Share of requests that take at most so long',
    x: {low, high, log: true, values: logTicks(low, high), text: formats.time, title: latencies.find(([k]) => k === measure)[1].toLowerCase()},
    y: {low: 0, high: 1, values: [0, 0.25, 0.5, 0.75, 0.9, 1], text: v => formats.percent(v), title: ''}});
  byKind.forEach((list, k) => {
    if (list.length === 0) return;
    const each = Math.max(1, Math.floor(list.length / (2 * width)));
    let d = `M${c.px(list[0]).toFixed(1)} ${c.py(0)}`;
    for (let i = 0; i < list.length; i += each) d += `L${c.px(list[i]).toFixed(1)} ${c.py((i + 1) / list.length).toFixed(1)}`;
    c.root.append(svg('path', {d: d + `L${c.px(list.at(-1)).toFixed(1)} ${c.py(1)}`, fill: 'none', stroke: colour(series[k % series.length]), 'stroke-width': 1.8,
                               'stroke-dasharray': k % 2 ? '7 3' : null}));
  });
  return c.root;
}

function latencyTable() {
  const at = '/result/service', groups = [['all', at + '/all'], ...doc.result.service.kinds.map((k, i) => [k.name, at + pointer('kinds', i)])];
  const rows = groups.flatMap(([name, path]) => latencies.map(([key, , short]) => ({cells: [
    `${short}${groups.length > 1 ? ', ' + name : ''}`, num(path + '/requests', 'count'), ...quantileNames.map(([q]) => num(path + pointer(key, q), 'time'))]})));
  rows.push({cells: ['between tokens', '', ...quantileNames.map(([q]) => num(at + pointer('itl', q), 'time'))]});
  return table(null, [{title: 'latency'}, {title: 'requests', number: true}, ...quantileNames.map(([, title]) => ({title, number: true}))], rows);
}

function serveLatency() {
  if (!doc.requests) return null;
  let measure = 'ttft';
  const figure = responsive(width => drawLatency(measure, width), 'Latency of requests');
  return section('latency', 'Latency',
    el('div', {class: 'controls'}, select('Show', latencies.map(([key, title]) => [key, title]), v => { measure = v; figure.redraw(); })), figure,
    doc.requests.kinds.length > 1 ? legend(doc.requests.kinds.map((name, k) => [name, colour(series[k % series.length])])) : null,
    el('p', {class: 'small soft'}, 'Share of the requests that took at most so long.'), latencyTable());
}

/// Of a step, and the host's before it: [key, name, colour, title of its column].
const stepParts = [['memory_bandwidth_s', 'memory bandwidth', 'blue', 'memory'], ['compute_s', 'compute', 'sky', 'compute'],
                   ['communication_s', 'communication', 'orange', 'messages'], ['launch_s', 'kernel launches', 'yellow', 'launches'],
                   ['processor_s', 'the processor', 'purple', 'processor'], ['host_s', 'host', 'grey']];

/// What the engine's steps spend their time on; the host's part comes before each step.
function serveSteps() {
  if (!doc.result.fits) return null;
  const sorts = [['/result/service/generation_steps', 'only generate'], ['/result/service/prompt_steps', 'have prompts']];
  if (doc.result.pools) sorts.push(['/result/pools/prefill/use/prompt_steps', 'have prompts, of prefill']);
  const seen = sorts.filter(([at]) => valueAt(at).steps > 0);
  const parts = stepParts.filter(([part]) => part !== 'processor_s' || seen.some(([at]) => valueAt(at)[part] > 0));  // most machines do not have its
  const shares = parts.filter(([, , , column]) => column);
  const whole = seen.map(([at]) => parts.reduce((sum, [part]) => sum + valueAt(at)[part], 0)), most = Math.max(...whole, 1e-12);
  const rows = seen.map(([at, title]) => {
    const s = valueAt(at);
    let reached = 0;
    const bar = svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'}, parts.map(([part, , tone]) => {
      const x = reached;
      reached += 1000 * s[part] / most;
      return svg('rect', {x, y: 0.5, width: Math.max(0, reached - x), height: 9, fill: colour(tone)});
    }));
    return {cells: [title, num(at + '/steps', 'count'), num(at + '/time_s', 'time'), ...shares.map(([part]) => num(at + pointer(part), 'share', at + '/time_s')), bar]};
  });
  return section('steps', 'What steps spend their time on',
    table('Alone on the machine; shares of that time.', [{title: 'steps that'}, {title: 'steps', number: true}, {title: 'time', number: true},
      ...shares.map(([, , , column]) => ({title: column, number: true})), {title: 'and the host before them', bar: true}], rows),
    legend(parts.map(([, title, tone]) => [title, colour(tone)])));
}

/// Instances that compute prompts and instances that generate, and what goes from the ones to the others.
function servePools() {
  const pools = doc.result.pools, h = doc.result.service?.handovers, at = '/result/service/handovers';
  if (!pools || !h) return null;
  const rows = Object.entries(pools).map(([name, pool]) => {
    const here = '/result/pools' + pointer(name);
    return {cells: [name, pool.layout, num(here + '/devices', 'count'), num(here + '/use/devices_busy', 'percent'),
                    num(here + '/use/most_blocks_in_use', 'share', here + '/kv_cache/blocks'), num(here + '/use/most_sequences_in_step', 'count'), num(here + '/kv_cache/tokens', 'rate')]};
  });
  const waits = [['wait_for_prefill', 'wait for the first step'], ['time', 'transfer of keys and values'], ['wait_for_decode', 'wait for room and a step of decode']];
  return section('pools', 'Prefill and decode',
    el('p', {}, 'Requests wait longest for ', say(at + '/bottleneck'), '. Sent: ', num(at + '/bytes', 'bytes'), ' of ', num(at + '/transfers', 'count'), ' requests.'),
    table(null, [{title: 'instances'}, {title: 'layout'}, {title: 'devices', number: true}, {title: 'busy', number: true}, {title: 'cache in use, at most', number: true},
                 {title: 'sequences, at most', number: true}, {title: 'cache of each, tokens', number: true}], rows),
    table(null, [{title: 'of a request'}, ...quantileNames.map(([, title]) => ({title, number: true}))],
          waits.map(([key, title]) => ({cells: [title, ...quantileNames.map(([q]) => num(at + pointer(key, q), 'time'))]}))));
}

/// What fills a device: of each pool, or of all.
function serveMemory() {
  const pools = Object.keys(doc.result.pools ?? {});
  const parts = pools.length ? pools.flatMap(name => memoryOfCache('/result/pools' + pointer(name, 'kv_cache'), name)) : memoryOfCache('/result/kv_cache', '');
  return parts.length ? section('memory', 'What fills a device', ...parts) : null;
}

/// Of each pipeline stage, and item by item of the one that has least room.
function memoryOfCache(at, name) {
  const stages = valueAt(at).stages;
  if (stages.length === 0) return [];
  const least = stages.reduce((a, s, k) => (s.tokens < stages[a].tokens ? k : a), 0), here = at + pointer('stages', least);
  const items = Object.entries(stages[least].items).sort((a, b) => b[1] - a[1]);
  const most = Math.max(...items.map(([, bytes]) => bytes), stages[least].cache_bytes, 1);
  const tone = key => colour(memoryColours[key.replace(/_bytes$/, '')] ?? memoryColours.overheads);
  const rows = items.map(([key, bytes]) => ({cells: [words(key.replace(/_bytes$/, '')), num(here + pointer('items', key), 'bytes'), barCell(0, bytes / most, tone(key))]}));
  if (stages[least].cache_bytes > 0) rows.push({cells: ['left for the cache', num(here + '/cache_bytes', 'bytes'), barCell(0, stages[least].cache_bytes / most, colour(memoryColours.kv_cache))]});
  const perStage = stages.map((_, k) => ({cells: [`stage ${k}`, num(at + pointer('stages', k, 'used_bytes'), 'bytes'), num(at + pointer('stages', k, 'cache_bytes'), 'bytes'),
    num(at + pointer('stages', k, 'cache_bytes_per_token'), 'bytes'), num(at + pointer('stages', k, 'tokens'), 'count')]}));
  const of = [name ? `Of an instance of ${name}` : '', stages.length > 1 ? `of stage ${least}, which has least room` : ''].filter(Boolean).join(', ');
  const caption = of ? `${of[0].toUpperCase()}${of.slice(1)}.` : null;
  return [table(caption, [{title: 'what'}, {title: 'size', number: true}, {title: '', bar: true}], rows),
          table(null, [{title: ''}, {title: 'in use', number: true}, {title: 'left for the cache', number: true}, {title: 'a token takes', number: true}, {title: 'tokens', number: true}], perStage)];
}
