// Engines side by side: what a user gets over what the machine delivers.

const servedRows = () => doc.result.candidates.map((c, k) => ({c, at: pointer('result', 'candidates', k, 'report')}));
const answersIn = ({c}) => Boolean(c.report?.service);

/// With objectives the best is who serves most requests a second and device that keep them, of those
/// of which as many do as are asked for.
function goodputAnswer(rows) {
  const goodput = r => r.c.report.service.slo.goodput_requests_per_s_per_device, attained = rows.filter(r => r.c.report.service.slo.attained !== false);
  const best = (attained.length ? attained : rows).reduce((a, b) => (goodput(b) > goodput(a) ? b : a)), slo = best.at + '/service/slo';
  return section('answer', 'The answer',
    el('div', {class: 'verdict'}, el('strong', {class: attained.length ? 'good' : 'bad'}, attained.length ? best.c.label : 'None meets the SLO'),
       el('span', {}, attained.length ? `has the highest goodput of a device, of the ${attained.length} of ${rows.length} that meet the SLO` : `${best.c.label} has the highest goodput`)),
    el('div', {class: 'tiles'},
      tile('Goodput', [num(slo + '/goodput_requests_per_s_per_device', 'number'), ' requests/s'], ['per device; ', num(slo + '/goodput_requests_per_s', 'number'), ' in all']),
      tile('Good requests', num(slo + '/attainment', 'percent'), [num(slo + '/attainment_asked', 'percent'), ' are asked for']),
      tile('First token', num(best.at + '/service/all/ttft/p99_s', 'time'), '99 % within it'),
      tile('Per device', [num(best.at + '/service/output_tokens_per_s_per_device', 'rate'), ' tokens/s'])));
}

function serveCompareAnswer() {
  const rows = servedRows().filter(answersIn);
  if (rows.length === 0) return section('answer', 'The answer', el('div', {class: 'verdict'}, el('strong', {class: 'bad'}, 'None fits')));
  const most = key => rows.reduce((a, b) => (b.c.report.service[key] > a.c.report.service[key] ? b : a));
  const soonest = rows.reduce((a, b) => (b.c.report.service.all.ttft.p99_s < a.c.report.service.all.ttft.p99_s ? b : a));
  const device = most('output_tokens_per_s_per_device'), user = most('output_tokens_per_s_per_user');
  const asked = rows.filter(r => r.c.report.service.slo);
  if (asked.length > 0) return goodputAnswer(asked);
  return section('answer', 'The answer',
    el('div', {class: 'verdict'}, el('strong', {}, num(device.at + '/service/output_tokens_per_s_per_device', 'rate'), ' tokens/s per device'), el('span', {}, device.c.label)),
    el('div', {class: 'tiles'},
      tile('Most per user', [num(user.at + '/service/output_tokens_per_s_per_user', 'rate'), ' tokens/s'], user.c.label),
      tile('Soonest first token', num(soonest.at + '/service/all/ttft/p99_s', 'time'), ['99 % within it: ', soonest.c.label])));
}

const mostNamed = 16;  // marks; of more the names would cover one another

