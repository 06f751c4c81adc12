// Several predictions side by side.

/// One bar per report, its groups one after the other in the legend's order, all on one scale.
function stackedBar(at, most) {
  let reached = 0;
  const breakdown = valueAt(at + '/breakdown') ?? {};
  const parts = Object.keys(groupColours).filter(group => breakdown[group]).map(group => {
    const times = breakdown[group], x = 1000 * reached / most;
    reached += times.total_s;
    return svg('rect', {x, y: 0.5, width: 1000 * times.total_s / most, height: 9, fill: colour(groupColours[group])});
  });
  return svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'}, parts);
}

const groupLegend = places => {
  const used = new Set(places.flatMap(at => Object.entries(valueAt(at + '/breakdown') ?? {})
    .filter(([, t]) => t.total_s > 0).map(([g]) => g)));
  return legend(Object.entries(groupColours).filter(([g]) => used.has(g)).map(([g, tone]) => [groupWords(g, mostStages(places)), colour(tone)]));
};

const mostStages = places => Math.max(1, ...places.map(at => valueAt(at + '/mesh')?.pp ?? 1));

const yesNo = path => el('span', {class: valueAt(path) ? null : 'bad', 'data-path': path, 'data-format': 'yes'},
                         valueAt(path) ? 'yes' : 'no');

/// How steps are put in order, the first the smallest: where they are of as many tokens by their
/// times, else by the tokens that a device computes in a second.
function orderOfSteps(steps) {
  const tokens = steps.map(tokensOfStep), alike = Math.max(...tokens) <= Math.min(...tokens) * 1.01;
  return alike ? {of: s => s.step_time_s, note: ''}
    : {of: s => 1 / s.tokens_per_s_per_gpu, note: ' in tokens a second of a device: the steps are of different numbers of tokens'};
}
const tokensOfStep = s => s.tokens_per_s_per_gpu * s.world_size * s.step_time_s;

/// Whether some candidate puts anything into host memory.
const usesHosts = () => doc.result.candidates.some(c => c.report?.memory.host_bytes_per_node !== undefined);

function compareAnswer() {
  const all = doc.result.candidates, planned = all.filter(c => c.report);
  if (planned.length === 0) return section('answer', 'The answer', el('p', {class: 'bad'}, 'None of these can be planned.'));
  const fitting = planned.filter(c => c.report.fits);
  const those = fitting.length ? fitting : planned, order = orderOfSteps(those.map(c => c.report));
  const best = those.reduce((a, b) => (order.of(b.report) < order.of(a.report) ? b : a));
  const at = pointer('result', 'candidates', all.indexOf(best));
  const among = fitting.length ? `of the ${fitting.length} that fit` : 'nothing fits', kAlike = 1e-5;
  const equals = those.filter(c => c !== best && order.of(c.report) <= order.of(best.report) * (1 + kAlike));
  return section('answer', 'The answer',
    el('div', {class: 'verdict'}, el('strong', {}, best.label),
       el('span', {}, equals.length ? `is as fast as ${equals.map(c => c.label).join(', ')}; ${among}${fitting.length ? ' none is faster' : ''}`
         : fitting.length ? `is the fastest ${among}` : 'is the fastest; nothing fits', order.note)),
    el('div', {class: 'tiles'},
      tile('Step time', num(at + '/report/step_time_s', 'time'),
           best.label === doc.result.reference ? 'what the others are compared to' : [num(at + '/step_time_difference', 'change'), ' to ' + doc.result.reference]),
      tile('MFU', num(at + '/report/mfu', 'percent')),
      tile('Tokens per second', num(at + '/report/tokens_per_s', 'rate'), [num(at + '/report/tokens_per_s_per_gpu', 'rate'), ' per GPU']),
      tile('Peak memory', num(at + '/report/peak_memory_bytes', 'bytes'), ['of ', num(at + '/report/memory/capacity_bytes', 'bytes'), usesHosts() ? ['; ', hostRoom(at + '/report/memory') ?? 'nothing in host memory'] : '']),
      tile('Bound by', say(at + '/report/bound_by'))));
}

