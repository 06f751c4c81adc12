// A trace of torch.profiler: measured beside predicted.

function profileAnswer() {
  const r = doc.result, left = r.trace.steps_left_out ?? [];
  return section('answer', 'The answer',
    el('div', {class: 'verdict'}, el('strong', {}, num('/result/step_time_error', 'change')), el('span', {}, say('/result/verdict'))),
    el('div', {class: 'tiles'},
      tile('Measured step', num('/result/measured_step_time_s', 'time'), [num('/result/trace/least_step_time_s', 'time'), ' to ', num('/result/trace/most_step_time_s', 'time'),
        left.length ? `; ${left.length} incomplete steps left out` : '']),
      tile('Predicted step', num('/result/predicted_step_time_s', 'time'), 'of the scenario'),
      tile('Rank', num('/result/trace/rank', 'count'), ['of stage ', num('/result/trace/stage', 'count'), r.trace.device ? [', ', say('/result/trace/device')] : '']),
      tile('Waiting for the host', num('/result/measured_host_idle_s', 'time'), 'of the measured step')),
    r.notes.length ? [el('h3', {}, 'What does not match, and what to know'), el('ul', {class: 'small'}, r.notes.map((_, k) => el('li', {}, say(pointer('result', 'notes', k)))))] : null);
}

/// Two bars, measured above predicted, of a whole of `most`.
const twoBars = (measured, predicted, most) =>
  svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    svg('rect', {x: 0, y: 0, width: 1000 * measured / most, height: 4.6, fill: colour('blue')}),
    svg('rect', {x: 0, y: 5.4, width: 1000 * predicted / most, height: 4.6, fill: colour('orange')}));
const profileLegend = () => legend([['measured', colour('blue')], ['predicted', colour('orange')]]);
const bothColumns = name => [{title: name}, {title: 'measured', number: true}, {title: 'predicted', number: true}];

function profileShares() {
  const shares = doc.result.shares, most = Math.max(...shares.flatMap(s => [s.measured_s, s.predicted_s]), 1e-12);
  const rows = shares.map((s, k) => {
    const at = pointer('result', 'shares', k);
    return {cells: [words(s.share), num(at + '/measured_s', 'time'), num(at + '/predicted_s', 'time'),
                    num(at + '/difference_of_step', 'change'), twoBars(s.measured_s, s.predicted_s, most)]};
  });
  return section('shares', 'Where the step goes', table('Shares of one step, which add up to it; the largest difference first.',
    [...bothColumns('share'), {title: 'difference, of the measured step', number: true}, {title: 'measured above predicted', bar: true}], rows), profileLegend());
}

function profileKinds() {
  const kinds = doc.result.kinds, most = Math.max(...kinds.flatMap(k => [k.measured_s, k.predicted_s]), 1e-12);
  const rows = kinds.map((kind, k) => {
    const at = pointer('result', 'kinds', k);
    return {cells: [words(kind.kind), num(at + '/measured_s', 'time'), num(at + '/predicted_s', 'time'), num(at + '/ratio', 'number'),
                    num(at + '/measured_calls', 'calls'), num(at + '/predicted_calls', 'calls'), twoBars(kind.measured_s, kind.predicted_s, most)]};
  });
  return section('kinds', 'Time on the device', table('Sums over the kernels of a kind, whatever runs beside them.',
    [...bothColumns('kind'), {title: 'predicted / measured', number: true}, {title: 'kernels', number: true}, {title: 'ops of the plan', number: true}, {title: 'measured above predicted', bar: true}], rows),
    profileLegend());
}

function profileMessages() {
  const messages = doc.result.communication;
  if (messages.length === 0) return null;
  const rows = messages.map((m, k) => {
    const at = pointer('result', 'communication', k);
    return {cells: [words(m.kind), num(at + '/bytes', 'bytes'), num(at + '/ranks', 'count'), num(at + '/measured/calls', 'calls'), num(at + '/predicted/calls', 'calls'),
                    num(at + '/measured/least_s', 'time'), num(at + '/measured/median_s', 'time'), num(at + '/predicted/median_s', 'time'),
                    num(at + '/measured/best_busbw_Bps', 'bandwidth'), num(at + '/predicted/best_busbw_Bps', 'bandwidth')]};
  });
  return section('communication', 'Communication', table('By kind, size and group. A kernel of NCCL also waits for its peers: the least of the calls is nearest to the time without waiting.',
    [{title: 'kind'}, {title: 'size', number: true}, {title: 'ranks', number: true}, {title: 'calls', number: true}, {title: 'planned', number: true}, {title: 'least', number: true}, {title: 'median', number: true},
     {title: 'predicted', number: true}, {title: 'busbw of the least', number: true}, {title: 'predicted busbw', number: true}], rows));
}

function profileKernels() {
  const shown = 30, kernels = doc.result.kernels;
  const row = (kernel, k) => {
    const at = pointer('result', 'kernels', k);
    const name = el('span', {class: 'setting'}, say(at + '/name'));
    return {cells: [kernel.operator ? el('span', {}, say(at + '/operator'), ': ', name) : name, words(kernel.kind), num(at + '/calls', 'calls'), num(at + '/time_s', 'time'),
                    num(at + '/time_s', 'share', '/result/measured_step_time_s')]};
  };
  const columns = [{title: 'kernel'}, {title: 'counts as'}, {title: 'calls', number: true}, {title: 'time', number: true}, {title: 'of the step', number: true}];
  const rows = kernels.map(row), unknown = rows.filter((_, k) => kernels[k].kind === 'unknown');
  return section('kernels', 'Kernels of the trace', table(`The ${Math.min(shown, rows.length)} that take longest.`, columns, rows.slice(0, shown)),
    rows.length > shown ? details(`${rows.length - shown} others`, table('', columns, rows.slice(shown))) : null,
    unknown.length ? el('p', {}, `${unknown.length} of them no pattern knows.`) : null);
}
