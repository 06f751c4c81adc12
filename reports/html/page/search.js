// The answer of a search: the best layouts, time against memory, and the proof.

function searchRows() {
  const r = doc.result, rows = [];
  (r.best ?? []).forEach((row, k) => rows.push({row, at: pointer('result', 'best', k), kind: 'best', name: `${k + 1}`}));
  (r.front ?? []).forEach((row, k) => rows.push({row, at: pointer('result', 'front', k), kind: 'front', name: `f${k + 1}`}));
  if (r.as_written) rows.push({row: r.as_written, at: '/result/as_written', kind: 'own', name: 'as written'});
  if (r.rule_of_thumb) rows.push({row: r.rule_of_thumb, at: '/result/rule_of_thumb', kind: 'rule', name: 'rule of thumb'});
  return rows;
}
const searchKinds = {best: ['among the best', 'blue', 0], front: ['on the front', 'green', 1],
                     own: ['as written', 'orange', 2], rule: ['rule of thumb', 'purple', 3]};
const settingsOf = row => [...Object.entries(row.machine), ...Object.entries(row.settings)];
const setOptions = row => settingsOf(row).map(setOption).join(' ');
const machineWords = row => Object.entries(row.machine).map(([p, v]) => `${p.split('.').at(-1)} ${v}`).join(', ');
const inWords = row => [machineWords(row), row.layout].filter(Boolean).join(', ');

function searchAnswer() {
  const r = doc.result, best = r.best?.[0];
  if (!best) return section('answer', 'The answer', el('div', {class: 'verdict'}, el('strong', {class: 'bad'}, r.nothing ? say('/result/nothing') : 'Nothing fits')), searchProof());
  const at = '/result/best/0/report', own = r.as_written?.report;
  return section('answer', 'The answer',
    el('div', {class: 'verdict'}, el('strong', {}, num(at + '/step_time_s', 'time')), el('span', {}, inWords(best))),
    el('div', {class: 'tiles'},
      trainingTile(at + '/training'),
      tile('MFU', num(at + '/mfu', 'percent')),
      tile('Tokens per second', num(at + '/tokens_per_s', 'rate'), [num(at + '/tokens_per_s_per_gpu', 'rate'), ' per GPU']),
      tile('Peak memory', num(at + '/peak_memory_bytes', 'bytes'), ['of ', num(at + '/memory/capacity_bytes', 'bytes')]),
      tile('Bound by', say(at + '/bound_by')),
      own ? tile('As written', num('/result/as_written/report/step_time_s', 'time'), [inWords(r.as_written), own.fits ? null : el('span', {class: 'bad'}, '; does not fit')]) : null),
    el('h3', {}, 'To make it so'), el('pre', {class: 'command', tabindex: '0'}, settingWords(settingsOf(best))), el('div', {class: 'controls'}, copyButton(setOptions(best))),
    searchProof());
}

/// What became of all layouts, in one bar.
function searchProof() {
  const l = doc.result.layouts;
  const parts = [['simulated', 'blue', 'simulated'], ['too_slow', 'green', 'provably slower than the best'], ['too_large', 'orange', 'too large, not simulated'],
                 ['refused', 'grey', 'cannot be planned'], ['undecided', 'yellow', 'undecided']].filter(([key]) => l[key] > 0);
  let reached = 0;
  const bar = svg('svg', {viewBox: '0 0 1000 16', preserveAspectRatio: 'none', width: '100%', height: 16, 'aria-hidden': 'true'}, parts.map(([key, tone]) => {
    const x = 1000 * reached / l.considered;
    reached += l[key];
    return svg('rect', {x, y: 0, width: Math.max(1, 1000 * l[key] / l.considered), height: 16, fill: colour(tone)});
  }));
  return [el('h3', {}, 'The proof'), el('p', {}, num('/result/layouts/considered', 'count'), ' layouts: ',
      parts.map(([key, , title], k) => [k ? ', ' : '', num('/result/layouts' + pointer(key), 'count'), ' ' + title]),
      searchGap(), doc.result.interrupted ? ' The search was interrupted before its end.' : ''),
    el('figure', {}, bar), legend(parts.map(([, tone, title]) => [title, colour(tone)])), searchRefusals(), searchHeld()];
}

