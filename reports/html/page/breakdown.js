// Where the time goes: a waterfall whose bars follow one another from zero to the whole step.

/// A bar from `from` to `to` of a whole of 1, in a cell of a table.
const barCell = (from, to, fillColour) =>
  svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
      svg('rect', {x: 0, y: 4.5, width: 1000, height: 1, fill: 'var(--track)'}),
      svg('rect', {x: 1000 * from, y: 0.5, width: Math.max(1.5, 1000 * (to - from)), height: 9,
                   fill: fillColour}));

/// A group of a breakdown in words; without stages ranks wait, which is no bubble.
const groupWords = (group, stages) => (group === 'bubble' && stages === 1 ? 'waiting for other ranks' : words(group));

function waterfall(at, whole, caption, stages) {
  const rows = [];
  const total = valueAt(whole);
  let reached = 0;
  for (const [group, parts] of Object.entries(valueAt(at) ?? {})) {
    if (parts.total_s === 0) continue;
    const here = at + pointer(group);
    const names = Object.keys(parts).filter(key => key !== 'total_s' && parts[key] > 0);
    const bar = (from, s, name) => barCell(from / total, (from + s) / total, colour(name));
    rows.push({cells: [groupWords(group, stages), num(here + '/total_s', 'time'),
                       num(here + '/total_s', 'share', whole),
                       bar(reached, parts.total_s, groupColours[group])]});
    let inside = reached;
    if (names.length > 1 || group === 'exposed_communication') {
      for (const name of names) {
        const path = here + pointer(name);
        rows.push({class: 'part', cells: [
          (group === 'exposed_communication' ? 'over ' : '') + words(name.replace(/_s$/, '')),
          num(path, 'time'), num(path, 'share', whole),
          bar(inside, parts[name], groupColours[group])]});
        inside += parts[name];
      }
    }
    reached += parts.total_s;
  }
  const columns = [{title: 'part'}, {title: 'time', number: true}, {title: 'of the step', number: true},
                   {title: 'from the start of the step to its end', bar: true}];
  return table(caption, columns, rows);
}

function breakdownSection(at) {
  const step = at + '/step_time_s', stages = valueAt(at + '/mesh/pp');
  return section('breakdown', 'Where the time goes',
    waterfall(at + '/breakdown', step,
              'Mean over all ranks, by what the compute stream does or waits for. The parts add up to the step.', stages),
    details('The same along the critical path, the chain of ops that ends last',
            waterfall(at + '/critical_path', step, 'The parts add up to the step.', stages)));
}

// The sensitivity tornado: what 10 % more or less of each hardware number does.
function sensitivitySection(at) {
  const lines = Object.entries(valueAt(at + '/sensitivity') ?? {});
  if (lines.length === 0) return null;
  const change = 'step_time_change_for_10_percent';
  const most = Math.max(...lines.map(([, line]) => Math.abs(line[change])), 1e-12);
  const tornado = value => svg('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    svg('rect', {x: 500 - 480 * Math.abs(value) / most, y: 0.5, height: 9,
                 width: 480 * Math.abs(value) / most, fill: colour('green')}),
    svg('rect', {x: 500, y: 0.5, height: 9, width: 480 * Math.abs(value) / most, fill: colour('red')}),
    svg('rect', {x: 498.5, y: 0, width: 3, height: 10, fill: 'var(--ink)'}));
  const rows = lines.map(([resource, line]) => {
    const here = at + '/sensitivity' + pointer(resource);
    return {cells: [resource === 'peak_flops' ? 'peak FLOP/s' : words(resource),
                    num(here + '/time_s', 'time'), num(here + pointer(change), 'change'),
                    tornado(line[change])]};
  });
  return section('sensitivity', 'What the step depends on',
    table('How the step time answers to each hardware number: green, 10 % better; red, 10 % worse. To first order: ' +
          'when something else becomes the bottleneck, less is gained.',
          [{title: 'hardware number'}, {title: 'on the critical path', number: true},
           {title: '10 % better', number: true}, {title: 'shorter step | longer step', bar: true}], rows));
}

function collectivesSection(at) {
  const lines = valueAt(at + '/collectives') ?? [];
  if (lines.length === 0) return null;
  const rows = lines.map((line, k) => {
    const here = at + pointer('collectives', k);
    return {cells: [`${words(line.kind)} over ${line.axes}`, num(here + '/bytes', 'bytes'),
                    num(here + '/ranks', 'count'), num(here + '/nodes', 'count'),
                    `${words(line.algorithm)} ${words(line.protocol)}`,
                    num(here + '/calls_per_step', 'count'), num(here + '/time_s', 'time')]};
  });
  const all = table('The most time-consuming first; calls are those of the rank that makes the most.',
    [{title: 'collective'}, {title: 'size', number: true}, {title: 'ranks', number: true},
     {title: 'nodes', number: true}, {title: 'algorithm'}, {title: 'calls a step', number: true},
     {title: 'time of one', number: true}], rows);
  return section('collectives', 'Collectives', all, contentionTable(at));
}

function contentionTable(at) {
  const lines = valueAt(at + '/contention') ?? [];
  if (lines.length === 0) return null;
  const rows = lines.map((line, k) => {
    const here = at + pointer('contention', k);
    return {cells: [line.traffic, line.link, num(here + '/links', 'count'),
                    num(here + '/bandwidth_bytes_per_s', 'bandwidth'), line.with.join('; '),
                    num(here + '/time_s', 'time'), num(here + '/lost_s', 'time')]};
  });
  return [el('h3', {}, 'What shared links held up'),
    table(null, [{title: 'traffic'}, {title: 'link, the first of its class'}, {title: 'links', number: true},
                 {title: 'bandwidth', number: true}, {title: 'with'}, {title: 'held up', number: true},
                 {title: 'delay', number: true}], rows)];
}
