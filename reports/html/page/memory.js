// Memory of a rank over the step, in stacked classes, and what stands in it at its fullest.

function memoryLayers(rank) {
  const bytes = rank.overhead_bytes;
  const layers = bytes.some(b => b > 0) ? [{name: 'overheads', bytes}] : [];
  for (const [name, bytes] of Object.entries(rank.bytes)) layers.push({name, bytes});
  let base = rank.times_ns.map(() => 0);
  for (const layer of layers) {
    layer.low = base;
    base = layer.high = base.map((b, i) => b + layer.bytes[i]);
  }
  return layers;
}

/// The sample in force at a time.
function sampleAt(times, t) {
  let low = 0, high = times.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  return low;
}

/// `capacity`: of the device; undefined: not said.
function drawMemory(rank, stepNs, capacity, width) {
  const layers = memoryLayers(rank), sum = layers.at(-1).high;
  const peak = sum.indexOf(Math.max(...sum));
  const most = Math.max(sum[peak], capacity ?? 0) * 1.08;
  const times = rank.times_ns, height = 300;
  const c = chart({width, height, left: 70, label: `Memory of rank ${rank.rank} over the step, peak ${formats.bytes(sum[peak])}`,
    x: {low: 0, high: stepNs, values: ticks(0, stepNs, width / 110), text: v => formats.time(v / 1e9), title: 'time in the step'},
    y: {low: 0, high: most, values: byteTicks(most), text: formats.bytes}});
  for (const layer of layers) {
    let path = '', back = '';
    times.forEach((t, i) => {
      const from = c.px(Math.min(t, stepNs)).toFixed(1), to = c.px(times[i + 1] ?? stepNs).toFixed(1);
      path += `${i ? 'L' : 'M'}${from} ${c.py(layer.high[i]).toFixed(1)}H${to}`;
      back = `L${to} ${c.py(layer.low[i]).toFixed(1)}H${from}` + back;
    });
    c.root.append(svg('path', {d: path + back + 'Z', fill: colour(memoryColours[layer.name])}));
  }
  if (capacity !== undefined) drawCapacity(c, capacity);
  const x = c.px(times[peak]), y = c.py(sum[peak]), rightHalf = x > (c.left + c.right) / 2;
  // Its text stands above the peak, or below where the line of the capacity would cross it.
  const above = Math.max(c.top + 12, y - 6), line = capacity === undefined ? -1 : c.py(capacity);
  const crossed = line > above - 14 && line < above + 4;
  c.root.append(svg('path', {d: `M${x} ${c.bottom}V${y - 6}`, stroke: 'var(--ink)', 'stroke-dasharray': '2 3'}),
    svg('text', {class: 'apart', x: x + (rightHalf ? -6 : 6), y: crossed ? Math.max(y, line) + 16 : above, 'text-anchor': rightHalf ? 'end' : 'start', 'font-weight': 600},
        'peak ' + formats.bytes(sum[peak])));
  return {...c, layers, times, sum, peak};
}

function drawCapacity(c, capacity) {
  const d = `M${c.left} ${c.py(capacity)}H${c.right}`;
  // Where the curve is higher, they stand on its colours.
  c.root.append(svg('path', {d, stroke: 'var(--card)', 'stroke-width': 3}),
    svg('path', {d, stroke: 'var(--bad)', 'stroke-dasharray': '6 4', 'stroke-width': 1.5}),
    svg('text', {class: 'apart', x: c.right - 4, y: c.py(capacity) - 6, 'text-anchor': 'end'}, 'capacity ' + formats.bytes(capacity)));
}

/// A line that follows the pointer or the arrow keys, and reads out what is there.
function memoryCursor(picture, stepNs, readout) {
  const {root, px, left, right, top, bottom, layers, times, sum, peak} = picture;
  const line = svg('path', {stroke: 'var(--ink)', 'stroke-width': 1});
  root.append(line);
  root.setAttribute('tabindex', '0');
  let at = peak;
  const show = i => {
    at = Math.max(0, Math.min(times.length - 1, i));
    line.setAttribute('d', `M${px(times[at])} ${top}V${bottom}`);
    readout.textContent = `At ${formats.time(times[at] / 1e9)}: ${formats.bytes(sum[at])} = ` +
      layers.filter(l => l.bytes[at] > 0).map(l => `${words(l.name)} ${formats.bytes(l.bytes[at])}`).join(' + ');
  };
  root.addEventListener('pointermove', e => {
    const box = root.getBoundingClientRect(), scale = (right - left) / box.width * (root.viewBox.baseVal.width / (right - left));
    const x = (e.clientX - box.left) * scale;
    show(sampleAt(times, (x - left) / (right - left) * stepNs));
  });
  root.addEventListener('keydown', e => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20}[e.key];
    if (step === undefined && e.key !== 'Home') return;
    e.preventDefault();
    show(e.key === 'Home' ? peak : at + step);
  });
  show(peak);
}

