// A what-if study: curves of one quantity over the first varied field.

const whatifMetrics = {
  training_s: ['the whole training', 'duration'],
  step_time_s: ['step time', 'time'], tokens_per_s_per_gpu: ['tokens/s per GPU', 'rate'], mfu: ['MFU', 'percent'],
  exposed_communication_fraction: ['exposed communication', 'percent'], peak_memory_bytes: ['peak memory', 'bytes'],
  training_price: ['training price', 'money'], training_energy_kwh: ['training energy', 'energy'],
  price_per_billion_tokens: ['price per 10⁹ tokens', 'money'], goodput: ['goodput', 'percent'],
};

/// What points are compared by: the whole training where the scenario describes it, else the step.
function orderOfPoints(points) {
  const planned = points.filter(p => p.planned);
  if (planned.every(p => p.training_s !== undefined)) return {of: p => p.training_s, note: ''};
  return orderOfSteps(planned);
}

function whatifAnswer() {
  const points = doc.result.points, planned = points.map((p, k) => k).filter(k => points[k].planned);
  if (planned.length === 0) return section('answer', 'The answer', el('p', {class: 'bad'}, 'None of these can be planned.'));
  const fitting = planned.filter(k => points[k].fits), from = fitting.length ? fitting : planned;
  const base = doc.result.base, order = orderOfPoints([...points, base]);
  const best = from.reduce((a, b) => (order.of(points[b]) < order.of(points[a]) ? b : a));
  const at = pointer('result', 'points', best);
  const statements = [...doc.result.break_even, ...doc.result.crossovers].map(f => f.statement);
  const asItIs = base.planned && base.fits && order.of(base) <= order.of(points[best]);  // no point is better
  const others = asItIs ? `is the fastest of the points${fitting.length ? ' that fit' : '; none of them fits'}; none is faster than the scenario itself`
    : fitting.length ? 'is the fastest that fits' : 'is the fastest; nothing fits';
  return section('answer', 'The answer',
    el('div', {class: 'verdict'}, el('strong', {}, pointName(points[best])), el('span', {}, others + order.note)),
    el('div', {class: 'tiles'},
      tile('Step time', num(at + '/step_time_s', 'time'), points[best].step_time_difference_to_base === undefined ? null
        : [num(at + '/step_time_difference_to_base', 'change'), ' to the scenario']),
      points[best].training_s === undefined ? null : tile('The whole training', num(at + '/training_s', 'duration'),
        points[best].training_difference_to_base === undefined ? null : [num(at + '/training_difference_to_base', 'change'), ' to the scenario']),
      tile('Tokens per second', num(at + '/tokens_per_s_per_gpu', 'rate'), 'of each GPU'),
      tile('MFU', num(at + '/mfu', 'percent')), tile('Bound by', say(at + '/bound')),
      base.planned ? tile('The scenario itself', base.training_s === undefined ? num('/result/base/step_time_s', 'time') : num('/result/base/training_s', 'duration'), ['bound by ', say('/result/base/bound')]) : null),
    statements.length ? [el('h3', {}, 'What matters, and from where on it no longer does'),
      el('ul', {class: 'plain'}, statements.map(s => el('li', {}, s)))] : null);
}

const pointName = p => Object.entries(p.values).map(([path, v]) => `${path.split('.').at(-1)} ${v}`).join(', ');

/// Points by the values of all fields but the first.
function whatifCurves(metric) {
  const [first] = doc.result.varied, at = doc.positions[0], curves = new Map();
  doc.result.points.forEach((p, k) => {
    const others = Object.entries(p.values).slice(1).map(([path, v]) => `${path.split('.').at(-1)} ${v}`).join(', ');
    if (!curves.has(others)) curves.set(others, []);
    const place = first.values.indexOf(p.values[first.path]);
    curves.get(others).push({p, k, x: at.numbers.length ? at.numbers[place] : place, y: p.planned ? p[metric] : undefined});
  });
  return [...curves].map(([name, all]) => {
    all.sort((a, b) => a.x - b.x);
    all.forEach((point, i) => { point.joins = i > 0 && all[i - 1].y !== undefined; });  // no line over what has no number
    return {name, points: all.filter(point => point.y !== undefined)};
  }).filter(c => c.points.length);
}

