// The machine, drawn by the program (reports/topology.h), in the colours of the page, its links by
// how much of the step the collectives of one rank are on them.

/// Link classes by where they are; the first one that the drawing has carries the collectives.
const inNodes = ['nvlink', 'pcie'], betweenNodes = ['infiniband', 'ethernet'];

/// Share of the step in which the rank that makes the most calls has collectives within its node, or
/// between nodes. Streams run at the same time, so it may be more than the exposed communication.
function busyShares(at) {
  const step = valueAt(at + '/step_time_s'), sums = {within: 0, between: 0};
  for (const c of valueAt(at + '/collectives') ?? []) {
    if (c.ranks > 1) sums[c.nodes > 1 ? 'between' : 'within'] += c.calls_per_step * c.time_s / step;
  }
  return sums;
}

/// From idle to always busy; one hue, darker is more, so that it needs no sight of colours.
const busySteps = [[0, '#9aa3ad'], [0.02, '#f2b880'], [0.1, '#e8873a'], [0.25, '#cc5208'], [0.5, '#8f2d04']];
const busyTone = share => busySteps.filter(([from]) => share >= from).at(-1)[1];

function machineSection(at) {
  if (!doc.machine) return null;
  const parsed = new DOMParser().parseFromString(doc.machine, 'image/svg+xml').documentElement;
  const picture = document.importNode(parsed, true);
  picture.setAttribute('role', 'img');
  picture.setAttribute('aria-label', picture.querySelector('title').textContent);
  picture.querySelector('title').remove();  // else it shows on hover
  picture.querySelector('rect').remove();  // the sheet of paper
  for (const text of picture.querySelectorAll('text')) {
    const inBox = text.getAttribute('text-anchor') === 'middle';  // boxes are pale in any theme
    text.style.fill = inBox ? '#1a1f26' : 'var(--ink)';
  }
  const shares = busyShares(at);
  const colourLinks = (names, share) => {
    const name = names.find(n => picture.querySelector('.' + n));
    if (!name) return null;
    for (const link of picture.querySelectorAll('.' + name)) link.setAttribute('stroke', busyTone(share));
    return [name, share];
  };
  const busy = [colourLinks(inNodes, shares.within), colourLinks(betweenNodes, shares.between)].filter(Boolean);
  for (const link of picture.querySelectorAll('line[class], path[class]')) {
    if (!busy.some(([name]) => link.classList.contains(name))) link.setAttribute('stroke', busySteps[0][1]);
  }
  return section('machine', 'The machine',
    busy.length ? el('ul', {class: 'plain'}, busy.map(([name, share]) => el('li', {},
      `${words(name)}: collectives of one rank are on it for ${formats.percent(share)} of the step`))) : null,
    el('figure', {}, el('div', {class: 'scroll'}, picture)),
    legend(busySteps.map(([from, tone], k) => [k === 0 ? 'under 2 % of the step' : `from ${formats.percent(from)}`, tone])));
}
