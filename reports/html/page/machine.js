// The machine, drawn by the program (reports/topology.h), in the colours of the page.

function machineSection() {
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
  return section('machine', 'The machine', el('figure', {}, el('div', {class: 'scroll'}, picture)));
}