function drawWhatif(metric, width) {
  const [first] = doc.result.varied, {numbers, unit} = doc.positions[0], curves = whatifCurves(metric);
  const [title, format] = whatifMetrics[metric];
  const ys = curves.flatMap(c => c.points.map(p => p.y)), xs = numbers.length ? numbers : first.values.map((_, k) => k);
  if (ys.length === 0) return [el('p', {}, 'No point has this number.')];
  const low = Math.min(...xs), high = Math.max(...xs), log = numbers.length > 1 && low > 0 && high / low > 6;
  const margin = log ? Math.pow(high / low, 0.04) : 0, pad = (high - low || 1) * 0.04;
  const top = Math.max(...ys) * 1.06 || 1;
  const c = chart({width, height: 340, left: 78, label: `${title} over ${first.path}`,
    x: {low: log ? low / margin : low - pad, high: log ? high * margin : high + pad, log,
        values: xs.length <= 9 ? [...new Set(xs)] : log ? logTicks(low, high) : ticks(low, high),
        text: v => (numbers.length ? String(v) : first.values[v] ?? ''), title: first.path + (unit ? `, ${unit}` : '')},
    y: {low: 0, high: top, values: ticks(0, top, 5), text: formats[format], title: ''}});
  curves.forEach((curve, k) => {
    const tone = colour(series[k % series.length]);
    c.root.append(svg('path', {d: curve.points.map(p => `${p.joins ? 'L' : 'M'}${c.px(p.x).toFixed(1)} ${c.py(p.y).toFixed(1)}`).join(''),
                               fill: 'none', stroke: tone, 'stroke-width': 2}));
    for (const {p, x, y} of curve.points) {
      const mark = svg('path', {d: shapes[k % shapes.length], transform: `translate(${c.px(x)} ${c.py(y)})`,
                                fill: p.fits ? tone : 'var(--card)', stroke: tone, 'stroke-width': 2});
      c.root.append(explainMark(mark, pointName(p), `${title} ${formats[format](y)}`, `bound by ${p.bound}`,
                                `${formats.bytes(p.peak_memory_bytes)}${p.fits ? '' : ', does not fit'}`));
    }
  });
  return [c.root, curves.length > 1 ? shapeLegend(curves.map((curve, k) => [curve.name, series[k % series.length], k % shapes.length])) : null].filter(Boolean);
}

function whatifSection() {
  const known = Object.entries(whatifMetrics).filter(([key]) => doc.result.points.some(p => p[key] !== undefined));
  let metric = known.length ? known[0][0] : 'step_time_s';
  const figure = responsive(width => drawWhatif(metric, width), 'Curves');
  return section('curves', 'Curves',
    el('div', {class: 'controls'}, select('Quantity', known.map(([key, [title]]) => [key, title]), v => { metric = v; figure.redraw(); })),
    figure, el('p', {class: 'small soft'}, 'Hollow marks do not fit.'));
}

function whatifTable() {
  const trains = doc.result.points.some(p => p.training_s !== undefined);
  const price = trains ? 'training_price' : 'price_per_billion_tokens';
  const priced = [...doc.result.points, doc.result.base].some(p => p[price] !== undefined);
  const cost = (p, at) => (priced ? [p[price] === undefined ? '–' : num(at + '/' + price, 'money')] : []);
  const whole = (p, at) => (trains ? [num(at + '/training_s', 'duration'), num(at + '/goodput', 'percent')] : []).concat(cost(p, at));
  const heads = trains ? [{title: 'training', number: true}, {title: 'goodput', number: true}] : [];
  if (priced) heads.push({title: trains ? 'price' : 'price of 1e9 tokens', number: true});
  const row = (p, at, cls) => ({class: cls, cells: p.planned
    ? [cls ? 'the scenario' : pointName(p), num(at + '/step_time_s', 'time'), num(at + '/step_time_difference_to_base', 'change'), ...whole(p, at), num(at + '/tokens_per_s_per_gpu', 'rate'),
       num(at + '/mfu', 'percent'), num(at + '/exposed_communication_fraction', 'percent'), num(at + '/peak_memory_bytes', 'bytes'), yesNo(at + '/fits'),
       [say(at + '/bound'), p.filled ? ` (${Object.entries(p.filled).map(([f, v]) => `${f} ${v}`).join(', ')})` : '']]
    : [cls ? 'the scenario' : pointName(p), el('span', {class: 'bad'}, p.reason)]});
  return section('points', 'All points', table(null,
    [{title: 'values'}, {title: 'step', number: true}, {title: 'to the scenario', number: true}, ...heads, {title: 'tokens/s per GPU', number: true}, {title: 'MFU', number: true},
     {title: trains ? 'communication' : 'exposed communication', number: true}, {title: 'memory', number: true}, {title: 'fits'}, {title: 'bound by'}],
    [row(doc.result.base, '/result/base', 'chosen'), ...doc.result.points.map((p, k) => row(p, pointer('result', 'points', k)))]));
}
