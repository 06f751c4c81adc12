// A real run: measured beside predicted.

function realrunAnswer() {
  const r = doc.result, predicted = r.predicted_step_time_s !== undefined;
  return section('answer', 'The answer',
    el('div', {class: 'verdict'}, el('strong', {}, num('/result/step_time_s', 'time')),
       el('span', {}, 'measured, median of ', String(r.steps_s.length), ' steps', r.step_time_low_s === undefined ? null :
         el('span', {}, ', 95 % confidence: ', num('/result/step_time_low_s', 'time'), ' to ', num('/result/step_time_high_s', 'time')))),
    el('div', {class: 'tiles'},
      predicted ? tile('Predicted', num('/result/predicted_step_time_s', 'time'), ['by ', say('/result/calibration')]) : tile('Predicted', 'nothing', 'needs --calibration'),
      predicted ? tile('Error', num('/result/step_time_error', 'change'), 'predicted / measured − 1') : null,
      tile('Ranks', num('/result/ranks', 'count'), ['over ', say('/result/transport'), ', ', say('/result/kernels'), ' kernels', r.links ? [', ', say('/result/links')] : '']),
      tile('Processor time of compute', num('/result/compute_cpu_s', 'time'), ['a rank; ', num('/result/involuntary_switches', 'count'), ' involuntary switches'])),
    el('p', {}, 'The machine: ', say('/result/quietness')));
}

/// Every measured step as a mark, the prediction as a line.
function realrunSteps() {
  const r = doc.result, steps = r.steps_s;
  const most = Math.max(...steps, r.predicted_step_time_s ?? 0) * 1.1;
  const figure = responsive(width => {
    const c = chart({width, height: 200, left: 74, label: 'Time of each measured step',
      x: {low: 0.5, high: steps.length + 0.5, values: steps.length <= 20 ? steps.map((_, k) => k + 1) : ticks(1, steps.length), text: String, title: 'measured step'},
      y: {low: 0, high: most, values: ticks(0, most, 4), text: formats.time}});
    if (r.predicted_step_time_s) {
      c.root.append(svg('path', {d: `M${c.left} ${c.py(r.predicted_step_time_s)}H${c.right}`, stroke: colour('orange'), 'stroke-width': 2, 'stroke-dasharray': '6 4'}));
    }
    c.root.append(svg('path', {d: `M${c.left} ${c.py(r.step_time_s)}H${c.right}`, stroke: colour('blue'), 'stroke-width': 1}));
    steps.forEach((s, k) => c.root.append(explainMark(svg('circle', {cx: c.px(k + 1), cy: c.py(s), r: 4.5, fill: colour('blue')}), `step ${k + 1}`, formats.time(s))));
    return c.root;
  }, 'Steps');
  const names = [['measured, and their median', colour('blue')]];
  if (r.predicted_step_time_s) names.push(['predicted', colour('orange')]);
  return section('steps', 'The measured steps', figure, legend(names));
}

function realrunClasses() {
  const r = doc.result, predicted = r.predicted_step_time_s !== undefined;
  const most = Math.max(...(r.classes ?? []).flatMap(c => [c.measured_s, c.predicted_s ?? 0]), 1e-12);
  const rows = (r.classes ?? []).map((c, k) => {
    const at = pointer('result', 'classes', k);
    const bars = svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
      svg('rect', {x: 0, y: 0, width: 1000 * c.measured_s / most, height: 4.6, fill: colour('blue')}),
      predicted ? svg('rect', {x: 0, y: 5.4, width: 1000 * c.predicted_s / most, height: 4.6, fill: colour('orange')}) : null);
    return {cells: [words(c.op), num(at + '/ops', 'count'), num(at + '/measured_s', 'time'),
                    ...(predicted ? [num(at + '/predicted_s', 'time'), c.mean_log_error === undefined ? '–' : num(at + '/mean_log_error', 'percent')] : []), bars]};
  });
  return section('ops', 'Op by op', table('Time per rank of each kind of op.',
    [{title: 'op'}, {title: 'ops on all ranks', number: true}, {title: 'measured', number: true},
     ...(predicted ? [{title: 'predicted', number: true}, {title: 'mean |log error| of one', number: true}] : []), {title: 'measured above predicted', bar: true}], rows),
    legend([['measured', colour('blue')], ...(predicted ? [['predicted', colour('orange')]] : [])]));
}

function realrunMemory() {
  const rows = (doc.result.memory ?? []).map((m, k) => {
    const at = pointer('result', 'memory', k);
    return {cells: [num(at + '/rank'), num(at + '/planned_peak_bytes', 'bytes'), num(at + '/held_peak_bytes', 'bytes'), num(at + '/in_flight_peak_bytes', 'bytes'),
                    m.planned_peak_bytes === m.held_peak_bytes ? 'yes' : el('span', {class: 'bad'}, 'NO')]};
  });
  const most = Math.max(...(doc.result.memory ?? []).map(m => m.planned_peak_bytes));
  const fullest = doc.memory?.findIndex(r => valueAt('/result/memory').find(m => m.rank === r.rank)?.planned_peak_bytes === most);
  return section('memory', 'Memory',
    doc.memory?.length ? [el('p', {class: 'soft small'}, 'Live tensors over the measured step.'), memoryPicture(fullest, doc.timelines[0].step_ns)] : null,
    table('Peak of live tensors: by the plan, as allocated, and with what communication still kept.',
    [{title: 'rank'}, {title: 'planned', number: true}, {title: 'held', number: true}, {title: 'with what was in flight', number: true}, {title: 'as planned, to the byte'}], rows));
}
