// Axes for pictures in SVG.

/// About `wanted` round values from `low` to `high`.
function ticks(low, high, wanted = 6) {
  const raw = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(m => m * power >= raw * 0.999);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) out.push(k * step);
  return out;
}

/// The same for bytes, which go by powers of two.
function byteTicks(high, wanted = 6) {
  const step = 2 ** Math.round(Math.log2(Math.max(1, high / wanted)));
  const out = [];
  for (let v = 0; v <= high; v += step) out.push(v);
  return out;
}

/// Values of a logarithmic axis; evenly spaced ones where few powers of ten and their 2 and 5 times lie on it.
function logTicks(low, high) {
  const out = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const m of [1, 2, 5]) out.push(m * 10 ** power);
  }
  const inside = out.filter(v => v >= low * 0.999 && v <= high * 1.001);
  if (inside.length < 3) return ticks(low, high);
  return inside.length > 9 ? inside.filter(v => /^1/.test(v.toExponential())) : inside;
}

/// A drawing of width x height with room for axes. x and y map values to pixels; the axes are
/// drawn at once: {values, text, title, log, low, high}.
function chart({width, height, label, x, y, left = 62, bottom = 40, top = 10, right = 14}) {
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label, width, height});
  const scale = (axis, from, to) => {
    const f = axis.log ? Math.log : v => v;
    const low = f(axis.low), span = f(axis.high) - low || 1;
    return v => from + (f(v) - low) / span * (to - from);
  };
  const px = scale(x, left, width - right), py = scale(y, height - bottom, top);
  for (const v of y.values) {
    root.append(svg('path', {class: 'axis', d: `M${left} ${py(v)}H${width - right}`}),
                svg('text', {class: 'soft', x: left - 7, y: py(v) + 4, 'text-anchor': 'end'}, y.text(v)));
  }
  let taken = -Infinity;  // up to where the label before reaches
  for (const v of x.values) {
    const text = x.text(v), half = 3.5 * text.length;  // a label stays inside of the picture
    const at = Math.min(px(v), width - half);
    root.append(svg('path', {class: 'axis', d: `M${px(v)} ${top}V${height - bottom}`}));
    if (at - half < taken) continue;
    taken = at + half + 5;
    root.append(svg('text', {class: 'soft', x: at, y: height - bottom + 16, 'text-anchor': 'middle'}, text));
  }
  root.append(svg('text', {class: 'soft', x: (left + width - right) / 2, y: height - 4, 'text-anchor': 'middle'}, x.title));
  if (y.title) {
    root.append(svg('text', {class: 'soft', 'text-anchor': 'middle',
                             transform: `translate(12 ${(height - bottom + top) / 2}) rotate(-90)`}, y.title));
  }
  return {root, px, py, left, bottom: height - bottom, top, right: width - right};
}

/// Shapes that tell series apart without colour; around (0, 0).
const shapes = ['M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0', 'M-4 -4H4V4H-4Z', 'M0 -5.2L5 4H-5Z', 'M0 -5.5L5.5 0L0 5.5L-5.5 0Z',
                'M0 5.2L5 -4H-5Z', 'M-5 -1.7H-1.7V-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5Z'];

/// A list of names with their marks: [[name, colour, index of the shape], ...].
const shapeLegend = entries => el('ul', {class: 'legend'}, entries.map(([name, tone, shape]) => el('li', {},
  svg('svg', {viewBox: '-7 -7 14 14', 'aria-hidden': 'true'}, svg('path', {d: shapes[shape], fill: colour(tone)})), name)));

/// A picture that is drawn anew for each width that it gets.
function responsive(draw, label) {
  const figure = el('figure', {'aria-label': label});
  let last = 0;
  const redraw = () => {
    const width = Math.round(figure.clientWidth || 900);
    if (width === last) return;
    last = width;
    figure.replaceChildren(...[draw(width)].flat());
  };
  new ResizeObserver(redraw).observe(figure);
  figure.redraw = () => { last = 0; redraw(); };
  return figure;
}