/// What the whole training takes and costs, or else a billion tokens, where some report says so.
function wholeColumns(reports) {
  const has = key => reports.some(r => r[key] !== undefined), trains = has('training');
  if (!trains) return has('price_per_billion_tokens') ? [['price of 1e9 tokens', '/price_per_billion_tokens', 'money']] : [];
  const price = reports.some(r => r.training?.price !== undefined) ? [['price', '/training/price', 'money']] : [];
  return [['training', '/training/total_s', 'duration'], ...price];
}

function compareTable() {
  const all = doc.result.candidates;
  const most = Math.max(...all.map(c => c.report?.step_time_s ?? 0), 1e-12);
  const columns = wholeColumns(all.map(c => c.report).filter(Boolean));
  const rows = all.map((c, k) => {
    const at = pointer('result', 'candidates', k), r = at + '/report';
    if (!c.report) return {cells: [c.label, el('span', {class: 'bad'}, c.reason)]};
    const more = columns.map(([, path, format]) => (valueAt(r + path) === undefined ? '–' : num(r + path, format)));
    return {cells: [c.label, num(r + '/step_time_s', 'time'),
                    c.label === doc.result.reference ? '–' : num(at + '/step_time_difference', 'change'), num(r + '/mfu', 'percent'),
                    el('span', {class: c.report.memory.free_bytes < 0 ? 'bad' : null}, num(r + '/peak_memory_bytes', 'bytes')), ...(usesHosts() ? [hostCell(r + '/memory')] : []), yesNo(r + '/fits'), ...more, stackedBar(r, most)]};
  });
  return section('candidates', 'Side by side',
    table(`Differences are to ${doc.result.reference}. Bars: where the time goes, on one scale.`,
      [{title: 'candidate'}, {title: 'step', number: true}, {title: 'change', number: true}, {title: 'MFU', number: true},
       {title: 'memory', number: true}, ...(usesHosts() ? [{title: 'of the host', number: true}] : []), {title: 'fits'}, ...columns.map(([title]) => ({title, number: true})),
       {title: 'where the time goes', bar: true}], rows),
    groupLegend(all.map((_, k) => pointer('result', 'candidates', k, 'report'))));
}

/// What makes each candidate differ from the reference, group by group.
function compareDifferences() {
  const all = doc.result.candidates, from = all.findIndex(c => c.label === doc.result.reference && c.report);
  const others = all.map((c, k) => k).filter(k => all[k].report && k !== from);
  if (from < 0 || others.length === 0) return null;
  let chosen = others[0];
  const time = (k, group) => all[k].report.breakdown[group]?.total_s ?? 0;
  const holder = el('div');
  const show = () => {
    const groups = Object.keys(groupColours).filter(g => time(from, g) || time(chosen, g));
    const change = g => time(chosen, g) - time(from, g);
    const most = Math.max(...groups.map(g => Math.abs(change(g))), 1e-15);
    const path = (k, g) => pointer('result', 'candidates', k, 'report', 'breakdown', g, 'total_s');
    const rows = groups.sort((a, b) => Math.abs(change(b)) - Math.abs(change(a))).map(g => ({cells: [groupWords(g, mostStages([from, chosen].map(k => pointer('result', 'candidates', k, 'report')))),
      num(path(from, g), 'time'), num(path(chosen, g), 'time'),
      svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
        svg('rect', {x: 500 + Math.min(0, change(g)) / most * 480, y: 0.5, height: 9, width: Math.abs(change(g)) / most * 480,
                     fill: colour(change(g) > 0 ? 'red' : 'green')}),
        svg('rect', {x: 498.5, y: 0, width: 3, height: 10, fill: 'var(--ink)'}))]}));
    holder.replaceChildren(...[table(`From ${all[from].label} to ${all[chosen].label}: red takes longer, green is shorter.`,
      [{title: 'part'}, {title: 'from', number: true}, {title: 'to', number: true}, {title: 'shorter | longer', bar: true}], rows)].flat());
  };
  show();
  return section('differences', 'Where the difference comes from',
    others.length > 1 ? el('div', {class: 'controls'}, select('Compare', others.map(k => [k, all[k].label]), v => { chosen = Number(v); show(); })) : null,
    holder);
}