/// The ranks of doc.memory, one at a time, `first` of them first, over a step of `stepNs`.
function memoryPicture(first, stepNs, capacity) {
  const ranks = doc.memory;
  const readout = el('p', {class: 'readout', 'aria-live': 'polite'});
  let shown = Math.max(0, first);
  const figure = responsive(width => {
    const picture = drawMemory(ranks[shown], stepNs, capacity, width);
    memoryCursor(picture, stepNs, readout);
    const {rank, stage, kind, stands_for: others} = ranks[shown];
    return [el('figcaption', {class: 'soft small'}, `Rank ${rank}, stage ${stage}${kind ? `, ${kind}` : ''}${others > 1 ? `, one of ${formats.count(others)} alike` : ''}${shown === first ? '; the fullest stage' : ''}`), picture.root];
  }, 'Memory over the step');
  const choice = select('Rank', ranks.map((r, k) => [k, `${r.rank} (stage ${r.stage}${r.kind ? `, ${r.kind}` : ''})`]), v => {
    shown = Number(v);
    figure.redraw();
  });
  choice.querySelector('select').value = shown;
  const names = [...new Set(ranks.flatMap(r => Object.keys(r.bytes)))];
  return [ranks.length > 1 ? el('div', {class: 'controls'}, choice) : null, figure, readout,
          legend([...(memoryLayers(ranks[0])[0].name === 'overheads' ? ['overheads'] : []), ...names].map(n => [words(n), colour(memoryColours[n])]))];
}

/// What the fullest rank holds at its fullest moment.
function peakTables(at) {
  const memory = valueAt(at + '/memory'), here = at + '/memory';
  let reached = 0;
  const whole = Math.max(memory.capacity_bytes, memory.peak_memory_bytes);
  const bar = (bytes, name) => {
    const from = reached / whole;
    reached += bytes;
    return barCell(Math.min(1, from), Math.min(1, reached / whole), colour(memoryColours[name] ?? 'grey'));
  };
  const rows = Object.entries(memory.items).filter(([, bytes]) => bytes > 0).map(([key, bytes]) => {
    const name = key.replace(/_bytes$/, '');
    return {cells: [words(name), num(here + pointer('items', key), 'bytes'),
                    num(here + pointer('items', key), 'share', here + '/capacity_bytes'), bar(bytes, name),
                    memory.sources[name] ?? 'exact, from the plan']};
  });
  const largest = memory.largest.map((t, k) => ({cells: [words(t.name), words(t.kind),
    num(here + pointer('largest', k, 'count'), 'count'), num(here + pointer('largest', k, 'bytes'), 'bytes')]}));
  return [el('h3', {}, ['The peak explained: rank ', num(here + '/rank'), ', stage ', num(here + '/stage')]),
    table('What is live at the fullest moment of the fullest rank, of the device’s capacity.',
          [{title: 'class'}, {title: 'bytes', number: true}, {title: 'of capacity', number: true},
           {title: whole > memory.capacity_bytes ? 'up to the peak' : 'up to the capacity', bar: true}, {title: 'where the number comes from'}], rows),
    largest.length ? details('The largest tensors at the peak', table(null,
      [{title: 'tensor'}, {title: 'class'}, {title: 'live at once', number: true}, {title: 'bytes of all', number: true}], largest)) : null];
}

/// The fullest of the shown ranks of a stage, by its place among `ranks`.
function fullestOf(ranks, stage) {
  const peak = r => Math.max(...memoryLayers(r).at(-1).high);
  const there = ranks.map((r, k) => k).filter(k => ranks[k].stage === stage);
  return there.length ? there.reduce((a, b) => (peak(ranks[b]) > peak(ranks[a]) ? b : a)) : -1;
}

function memorySection(at) {
  const first = fullestOf(doc.memory ?? [], valueAt(at + '/memory/stage'));
  return section('memory', 'Memory',
    doc.memory?.length ? memoryPicture(first, doc.timelines[0].step_ns, valueAt(at + '/memory/capacity_bytes')) : null, peakTables(at));
}
