// The timeline with its controls: zoom, pan, hover, search, hidden streams; by mouse, touch and
// keyboard.

class TimelinePanel {
  constructor(timelines) {
    this.ops = [];
    this.all = timelines.flatMap((t, k) => readTimeline(t, k, this.ops));
    for (const op of this.ops) {
      op.haystack = [op.name, words(op.name), op.phase, op.block, op.stream, op.axes].join(' ').toLowerCase();
    }
    if (doc.kind === 'realrun') this.all.sort((a, b) => a.rank - b.rank || a.timeline - b.timeline);
    this.whole = Math.max(...timelines.map(t => t.step_ns), ...this.all.map(l => l.end.at(-1) ?? 0));
    this.view = {from: 0, to: this.whole};
    this.hidden = new Set();
    this.colouring = 'kind';
    this.test = null;
    this.chosen = null;
    this.makeElements();
    this.painter = new TimelinePainter(this.canvas, this.ops);
    this.listen();
  }

  makeElements() {
    this.canvas = el('canvas', {id: 'timeline-canvas', tabindex: '0', role: 'application', 'aria-label':
      'Timeline. Arrow keys pan, plus and minus zoom, Home shows all, brackets choose the next or last span, Enter zooms to it',
      'aria-describedby': 'timeline-readout'});
    this.readout = el('p', {class: 'readout', id: 'timeline-readout', 'aria-live': 'polite'},
                      'Drag to pan; click it, then turn the wheel to zoom.');
    this.query = el('input', {type: 'search', id: 'timeline-search', placeholder: 'matmul layer 3 mb 0', 'aria-label': 'Search ops'});
    this.found = el('span', {class: 'soft small', id: 'timeline-found', 'aria-live': 'polite'});
    this.streams = [...new Set(this.all.map(l => l.stream))];
    const button = (text, name, act) => el('button', {type: 'button', 'aria-label': name, on: {click: act}}, text);
    const legendHolder = el('div');
    const showLegend = () => {
      const used = new Set();
      const c = colourings[this.colouring];
      for (const lane of this.all) for (let i = 0; i < lane.op.length; ++i) used.add(c.of(this.ops[lane.op[i]], callOf(lane, i)));
      legendHolder.replaceChildren(legend(c.entries.filter((_, k) => used.has(k)).map(([n, t]) => [n, colour(t)])));
    };
    showLegend();
    this.element = el('div', {},
      el('div', {class: 'controls'},
        button('+', 'Zoom in', () => this.zoom(0.5)), button('−', 'Zoom out', () => this.zoom(2)),
        button('All', 'Show the whole step', () => this.show(0, this.whole)),
        select('Colours', Object.entries(colourings).map(([k, c]) => [k, c.title]), v => {
          this.colouring = v;
          showLegend();
          this.recolour();
        }), this.query, this.found),
      el('div', {class: 'controls'}, el('fieldset', {}, el('legend', {}, 'Streams'), this.streams.map(s => {
        const box = el('input', {type: 'checkbox', checked: true, 'data-stream': s});
        box.addEventListener('change', () => {
          if (box.checked) this.hidden.delete(s); else this.hidden.add(s);
          this.layOut();
        });
        return el('label', {}, box, words(s));
      }))),
      el('div', {class: 'stage'}, this.canvas), this.readout, legendHolder);
  }

  listen() {
    new ResizeObserver(() => this.layOut()).observe(this.element);
    document.addEventListener('themechange', () => this.recolour());
    this.query.addEventListener('input', () => this.search());
    this.query.addEventListener('keydown', e => { if (e.key === 'Enter') this.chooseNext(1); });
    this.canvas.addEventListener('wheel', e => this.onWheel(e), {passive: false});
    this.canvas.addEventListener('keydown', e => this.onKey(e));
    this.canvas.addEventListener('dblclick', e => this.zoom(0.4, this.timeAt(e)));
    this.listenToPointers();
  }