/// How far the best may be off.
function searchGap() {
  const l = doc.result.layouts, places = doc.result.best?.length ?? 0;
  if (l.undecided === 0) return '; none is faster.';
  if (l.gap === null) return '.';
  if (l.gap > 0) return ['; one of the undecided may be up to ', num('/result/layouts/gap', 'percent'), ' faster.'];
  return l.gap_of_last > 0 && places > 1
    ? [`; the best is proven, ${places === 2 ? 'place 2' : `places 2 to ${places}`} may be up to `, num('/result/layouts/gap_of_last', 'percent'), ' faster.'] : '; the best is proven.';
}

/// Why some layouts cannot be planned.
function searchRefusals() {
  const all = doc.result.refusals ?? [];
  return all.length === 0 ? null : el('ul', {class: 'small soft'}, all.slice(0, 3).map((r, k) => {
    const at = pointer('result', 'refusals', k), machine = Object.keys(r.machine).length > 0 ? ` of ${machineWords(r)}` : '';
    return el('li', {}, num(at + '/layouts', 'count'), machine, ' cannot be planned: ', say(at + '/code'), ', ', say(at + '/problem'));
  }));
}

/// What no layout has otherwise, and might have.
function searchHeld() {
  const held = Object.entries(doc.result.held ?? {});
  return held.length === 0 ? null
    : el('p', {class: 'small soft'}, 'Held as written, where -L does not vary them: ', held.map(([path, v]) => `${path} ${v}`.trim()).join(', '), '.');
}

/// A colour for each machine of the front; of one, that of the front.
function frontTones(rows) {
  const machines = [...new Set(rows.filter(r => r.kind === 'front').map(r => machineWords(r.row)))];
  return new Map(machines.map((machine, k) => [machine, machines.length > 1 ? series[k % series.length] : searchKinds.front[1]]));
}

/// Of the machines, at the top, one below the other.
function drawCapacities(c, capacities) {
  capacities.forEach((bytes, k) => c.root.append(
    svg('path', {d: `M${c.px(bytes)} ${c.top}V${c.bottom}`, stroke: 'var(--bad)', 'stroke-dasharray': '6 4', 'stroke-width': 1.5}),
    svg('text', {x: c.px(bytes) - 5, y: c.top + 12 + 15 * k, 'text-anchor': 'end'}, capacities.length > 1 ? `capacity ${formats.bytes(bytes)}` : 'capacity')));
}

/// Logarithmic where it spans much.
function timeAxis(low, top) {
  if (top > 8 * low) return {low: 0.8 * low, high: 1.25 * top, log: true, values: logTicks(0.8 * low, 1.25 * top), text: formats.time};
  const room = (top - low) * 0.12 || top * 0.1, from = Math.max(0, low - room);
  return {low: from, high: top + room, values: ticks(from, top + room, 5), text: formats.time};
}

/// The axes on which the layouts differ, each with its values.
function searchFilters(rows) {
  const values = new Map();
  for (const {row} of rows) for (const [axis, n] of Object.entries(row.report.mesh)) {
    if (!values.has(axis)) values.set(axis, new Set());
    values.get(axis).add(n);
  }
  return [...values].filter(([, set]) => set.size > 1).map(([axis, set]) => [axis, [...set].sort((a, b) => a - b)]);
}

function drawSearch(rows, width) {
  const x = r => r.row.report.peak_memory_bytes, y = r => r.row.report.step_time_s;
  if (rows.length === 0) return el('p', {}, 'No layout passes these filters.');
  const all = searchRows(), fullest = Math.max(...all.map(x)), tones = frontTones(all);
  // Beyond it all marks would be at the left edge.
  const capacities = [...new Set(all.map(r => r.row.report.memory.capacity_bytes))].filter(bytes => bytes < 3 * fullest).sort((a, b) => a - b);
  const most = Math.max(fullest, ...capacities) * 1.06;
  const c = chart({width, height: 380, left: 78, label: 'Step time over memory of the fullest rank',
    x: {low: 0, high: most, values: byteTicks(most, Math.min(8, width / 110)), text: formats.bytes, title: 'memory of the fullest rank'},
    y: timeAxis(Math.min(...rows.map(y)), Math.max(...rows.map(y)))});
  drawCapacities(c, capacities);
  const front = rows.filter(r => r.kind === 'front').sort((a, b) => x(a) - x(b));
  for (const [machine, tone] of tones) {
    const curve = front.filter(r => machineWords(r.row) === machine);
    if (curve.length < 2) continue;
    c.root.append(svg('path', {fill: 'none', stroke: colour(tone), 'stroke-width': 1.5,
      d: curve.map((r, i) => `${i ? 'H' : 'M'}${c.px(x(r))}${i ? 'V' : ' '}${c.py(y(r))}`).join('')}));
  }
  for (const r of [...rows].reverse()) {
    const [, ofKind, shape] = searchKinds[r.kind], report = r.row.report;
    const tone = r.kind === 'front' ? tones.get(machineWords(r.row)) : ofKind;
    const mark = svg('path', {d: shapes[shape], transform: `translate(${c.px(x(r)).toFixed(1)} ${c.py(y(r)).toFixed(1)})`,
      fill: report.fits ? colour(tone) : 'var(--card)', stroke: colour(tone), 'stroke-width': 1.5, 'data-row': r.name});
    c.root.append(explainMark(mark, `${r.name}: ${formats.time(y(r))}, ${formats.bytes(x(r))}`, inWords(r.row), `MFU ${formats.percent(report.mfu)}`, report.fits ? null : 'does not fit'));
  }
  return c.root;
}

