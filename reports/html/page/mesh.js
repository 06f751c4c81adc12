// Who holds what: the grid of ranks, and for a chosen rank its coordinates, its groups, its device
// and its layers.

const kMostPerStage = 64;

/// Of each stage its first rank, how many it has, and its axes: stages may differ in tp
/// (`stageTp`), and the mesh then has the largest.
function stagesOfMesh(mesh, stageTp) {
  let first = 0;
  return Array.from({length: mesh.pp}, (_, stage) => {
    const axes = Object.entries(mesh).map(([name, size]) => [name, name === 'tp' ? stageTp?.[stage] ?? size : size]);
    const ranks = axes.reduce((n, [name, size]) => (name === 'pp' ? n : n * size), 1);
    first += ranks;
    return {stage, first: first - ranks, ranks, axes};
  });
}

const stageOf = (rank, stages) => stages.find(s => rank < s.first + s.ranks);

/// A rank's place in its stage is the row-major index of its coordinates, outermost axis first.
function coordinatesOf(rank, stages) {
  const {stage, first, axes} = stageOf(rank, stages), at = {pp: stage};
  let index = rank - first;
  for (const [name, size] of axes.filter(([axis]) => axis !== 'pp').reverse()) {
    at[name] = index % size;
    index = Math.floor(index / size);
  }
  return at;
}

/// Names of the axes along which two ranks have no place in common.
function axesApart(a, b, stages) {
  const here = coordinatesOf(a, stages), there = coordinatesOf(b, stages);
  const mine = stageOf(a, stages).axes, others = stageOf(b, stages).axes;
  return mine.filter(([name, size], k) => {
    const other = others[k][1];  // a half of one stage's ranks along tp meets two quarters of another's
    return here[name] * other >= (there[name] + 1) * size || there[name] * size >= (here[name] + 1) * other;
  }).map(([name]) => name);
}

/// Layers of a stage by chunk, from its calls: "0 to 39".
function layersOf(stage) {
  const calls = doc.timelines?.map(t => t.calls[stage]).find(Boolean);
  if (!calls) return null;
  const blocks = doc.timelines[0].blocks, chunks = new Map();
  for (let c = 0; c < calls.length; c += 4) {
    if (!blocks[calls[c]].name.match(/^(moe_)?layer/)) continue;
    if (!chunks.has(calls[c + 3])) chunks.set(calls[c + 3], new Set());
    chunks.get(calls[c + 3]).add(calls[c + 1]);
  }
  const runs = [...chunks.values()].map(set => [...set].sort((a, b) => a - b))
    .sort((a, b) => a[0] - b[0]).map(l => (l.length > 1 ? `${l[0]} to ${l.at(-1)}` : `${l[0]}`));
  return runs.length ? runs.join('; ') : null;
}

const deviceOf = rank => doc.devices?.[rank] ?? rank;

/// What a rank of the dp axis, which has `size` of them, has of its part.
function copiesAlongDp(place, size) {
  const {workers, servers} = doc.result;
  if (!servers) return `one of ${size} copies of its part (dp)`;
  const works = place < workers, parts = [];
  if (works) parts.push(`one of ${workers} workers’ copies of its part (dp)`);
  const shares = Array.from({length: servers}, (_, share) => (workers < size ? workers + share : Math.floor(share * size / servers)));
  if (shares.includes(place)) parts.push(`as a server 1/${servers} of the parameters of its part (dp)`);
  return parts.join('; ');
}

function meshFacts(rank, stages, world) {
  const at = coordinatesOf(rank, stages), {stage, axes} = stageOf(rank, stages);
  const perNode = doc.devices_per_node ?? world, device = deviceOf(rank);
  const shared = axes.filter(([name, size]) => size > 1 && name !== 'pp').map(([name, size]) => ({
    tp: `1/${size} of each layer’s matrices (tp)`, fsdp: `1/${size} of the state of its part (fsdp)`,
    dp: copiesAlongDp(at.dp, size), cp: `1/${size} of each sequence (cp)`,
    ulysses: `1/${size} of each sequence, of the heads in attention (ulysses)`, ep: `1/${size} of the experts (ep)`,
    etp: `1/${size} of each layer’s matrices, of the experts’ alone (etp)`}[name]));
  const layers = layersOf(stage);
  return el('dl', {class: 'facts'}, [
    ['Rank', `${rank}: ${axes.map(([name]) => `${name} ${at[name]}`).join(', ')}`],
    ['Device', `${device}, on node ${Math.floor(device / perNode)}`],
    ['Layers', layers ? `${layers} (stage ${stage})` : null],
    ['Holds', shared.length ? shared.join('; ') : 'all of its stage'],
  ].filter(([, v]) => v).map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));
}

