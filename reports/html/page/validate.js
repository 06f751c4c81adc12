// Predicted over measured step times of published runs.

function validateAnswer() {
  const at = '/result/summary';
  return section('answer', 'The answer',
    el('div', {class: 'verdict'}, el('strong', {}, num(at + '/median_ape', 'percent')), el('span', {}, 'median error of the step time, ', num(at + '/n', 'count'), ' runs')),
    el('div', {class: 'tiles'},
      tile('Mean error', num(at + '/mape', 'percent'), ['90 % of runs within ', num(at + '/p90_ape', 'percent')]),
      tile('Bias', num(at + '/bias', 'change'), 'below zero: predicted too fast'),
      tile('Order of layouts', num(at + '/kendall_tau', 'number'), ['Kendall’s tau, ', num(at + '/ranked_groups', 'count'), ' groups']),
      tile('Top pick costs', num(at + '/top1_regret', 'percent'), 'over the fastest, mean'),
      tile('Fits or not is right', num(at + '/oom_accuracy', 'percent')),
      tile('Memory', num(at + '/memory_median_ape', 'percent'), ['median error, ', num(at + '/memory_n', 'count'), ' runs']),
      tile('In the band', num(at + '/in_band', 'percent'), 'of runs; it is to hold 80 %'),
      tile('Left out', num(at + '/not_represented', 'count'), 'runs that no scenario says')));
}

const timedRecords = () => doc.result.records.map((r, k) => ({r, k})).filter(({r}) => r.measured_s !== null && r.error !== null);

function drawScatter(records, files, width) {
  if (records.length === 0) return el('p', {}, 'No run passes these filters.');
  const all = timedRecords().flatMap(({r}) => [r.measured_s, r.predicted_s]).filter(v => v > 0);
  const low = Math.min(...all) / 1.3, high = Math.max(...all) * 1.3, height = Math.min(560, Math.max(320, width * 0.6));
  const axis = {low, high, log: true, values: logTicks(low, high), text: formats.time};
  const c = chart({width, height, left: 74, label: `Predicted over measured step time of ${records.length} runs`,
                   x: {...axis, title: 'measured'}, y: {...axis, title: ''}});
  for (const [factor, dash, tone] of [[1, null, 'var(--ink)'], [1.1, '4 4', 'var(--soft)'], [1 / 1.1, '4 4', 'var(--soft)']]) {
    const from = Math.max(low, low / factor), to = Math.min(high, high / factor);
    c.root.append(svg('path', {d: `M${c.px(from)} ${c.py(from * factor)}L${c.px(to)} ${c.py(to * factor)}`, stroke: tone, 'stroke-dasharray': dash, fill: 'none'}));
  }
  for (const {r} of records) {
    const k = files.indexOf(r.file);
    const mark = svg('path', {d: shapes[k % shapes.length], fill: colour(series[k % series.length]), 'fill-opacity': 0.75,
      transform: `translate(${c.px(r.measured_s).toFixed(1)} ${c.py(r.predicted_s).toFixed(1)}) scale(.8)`, class: 'mark'});
    const lines = [r.id, `${r.model} on ${r.cluster}`, r.layout, `measured ${formats.time(r.measured_s)}, predicted ${formats.time(r.predicted_s)}, ${formats.change(r.error)}`];
    mark.addEventListener('pointermove', e => tip.show(e.clientX, e.clientY, ...tipLines(...lines)));
    mark.addEventListener('pointerleave', tip.hide);
    c.root.append(mark);
  }
  c.root.append(svg('text', {class: 'soft', x: c.left + 6, y: c.top + 12}, 'predicted'));
  return c.root;
}

function validateSection() {
  const files = doc.result.files.map(f => f.file), chosen = {file: '', text: ''};
  const passing = () => timedRecords().filter(({r}) => (chosen.file === '' || r.file === chosen.file) &&
    [r.id, r.model, r.cluster, r.layout, r.framework].join(' ').toLowerCase().includes(chosen.text));
  const figure = responsive(width => drawScatter(passing(), files, width), 'Predicted over measured'), holder = el('div');
  const show = () => {
    figure.redraw();
    holder.replaceChildren(...worstTable(passing()).flat().filter(Boolean));
  };
  const query = el('input', {type: 'search', id: 'record-search', placeholder: 'llama h100', 'aria-label': 'Filter runs'});
  query.addEventListener('input', () => { chosen.text = query.value.trim().toLowerCase(); show(); });
  holder.append(...worstTable(passing()).flat().filter(Boolean));
  const entries = files.map((f, k) => [f, series[k % series.length], k % shapes.length]);
  return section('scatter', 'Predicted over measured',
    el('div', {class: 'controls'}, select('Source', [['', 'all'], ...files.map(f => [f, f])], v => { chosen.file = v; show(); }), query),
    figure, shapeLegend(entries), el('p', {class: 'small soft'}, 'The line: predicted as measured; dashed: 10 % off.'),
    el('h3', {}, 'The runs that are furthest off'), holder);
}

function worstTable(records, most = 60) {
  const worst = [...records].sort((a, b) => Math.abs(b.r.error) - Math.abs(a.r.error)).slice(0, most);
  return table(records.length > most ? `${most} of ${formats.count(records.length)}, the largest error first.` : null,
    [{title: 'run'}, {title: 'error', number: true}, {title: 'measured', number: true}, {title: 'predicted', number: true}, {title: 'model'}, {title: 'cluster'}, {title: 'layout'}],
    worst.map(({r, k}) => {
      const at = pointer('result', 'records', k);
      return {cells: [r.id, num(at + '/error', 'change'), num(at + '/measured_s', 'time'), num(at + '/predicted_s', 'time'), r.model, r.cluster, r.layout]};
    }));
}

function validateSources() {
  const rows = doc.result.files.map((f, k) => {
    const at = pointer('result', 'files', k, 'summary');
    return {cells: [f.file, num(at + '/n', 'count'), num(at + '/not_represented', 'count'), num(at + '/mape', 'percent'), num(at + '/median_ape', 'percent'),
                    num(at + '/p90_ape', 'percent'), num(at + '/bias', 'change'), num(at + '/kendall_tau', 'number'), num(at + '/top1_regret', 'percent'),
                    num(at + '/oom_accuracy', 'percent'), num(at + '/memory_median_ape', 'percent')]};
  });
  const left = new Map();
  for (const r of doc.result.not_represented) left.set(r.reason, (left.get(r.reason) ?? 0) + 1);
  return section('sources', 'By source', table(null,
    [{title: 'source'}, {title: 'runs', number: true}, {title: 'left out', number: true}, {title: 'mean', number: true}, {title: 'median', number: true}, {title: 'p90', number: true},
     {title: 'bias', number: true}, {title: 'tau', number: true}, {title: 'top pick', number: true}, {title: 'fits', number: true}, {title: 'memory', number: true}], rows),
    left.size ? details('Why runs were left out', table(null, [{title: 'reason'}, {title: 'runs', number: true}],
      [...left].sort((a, b) => b[1] - a[1]).map(([reason, n]) => ({cells: [reason, formats.count(n)]})))) : null);
}