  listenToPointers() {
    const down = new Map();
    let moved = 0;
    this.canvas.addEventListener('pointerdown', e => {
      down.set(e.pointerId, e);
      moved = 0;
      this.canvas.setPointerCapture(e.pointerId);
    });
    const up = e => {
      if (down.delete(e.pointerId) && moved < 5) this.choose(this.under(e));
    };
    this.canvas.addEventListener('pointerup', up);
    this.canvas.addEventListener('pointercancel', e => down.delete(e.pointerId));
    this.canvas.addEventListener('pointerleave', tip.hide);
    this.canvas.addEventListener('pointermove', e => {
      const before = down.get(e.pointerId);
      if (!before) return this.hover(e);
      moved += Math.abs(e.clientX - before.clientX);
      if (down.size === 2) {
        const other = [...down.values()].find(p => p.pointerId !== e.pointerId);
        const was = Math.abs(before.clientX - other.clientX), is = Math.abs(e.clientX - other.clientX);
        if (was > 4 && is > 4) this.zoom(was / is, this.timeAt(other));
      } else {
        this.pan(-(e.clientX - before.clientX) / this.painter.width);
      }
      down.set(e.pointerId, e);
      tip.hide();
    });
  }

  onWheel(e) {
    if (document.activeElement !== this.canvas && !e.ctrlKey) return;  // the page scrolls
    e.preventDefault();
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.pan(e.deltaX / this.painter.width);
    else this.zoom(Math.exp(e.deltaY * 0.002), this.timeAt(e));
  }

  onKey(e) {
    const keys = {
      ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15),
      ArrowUp: () => this.zoom(0.6), ArrowDown: () => this.zoom(1 / 0.6), '+': () => this.zoom(0.6), '=': () => this.zoom(0.6),
      '-': () => this.zoom(1 / 0.6), Home: () => this.show(0, this.whole), 0: () => this.show(0, this.whole),
      ']': () => this.chooseNext(1), '[': () => this.chooseNext(-1), '/': () => this.query.focus(),
      Enter: () => this.zoomToChosen(),
    };
    if (!keys[e.key] || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    keys[e.key]();
  }

  timeAt(e) {
    const x = e.clientX - this.canvas.getBoundingClientRect().left;
    return this.view.from + x / this.painter.width * (this.view.to - this.view.from);
  }
  under(e) {
    const box = this.canvas.getBoundingClientRect();
    return this.painter.spanAt(e.clientX - box.left, e.clientY - box.top, this.view);
  }
  hover(e) {
    const span = this.under(e);
    if (span) tip.show(e.clientX, e.clientY, ...tipLines(...describeSpan(span.lane, this.ops, span.i)));
    else tip.hide();
  }

  show(from, to) {
    const least = Math.min(this.whole, 200);  // ns
    const span = Math.max(least, Math.min(this.whole, to - from));
    from = Math.max(0, Math.min(this.whole - span, from));
    this.view = {from, to: from + span};
    this.redraw();
  }
  zoom(factor, around = (this.view.from + this.view.to) / 2) {
    this.show(around - (around - this.view.from) * factor, around + (this.view.to - around) * factor);
  }
  pan(part) {
    const by = part * (this.view.to - this.view.from);
    this.show(this.view.from + by, this.view.to + by);
  }

  search() {
    this.test = spanTest(this.query.value);
    let count = 0;
    if (this.test) this.eachMatch(() => { ++count; });
    this.found.textContent = this.test ? `${formats.count(count)} ${count === 1 ? 'op' : 'ops'}; Enter: the next` : '';
    this.redraw();
  }
  /// visit(lane, i) for all spans that are shown and searched for.
  eachMatch(visit) {
    for (const lane of this.lanes) {
      for (let i = 0; i < lane.start.length; ++i) {
        if (!this.test || this.test(lane, i, this.ops[lane.op[i]])) visit(lane, i);
      }
    }
  }
  /// The next (or last) span by time after the chosen one: on its lane, or of those searched for.
  chooseNext(step) {
    const all = [];
    const onLane = this.test ? null : this.chosen?.lane ?? this.lanes[0];
    this.eachMatch((lane, i) => { if (!onLane || lane === onLane) all.push({lane, i}); });
    if (all.length === 0) return;
    all.sort((a, b) => a.lane.start[a.i] - b.lane.start[b.i]);
    const at = this.chosen ? all.findIndex(s => s.lane === this.chosen.lane && s.i === this.chosen.i) : -1;
    const next = at < 0 ? 0 : (at + step + all.length) % all.length;
    this.choose(all[next]);
    const {lane, i} = all[next], span = this.view.to - this.view.from;
    if (lane.end[i] > this.view.to || lane.start[i] < this.view.from) this.show(lane.start[i] - span / 2, lane.start[i] + span / 2);
  }
  choose(span) {
    this.chosen = span;
    this.readout.textContent = span ? describeSpan(span.lane, this.ops, span.i).filter(Boolean).join(' · ') : '';
    this.redraw();
  }
  zoomToChosen() {
    if (!this.chosen) return;
    const {lane, i} = this.chosen, span = Math.max(100, lane.end[i] - lane.start[i]);
    this.show(lane.start[i] - 2 * span, lane.end[i] + 2 * span);
  }

