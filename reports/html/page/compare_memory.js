// Memory over the step of several candidates, over one another.

/// Of one candidate: the shown rank of its fullest stage, all classes together.
function memoryOf(entry) {
  const at = pointer('result', 'candidates', entry.candidate), {label, report} = valueAt(at);
  const rank = entry.ranks[Math.max(0, fullestOf(entry.ranks, report.memory.stage))];
  return {at, label, rank: rank.rank, stage: rank.stage, times: rank.times_ns, sum: memoryLayers(rank).at(-1).high,
          step_ns: report.step_time_s * 1e9, capacity: report.memory.capacity_bytes};
}

function drawMemories(curves, width) {
  const capacities = [...new Set(curves.map(c => c.capacity))];
  const most = Math.max(...capacities, ...curves.map(c => Math.max(...c.sum))) * 1.08;
  const longest = Math.max(...curves.map(c => c.step_ns));
  const c = chart({width, height: 320, left: 70, label: `Memory over the step: ${curves.map(v => `${v.label} peak ${formats.bytes(Math.max(...v.sum))}`).join(', ')}`,
    x: {low: 0, high: longest, values: ticks(0, longest, width / 110), text: v => formats.time(v / 1e9), title: 'time in the step'},
    y: {low: 0, high: most, values: byteTicks(most), text: formats.bytes}});
  for (const capacity of capacities) {
    drawCapacity(c, capacity);
  }
  curves.forEach((curve, k) => {
    const tone = colour(series[k % series.length]), peak = curve.sum.indexOf(Math.max(...curve.sum));
    let path = '';
    curve.times.forEach((t, i) => {
      path += `${i ? 'V' : `M${c.px(t).toFixed(1)} `}${c.py(curve.sum[i]).toFixed(1)}H${c.px(Math.min(curve.times[i + 1] ?? curve.step_ns, curve.step_ns)).toFixed(1)}`;
    });
    c.root.append(svg('path', {d: path, fill: 'none', stroke: tone, 'stroke-width': 1.5}));
    const mark = svg('path', {d: shapes[k % shapes.length], transform: `translate(${c.px(curve.times[peak]).toFixed(1)} ${c.py(curve.sum[peak]).toFixed(1)})`,
                              fill: tone, stroke: 'var(--card)', 'stroke-width': 1});
    c.root.append(explainMark(mark, curve.label, `peak ${formats.bytes(curve.sum[peak])} at ${formats.time(curve.times[peak] / 1e9)}, rank ${curve.rank}`));
  });
  return c.root;
}

function compareMemory() {
  if (!doc.memories?.length) return null;
  const curves = doc.memories.map(memoryOf);
  const figure = responsive(width => drawMemories(curves, width), 'Memory over the step');
  return section('memory', 'Memory over the step',
    el('p', {class: 'soft small'}, 'Live tensors and overheads on the named rank of each candidate, where the page has one of its fullest stage; the marks are the peaks.'),
    figure, shapeLegend(curves.map((c, k) => [`${c.label}: rank ${c.rank}, stage ${c.stage}`, series[k % series.length], k % shapes.length])),
    details('The peaks as a table', table(null, [{title: 'candidate'}, {title: 'peak', number: true}, {title: 'capacity', number: true}, {title: 'free', number: true}],
      curves.map(c => ({cells: [c.label, num(c.at + '/report/memory/peak_memory_bytes', 'bytes'), num(c.at + '/report/memory/capacity_bytes', 'bytes'),
                                num(c.at + '/report/memory/free_bytes', 'bytes')]})))));
}
