// The machine, drawn by the program (reports/topology.h), in the colours of the page, its links by
// how busy the step keeps the busiest of their class (reports/html/link_use.h).

/// From which share of the step on a link has which tone, from idle to always busy; one hue, so that
/// it needs no sight of colours.
const busySteps = [0, 0.02, 0.1, 0.25, 0.5];
const busyTone = share => colour('busy-' + busySteps.findLastIndex(from => share >= from));

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
  for (const link of picture.querySelectorAll('line[class], path[class]')) {
    const use = (doc.link_use ?? []).find(u => link.classList.contains(u.link));
    link.setAttribute('stroke', busyTone(use?.utilisation ?? 0));
  }
  return section('machine', 'The machine', doc.link_use ? linkUseTable() : null,
    el('figure', {}, el('div', {class: 'scroll'}, picture)),
    doc.link_use ? legend(busySteps.map((from, k) => [k === 0 ? `busy under ${formats.percent(busySteps[1])} of the step` : `from ${formats.percent(from)}`, busyTone(from)])) : null);
}

function linkUseTable() {
  if (doc.link_use.length === 0) return el('p', {class: 'soft small'}, 'No link carries anything.');
  const rows = doc.link_use.map((use, k) => {
    const cell = (key, format) => num(pointer('link_use', k, key), format);
    return {cells: [use.link, cell('utilisation', 'percent'), cell('bytes', 'bytes'), cell('message_bytes', 'bytes'),
                    cell('bandwidth_bytes_per_s', 'bandwidth'), cell('mean_utilisation', 'percent'), use.busiest.replace('->', '→')]};
  });
  return table('How much of the step the busiest link of each class is busy: its bytes of one step, one way, over its bandwidth over the step time.',
    [{title: 'links'}, {title: 'busy', number: true}, {title: 'bytes a step', number: true}, {title: 'of these between stages', number: true},
     {title: 'bandwidth', number: true}, {title: 'busy, mean of all', number: true}, {title: 'the busiest one'}], rows);
}