  recolour() {
    this.painter.takeColours(this.colouring);
    this.redraw();
  }
  layOut() {
    const width = Math.floor(this.canvas.parentElement.clientWidth);
    if (width === 0) return;
    this.lanes = this.all.filter(l => !this.hidden.has(l.stream));
    this.painter.takeColours(this.colouring);
    this.painter.layOut(this.lanes, width, Math.max(420, Math.min(820, innerHeight * 0.8)));
    this.paint();
  }
  redraw() {
    if (this.waiting || !this.lanes) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }
  paint() {
    this.canvas.dataset.from = this.view.from;
    this.canvas.dataset.to = this.view.to;
    this.painter.draw(this.view, this.test, this.chosen);
  }
}

/// What the picture shows, summed up for those who do not see it.
function timelineTable(panel) {
  const sums = new Map();
  for (const lane of panel.all) {
    for (let i = 0; i < lane.start.length; ++i) {
      const op = panel.ops[lane.op[i]], key = `${lane.label}|${lane.rank}|${words(op.name)}${op.axes ? ' over ' + op.axes : ''}`;
      const sum = sums.get(key) ?? {n: 0, ns: 0};
      ++sum.n, sum.ns += lane.end[i] - lane.start[i];
      sums.set(key, sum);
    }
  }
  const rows = [...sums].map(([key, s]) => [...key.split('|'), s]).sort((a, b) => a[1] - b[1] || b[3].ns - a[3].ns)
    .map(([label, rank, op, s]) => ({cells: [op, label, rank, formats.count(s.n), formats.time(s.ns / 1e9)]}));
  return table('Spans of the timeline by op; streams run at the same time, so times do not add up to the step.',
    [{title: 'op'}, {title: 'timeline'}, {title: 'rank', number: true}, {title: 'spans', number: true}, {title: 'time', number: true}], rows);
}

/// Of many stages as many are shown as a page holds the spans of.
function stagesLeftOut(timeline) {
  const shown = new Set(timeline.tracks.map(t => t.stage)).size, stages = timeline.stages;
  if (shown >= stages) return '';
  const some = shown > 1 ? ', among them the first and the fullest' : '';
  const whose = doc.timelines.length > 1 ? ` of ${timeline.label}` : '';
  return `${shown} of ${stages} stages${whose}${some}, `;
}

/// Kinds of pages with the ranks that were measured.
const chosenRanks = new Set(['realrun', 'profile']);

function timelineSection() {
  if (!doc.timelines?.length) return null;
  const panel = new TimelinePanel(doc.timelines);
  const spans = panel.all.reduce((n, lane) => n + lane.start.length, 0);
  const which = doc.timelines.map(stagesLeftOut).join('');
  const holder = el('details', {}, el('summary', {}, 'The same as a table'));
  holder.addEventListener('toggle', () => {
    if (holder.children.length === 1) holder.append(...timelineTable(panel).filter(Boolean));
  });
  const out = section('timeline', 'Timeline',
    el('p', {class: 'soft small'}, `${which}${formats.count(spans)} spans. ${chosenRanks.has(doc.kind) ? '' : 'Of ranks of one stage, device and role the one that ends last is shown.'}`),
    panel.element, holder);
  return out;
}