function meshSection(at) {
  const mesh = valueAt(at + '/mesh'), axes = Object.entries(mesh), world = valueAt(at + '/world_size');
  const stageTp = valueAt(at + '/stage_tp'), stages = stagesOfMesh(mesh, stageTp), perStage = Math.max(...stages.map(s => s.ranks));
  const shown = Math.min(perStage, kMostPerStage), shownStages = Math.min(stages.length, 16);
  const facts = el('div', {'aria-live': 'polite'}), cells = [];
  const marks = {tp: 'blue', etp: 'red', cp: 'brown', ulysses: 'yellow', ep: 'purple', fsdp: 'green', dp: 'orange', pp: 'sky'};
  const choose = rank => {
    for (const {rank: r, button} of cells) {
      const differs = axesApart(r, rank, stages);
      const tone = differs.length === 0 ? 'ink' : differs.length === 1 ? marks[differs[0]] : null;
      button.style.background = tone ? colour(tone) : '';
      button.style.color = tone === 'ink' ? 'var(--card)' : tone ? '#111' : '';
      button.setAttribute('aria-pressed', String(differs.length === 0));
      button.tabIndex = differs.length === 0 ? 0 : -1;
    }
    facts.replaceChildren(meshFacts(rank, stages, world));
  };
  // Whole nodes in a row, where they are laid out in order.
  const perNode = doc.devices_per_node ?? 8;
  const columns = Math.min(shown, perNode <= 16 ? perNode * Math.floor(16 / perNode) : 16);
  const rows = stages.slice(0, shownStages).map(({stage, first, ranks}) => {
    const grid = el('div', {class: 'grid', role: 'group', 'aria-label': `Ranks of stage ${stage}`});
    grid.style.gridTemplateColumns = `repeat(${columns}, 1.5rem)`;
    for (let rank = first; rank < first + Math.min(ranks, shown); ++rank) {
      const button = el('button', {type: 'button', 'aria-label': `Rank ${rank}`, on: {click: () => choose(rank)}},
                        rank < 1000 ? String(rank) : '');
      cells.push({rank, button});
      grid.append(button);
    }
    const name = stages.length > 1 ? `stage ${stage}` : null;
    return el('div', {}, name ? el('p', {class: 'small soft'}, name, layersOf(stage) ? `: layers ${layersOf(stage)}` : '') : null,
              el('div', {class: 'scroll'}, grid));
  });
  const moves = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns};
  const body = el('div', {on: {keydown: e => {
    const now = cells.findIndex(c => c.button === document.activeElement);
    if (now < 0 || moves[e.key] === undefined) return;
    e.preventDefault();
    const next = cells[Math.max(0, Math.min(cells.length - 1, now + moves[e.key]))];
    choose(next.rank);
    next.button.focus();
  }}}, rows);
  choose(0);
  const hidden = [perStage > shown ? `${formats.count(shown)} of ${formats.count(perStage)} ranks of each stage` : null,
                  stages.length > shownStages ? `${shownStages} of ${stages.length} stages` : null].filter(Boolean);
  const size = name => (name === 'tp' && stageTp ? stageTp.map((_, k) => [k ? ' + ' : '', num(at + pointer('stage_tp', k))]).concat(' by stage') : num(at + pointer('mesh', name)));
  const served = valueAt(at + '/servers') ? [' (', num(at + '/workers', 'count'), ' work, ', num(at + '/servers', 'count'), ' serve)'] : '';
  const shape = axes.filter(([, n]) => n > 1).map(([name]) => [name, ' ', size(name), name === 'dp' ? served : '']);
  return section('mesh', 'Who holds what',
    el('p', {}, num(at + '/world_size', 'count'), world === 1 ? ' rank' : ' ranks',
       shape.length ? [': ', shape.flatMap((s, k) => (k ? [' × ', ...s] : s))] : '',
       hidden.length ? `. Shown: ${hidden.join(', ')}; the others repeat them.` : '.'),
    el('div', {class: 'two'}, body, el('div', {}, facts,
      legend([['the chosen rank', 'var(--ink)'], ...axes.filter(([, n]) => n > 1).map(([name]) => [`differs in ${name} only: its ${name} group`, colour(marks[name])])]))));
}