function drawServed(rows, width) {
  const x = r => r.c.report.service.output_tokens_per_s_per_user, y = r => r.c.report.service.output_tokens_per_s_per_device;
  const range = f => { const all = rows.map(f), low = Math.min(...all), high = Math.max(...all), room = (high - low) * 0.12 || high * 0.1; return [Math.max(0, low - room), high + room]; };
  const [left, right] = range(x), [low, high] = range(y);
  const c = chart({width, height: 360, left: 70, label: 'Tokens a second of a device over those of a user',
    x: {low: left, high: right, values: ticks(left, right, Math.min(8, width / 110)), text: formats.rate, title: 'output tokens a second for each user'},
    y: {low, high, values: ticks(low, high, 5), text: formats.rate, title: 'output tokens a second of each device'}});
  const front = rows.filter(r => !rows.some(o => o !== r && x(o) >= x(r) && y(o) >= y(r) && (x(o) > x(r) || y(o) > y(r)))).sort((a, b) => x(a) - x(b));
  if (front.length > 1) {
    c.root.append(svg('path', {fill: 'none', stroke: colour('green'), 'stroke-width': 1.5, d: front.map((r, i) => `${i ? 'V' : 'M'}${i ? c.py(y(r)) + 'H' + c.px(x(r)) : c.px(x(r)) + ' ' + c.py(y(r))}`).join('')}));
  }
  const named = [];
  for (const r of rows) {
    const s = r.c.report.service, best = front.includes(r);
    const mark = svg('path', {d: shapes[best ? 1 : 0], transform: `translate(${c.px(x(r)).toFixed(1)} ${c.py(y(r)).toFixed(1)})`, fill: colour(best ? 'green' : 'blue')});
    c.root.append(explainMark(mark, r.c.label, `${formats.rate(x(r))} tokens/s a user, ${formats.rate(y(r))} a device`,
      `TTFT p99 ${formats.time(s.all.ttft.p99_s)}, TPOT p99 ${formats.time(s.all.tpot.p99_s)}`));
    if (rows.length > mostNamed) continue;
    const inner = c.px(x(r)) > (c.left + c.right) / 2;  // so that no name leaves the picture
    const from = c.px(x(r)) + (inner ? -9 - 7 * r.c.label.length : 9), to = from + 7 * r.c.label.length, line = c.py(y(r)) - 7;  // above the line between marks
    const covers = n => from < n.to && n.from < to && Math.abs(n.line - line) < 14;
    if (named.some(covers)) continue;  // the mark says it when it is pointed at
    named.push({from, to, line});
    c.root.append(svg('text', {class: 'soft', x: c.px(x(r)) + (inner ? -9 : 9), y: line, 'text-anchor': inner ? 'end' : 'start'}, r.c.label));
  }
  return c.root;
}

function serveCompareSection() {
  const rows = servedRows().filter(r => answersIn(r) && r.c.report.service.output_tokens_per_s_per_user !== null);
  if (rows.length === 0) return null;
  return section('engines', 'Users against devices', responsive(width => drawServed(rows, width), 'Users against devices'),
    shapeLegend([['no other has more of both', 'green', 1], ['the others', 'blue', 0]]));
}

/// What is said of service level objectives, in the place of what binds; nothing where there are none.
const objectiveColumns = [['good', 'attainment', 'percent'], ['goodput', 'goodput_requests_per_s', 'number']];

function serveCompareTable() {
  const asked = servedRows().some(({c}) => c.report?.service?.slo) ? objectiveColumns : [];
  const rated = asked.length > 0 && servedRows().some(({c}) => c.report?.max_rate);
  const more = asked.length === 0 ? [{title: 'bound by'}] : [...asked.map(([title]) => title), ...(rated ? ['highest rate'] : [])].map(title => ({title, number: true}));
  const objectives = (report, at) => {
    if (asked.length === 0) return [say(at + '/service/generation_bound_by')];
    const found = report.max_rate?.rate_per_s;
    return [...asked.map(([, key, format]) => report.service.slo ? num(at + '/service/slo' + pointer(key), format) : ''),
            ...(rated ? [found ? num(at + '/max_rate/rate_per_s', 'number') : 'none'] : [])];
  };
  const rows = servedRows().map(({c, at}) => {
    if (!answersIn({c})) return {cells: [c.label, el('span', {class: 'bad'}, c.report ? ['does not fit: ', say(at + '/reason')] : c.reason)]};
    const s = at + '/service';
    return {cells: [c.label, num(s + '/all/ttft/p50_s', 'time'), num(s + '/all/ttft/p99_s', 'time'), num(s + '/all/tpot/p50_s', 'time'), num(s + '/all/tpot/p99_s', 'time'),
                    num(s + '/output_tokens_per_s', 'rate'), num(s + '/output_tokens_per_s_per_device', 'rate'), num(at + '/kv_cache/tokens', 'rate'), ...objectives(c.report, at)]};
  });
  return section('candidates', 'All of them', table(null, [{title: ''}, {title: 'TTFT p50', number: true}, {title: 'TTFT p99', number: true}, {title: 'TPOT p50', number: true}, {title: 'TPOT p99', number: true},
    {title: 'tokens/s', number: true}, {title: 'per device', number: true}, {title: 'cache of a replica, tokens', number: true}, ...more], rows));
}