/// Which layouts the front has.
const frontNote = () => el('p', {class: 'small soft'},
  'On the front are those of the best that no other beats, and with less memory the fastest in steps of ', num('/result/front_memory_step', 'percent'), ', down to the smallest.',
  doc.result.front_complete ? null : el('span', {class: 'bad'}, ' The search was interrupted: the front is not complete.'));

function searchSection() {
  const all = searchRows(), chosen = {};
  if (all.length === 0) return null;
  const passing = () => all.filter(({row, kind}) => Object.entries(chosen).every(([key, v]) => v === '' ||
    (key === 'kind' ? kind === v : row.report.mesh[key] === Number(v))));
  const figure = responsive(width => drawSearch(passing(), width), 'Time against memory'), holder = el('div');
  const show = () => {
    figure.redraw();
    holder.replaceChildren(...searchTable(passing()).flat().filter(Boolean));
  };
  const pick = (key, title, values) => select(title, [['', 'all'], ...values], v => { chosen[key] = v; show(); });
  const kinds = Object.entries(searchKinds).filter(([k]) => all.some(r => r.kind === k)), machines = frontTones(all);
  holder.append(...searchTable(all).flat().filter(Boolean));
  return section('layouts', 'Time against memory',
    el('div', {class: 'controls'}, pick('kind', 'Show', kinds.map(([k, [title]]) => [k, title])),
       searchFilters(all).map(([axis, values]) => pick(axis, axis, values.map(v => [v, String(v)])))),
    figure, doc.result.front ? frontNote() : el('p', {class: 'small soft'}, 'With --front, the same command also finds and draws the layouts that no other beats in time, memory, GPUs and cost at once.'),
    shapeLegend(kinds.flatMap(([kind, [title, tone, shape]]) => (kind === 'front' && machines.size > 1
      ? [...machines].map(([machine, own]) => [`${title}, ${machine}`, own, shape]) : [[title, tone, shape]]))), el('h3', {}, 'The layouts'), holder);
}

/// What some searches have: [title, format, path below the row], where any row has a value.
const searchExtras = [['GPUs', 'count', '/report/world_size', row => Object.keys(row.machine).length > 0],
                      ['days', 'number', '/training_days'], ['price', 'money', '/training_price'],
                      ['price of 1e9 tokens', 'money', '/report/price_per_billion_tokens', row => row.training_price === undefined],
                      ['kWh for 1e9 tokens', 'rate', '/energy_kwh_per_billion_tokens', () => doc.result.objective === 'energy']];

function searchTable(rows) {
  const best = doc.result.best?.[0]?.report.step_time_s;
  const most = Math.max(...rows.map(r => r.row.report.step_time_s), best ?? 0);
  const extras = searchExtras.filter(([, , path, matters = () => true]) => rows.some(({row, at}) => matters(row) && valueAt(at + path) > 0));
  return table(null, [{title: ''}, {title: 'step', number: true}, {title: 'MFU', number: true}, {title: 'memory', number: true}, {title: 'fits'},
                      ...extras.map(([title]) => ({title, number: true})), {title: 'where the time goes', bar: true}, {title: 'layout'}],
    rows.map(({row, at, name}) => ({cells: [name, num(at + '/report/step_time_s', 'time'), num(at + '/report/mfu', 'percent'),
      num(at + '/report/peak_memory_bytes', 'bytes'), yesNo(at + '/report/fits'),
      ...extras.map(([, format, path]) => (valueAt(at + path) > 0 ? num(at + path, format) : '–')), stackedBar(at + '/report', most), inWords(row)]})))
    .concat(groupLegend(rows.map(r => r.at + '/report')));
}
