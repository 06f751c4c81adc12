// Elements of the page.

const kSvg = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else {
      node.setAttribute(name, value === true ? '' : value);
    }
  }
  node.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  return node;
}

const el = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(kSvg, tag), attributes, children);

/// A number of the document. It says where it is from, so that it can be checked.
function num(path, format = 'exact', of) {
  const value = valueAt(path);
  if (value === undefined || value === null) return el('span', {class: 'soft'}, '–');
  return el('span', {'data-path': path, 'data-format': format, 'data-of': of},
            formats[format](value, of === undefined ? undefined : valueAt(of)));
}

/// A text of the document.
const say = path => el('span', {'data-path': path, 'data-format': 'text'}, String(valueAt(path) ?? ''));

function section(id, title, ...content) {
  return el('section', {class: 'card', id, 'aria-labelledby': id + '-title'},
            el('h2', {id: id + '-title'}, title), ...content);
}

const tile = (name, value, more) =>
  el('div', {class: 'tile'}, el('span', {class: 'name'}, name), el('span', {class: 'value'}, value),
     more ? el('span', {class: 'more'}, more) : null);

/// Columns that a narrow window has room for; rows of more become entries there: name, then the rest.
const narrowColumns = 3;

/// columns: {title, number: right-aligned, bar: a picture}; rows: {cells, class}. The last cell of a
/// row that has fewer spans the other columns.
function table(caption, columns, rows) {
  const kind = column => column.number ? 'number' : column.bar ? 'bar' : null;
  const heads = columns.map(c => el('th', {scope: 'col', class: kind(c)}, c.title));
  const body = rows.map(row => el('tr', {class: row.class}, row.cells.map((cell, k) => {
    const rest = columns.length - k, spans = k === row.cells.length - 1 && rest > 1;
    return el(k === 0 ? 'th' : 'td', {scope: k === 0 ? 'row' : null, colspan: spans ? rest : null,
                                      class: spans ? 'spans' : kind(columns[k]), 'data-title': spans ? '' : columns[k].title}, cell);
  })));
  const entries = columns.length > narrowColumns || columns.some(c => c.bar);
  return [caption ? el('p', {class: 'soft small'}, caption) : null,
    el('div', {class: 'scroll'}, el('table', {class: entries ? 'entries' : null, 'aria-label': caption},
      el('thead', {}, el('tr', {}, heads)), el('tbody', {}, body)))];
}

const details = (title, ...content) => el('details', {}, el('summary', {}, title), ...content);

/// A list of names with the colours that stand for them: [[name, css colour], ...].
const legend = entries =>
  el('ul', {class: 'legend'}, entries.map(([name, colour]) =>
    el('li', {}, svg('svg', {'aria-hidden': 'true', viewBox: '0 0 14 14'},
                     svg('rect', {x: 1, y: 1, width: 12, height: 12, rx: 3, fill: colour})), name)));

const setOption = ([path, value]) => `--set ${path}=${value}`;
/// [[path, value], ...] as options of a command, which lines do not break within.
const settingWords = settings =>
  settings.map((s, k) => [k ? ' ' : '', el('span', {class: 'setting'}, setOption(s))]);

function copyButton(text) {
  const button = el('button', {type: 'button'}, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Select and copy by hand';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  return button;
}

function select(name, options, onChange) {
  const box = el('select', {'aria-label': name},
                 options.map(([value, title]) => el('option', {value}, title)));
  box.addEventListener('change', () => onChange(box.value));
  return el('label', {}, name, box);
}

/// The window that follows the pointer.
const tip = {
  show(x, y, ...content) {
    const box = document.getElementById('tip');
    box.replaceChildren(...content);
    box.hidden = false;
    const left = Math.min(x + 14, innerWidth - box.offsetWidth - 8);
    const top = y + 18 + box.offsetHeight > innerHeight ? y - box.offsetHeight - 12 : y + 18;
    box.style.left = Math.max(4, left) + 'px';
    box.style.top = Math.max(4, top) + 'px';
  },
  hide() { document.getElementById('tip').hidden = true; },
};
/// Lines of a tip, the first one bold.
const tipLines = (first, ...lines) =>
  [el('b', {}, first), ...lines.filter(Boolean).map(line => el('div', {}, line))];

/// Hover and keyboard focus show what a mark of a picture stands for.
function explainMark(mark, ...lines) {
  mark.setAttribute('tabindex', '0');
  mark.setAttribute('role', 'img');
  mark.setAttribute('aria-label', lines.filter(Boolean).join(', '));
  mark.classList.add('mark');
  mark.addEventListener('pointermove', e => tip.show(e.clientX, e.clientY, ...tipLines(...lines)));
  mark.addEventListener('pointerleave', tip.hide);
  mark.addEventListener('focus', () => {
    const box = mark.getBoundingClientRect();
    tip.show(box.right, box.bottom, ...tipLines(...lines));
  });
  mark.addEventListener('blur', tip.hide);
  return mark;
}
