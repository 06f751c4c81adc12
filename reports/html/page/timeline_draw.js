// Drawing a timeline on a canvas. However many spans there are, a lane is one row of pixels: each
// span adds its colour to the pixels that it covers, by how much of each it covers, so what is too
// fine to be seen shows as the mean of what is there. Each row is then stretched to its height.

const kLane = 18, kHead = 20, kAxis = 24, kLeast = 5;

/// What spans are coloured by: {title, entries: [[name, colour]], of(op, call) -> index}.
const colourings = {
  kind: {title: 'what it is', entries: opKinds.map(([title, tone]) => [title, tone]), of: op => op.kind},
  phase: {title: 'phase', entries: Object.entries(phaseColours).map(([n, c]) => [words(n), c]),
          of: op => Object.keys(phaseColours).indexOf(op.phase)},
  microbatch: {title: 'microbatch', entries: series.map((tone, k) => [`microbatch ${k}, ${k + 8}, …`, tone]),
               of: (op, call) => call.microbatch % 8, byCall: true},
  layer: {title: 'layer', entries: series.map((tone, k) => [`layer ${k}, ${k + 8}, …`, tone]),
          of: (op, call) => call.layer % 8, byCall: true},
};

class TimelinePainter {
  constructor(canvas, ops) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.strip = document.createElement('canvas');
    this.ops = ops;
  }

  /// Takes the colours of the page as they are now.
  takeColours(colouring) {
    this.colouring = colourings[colouring];
    this.tones = this.colouring.entries.map(([, tone]) => rgb(tone));
    this.ink = rgb('ink'), this.soft = rgb('soft'), this.card = rgb('card'), this.line = rgb('line');
    this.track = rgb('track'), this.accent = rgb('accent');
    this.toneOfOp = this.colouring.byCall ? null : Int8Array.from(this.ops, op => this.colouring.of(op));
  }

  /// Where lanes stand: one heading for each rank, lanes as high as there is room for.
  layOut(lanes, width, most) {
    const groups = [];
    for (const lane of lanes) {
      const key = `${lane.timeline} ${lane.rank}`;
      if (groups.at(-1)?.key !== key) groups.push({key, lanes: []});
      groups.at(-1).lanes.push(lane);
    }
    const room = most - kAxis - groups.length * kHead;
    const height = Math.max(kLeast, Math.min(kLane, Math.floor(room / Math.max(1, lanes.length))));
    let y = kAxis;
    for (const group of groups) {
      group.y = y;
      y += kHead;
      for (const lane of group.lanes) lane.y = y, lane.height = height, y += height;
      y += 4;
    }
    this.groups = groups, this.lanes = lanes, this.width = width, this.height = y + 4;
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = this.height + 'px';
    this.strip.width = this.canvas.width;
    this.strip.height = Math.max(1, lanes.length);
    this.image = new ImageData(this.strip.width, this.strip.height);
    this.sums = new Float32Array(4 * this.strip.width);
  }

  /// One lane into one row of the strip.
  paintRow(lane, row, view, test) {
    const width = this.strip.width, sums = this.sums.fill(0);
    const scale = width / (view.to - view.from), {start, end, op} = lane;
    const last = start.length;
    for (let i = firstAfter(lane, view.from); i < last && start[i] < view.to; ++i) {
      const x0 = Math.max(0, (start[i] - view.from) * scale), x1 = Math.min(width, (end[i] - view.from) * scale);
      const tone = this.tones[this.toneOfOp ? this.toneOfOp[op[i]] : this.colouring.of(null, callOf(lane, i))];
      const weight = test && !test(lane, i, this.ops[op[i]]) ? 0.13 : 1;
      const first = Math.floor(x0), end1 = Math.min(width - 1, Math.floor(x1));
      for (let x = first; x <= end1; ++x) {
        let part = (Math.min(x1, x + 1) - Math.max(x0, x)) * weight;
        if (x === end1 - 1 && x1 - x0 > 5) part *= 0.55;  // where one span ends and the next begins
        const at = 4 * x;
        sums[at] += part * tone[0], sums[at + 1] += part * tone[1], sums[at + 2] += part * tone[2];
        sums[at + 3] += part;
      }
    }
    const data = this.image.data, base = this.track;
    for (let x = 0, at = 4 * width * row; x < width; ++x, at += 4) {
      const rest = Math.max(0, 1 - sums[4 * x + 3]), over = Math.max(1, sums[4 * x + 3]);
      for (let k = 0; k < 3; ++k) data[at + k] = sums[4 * x + k] / over + rest * base[k];
      data[at + 3] = 255;
    }
  }

  draw(view, test, chosen) {
    const began = performance.now(), c = this.context;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = css(this.card);
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.lanes.forEach((lane, row) => this.paintRow(lane, row, view, test));
    this.strip.getContext('2d').putImageData(this.image, 0, 0);
    c.imageSmoothingEnabled = false;
    this.lanes.forEach((lane, row) => {
      const gap = lane.height > 8 ? 2 : 1;
      c.drawImage(this.strip, 0, row, this.strip.width, 1, 0, Math.round(lane.y * this.ratio), this.canvas.width,
                  Math.round((lane.height - gap) * this.ratio));
    });
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.drawAxis(view);
    this.drawWords(view);
    if (chosen) this.outline(view, chosen);
    this.canvas.dataset.drawMs = (performance.now() - began).toFixed(2);
  }

  drawAxis(view) {
    const c = this.context, x = t => (t - view.from) / (view.to - view.from) * this.width;
    c.font = '12px system-ui, "Liberation Sans", sans-serif';
    c.textBaseline = 'middle';
    for (const t of ticks(view.from, view.to, this.width / 130)) {
      c.fillStyle = css(this.line);
      c.fillRect(Math.round(x(t)), 0, 1, kAxis - 2);
      c.fillStyle = css(this.soft);
      const text = tickText(t, view), fits = x(t) + 4 + c.measureText(text).width <= this.width;
      c.textAlign = fits ? 'left' : 'right';
      c.fillText(text, x(t) + (fits ? 4 : -4), kAxis / 2 - 1);
    }
    c.textAlign = 'left';
  }

  /// Names of ranks, of streams, and of spans that are wide enough for theirs.
  drawWords(view) {
    const c = this.context;
    for (const group of this.groups) {
      const lane = group.lanes[0];
      c.font = '600 12px system-ui, "Liberation Sans", sans-serif';
      c.fillStyle = css(this.ink);
      const more = lane.standsFor > 1 ? `, stands for ${formats.count(lane.standsFor)} ranks` : '';
      c.fillText(`rank ${lane.rank}, stage ${lane.stage}${lane.kind}: ${lane.label}${more}`, 6, group.y + kHead / 2 + 2);
    }
    for (const lane of this.lanes) {
      if (lane.height < 12) continue;
      const middle = lane.y + (lane.height - 2) / 2 + 0.5;
      c.font = '11px system-ui, "Liberation Sans", sans-serif';
      this.drawSpanNames(lane, view, middle);
      const name = words(lane.stream), w = c.measureText(name).width + 8;
      c.globalAlpha = 0.86;
      c.fillStyle = css(this.card);
      c.fillRect(2, lane.y + 1, w, lane.height - 4);
      c.globalAlpha = 1;
      c.fillStyle = css(this.ink);
      c.fillText(name, 6, middle);
    }
  }

  drawSpanNames(lane, view, middle) {
    const c = this.context, scale = this.width / (view.to - view.from);
    const i0 = firstAfter(lane, view.from);
    for (let i = i0; i < lane.start.length && lane.start[i] < view.to && i - i0 < 400; ++i) {
      const x0 = Math.max(0, (lane.start[i] - view.from) * scale);
      const room = Math.min(this.width, (lane.end[i] - view.from) * scale) - x0 - 6;
      if (room < 34) continue;
      const op = this.ops[lane.op[i]], full = words(op.name);
      const letters = Math.floor(room / 6.1);
      const tone = this.tones[this.toneOfOp ? this.toneOfOp[lane.op[i]] : this.colouring.of(null, callOf(lane, i))];
      c.fillStyle = 0.299 * tone[0] + 0.587 * tone[1] + 0.114 * tone[2] > 135 ? '#111' : '#fff';
      c.fillText(full.length <= letters ? full : full.slice(0, letters - 1) + '…', x0 + 4, middle);
    }
  }

  outline(view, {lane, i}) {
    const c = this.context, scale = this.width / (view.to - view.from);
    const x0 = (lane.start[i] - view.from) * scale, x1 = (lane.end[i] - view.from) * scale;
    if (!this.lanes.includes(lane) || x1 < 0 || x0 > this.width) return;
    c.strokeStyle = css(this.ink);
    c.lineWidth = 2;
    c.strokeRect(x0 - 1, lane.y - 1, Math.max(3, x1 - x0 + 2), lane.height);
  }

  /// The span at a place of the canvas, or null; nearby ones count where spans are fine.
  spanAt(x, y, view) {
    const lane = this.lanes.find(l => y >= l.y && y < l.y + l.height);
    if (!lane) return null;
    const pixel = (view.to - view.from) / this.width, t = view.from + x * pixel;
    const i = firstAfter(lane, t - pixel);
    return i < lane.start.length && lane.start[i] <= t + pixel ? {lane, i} : null;
  }
}

const css = ([r, g, b]) => `rgb(${r}, ${g}, ${b})`;

/// With as many digits as neighbouring ticks need.
function tickText(t, view) {
  const span = view.to - view.from;
  const [unit, name] = span > 2e9 ? [1e9, 's'] : span > 2e6 ? [1e6, 'ms'] : span > 2e3 ? [1e3, 'us'] : [1, 'ns'];
  const digits = Math.max(0, Math.ceil(-Math.log10(span / unit / 10)));
  return `${(t / unit).toFixed(digits)} ${name}`;
}
