// The spans of a timeline, out of the compact form that they are kept in: per track and op the gap
// to the op before it on the same stream, and how long it took.

/// Appends the lanes of `timeline`: {label, rank, stage, standsFor, stream, start, end, op, call};
/// times in ns, `op` an index of `ops`, `call` where the call begins in `calls`.
function readTimeline(timeline, number, ops) {
  const firstOp = [];
  for (const block of timeline.blocks) {
    firstOp.push(ops.length);
    for (const [name, stream, phase, bytes, axes] of block.ops) {
      const op = {name, stream, phase, bytes, axes, block: block.name};
      op.kind = opKind(op);
      ops.push(op);
    }
  }
  return timeline.tracks.flatMap(track => readTrack(timeline, number, track, ops, firstOp));
}

function readTrack(timeline, number, track, ops, firstOp) {
  const calls = timeline.calls[track.stage], lanes = new Map();
  let flat = 0;
  for (let c = 0; c < calls.length; c += 4) {
    const block = calls[c], count = timeline.blocks[block].ops.length;
    for (let i = 0; i < count; ++i, ++flat) {
      const op = firstOp[block] + i, stream = ops[op].stream;
      if (!lanes.has(stream)) lanes.set(stream, {start: [], end: [], op: [], call: [], now: 0});
      const lane = lanes.get(stream);
      const start = lane.now + track.gaps_ns[flat];
      lane.now = start + track.durations_ns[flat];
      lane.start.push(start);
      lane.end.push(lane.now);
      lane.op.push(op);
      lane.call.push(c);
    }
  }
  return [...lanes].map(([stream, lane]) => ({
    timeline: number, label: timeline.label, rank: track.rank, stage: track.stage,
    standsFor: track.stands_for, kind: track.kind ? `, ${track.kind}` : '', stream, calls,
    start: Float64Array.from(lane.start), end: Float64Array.from(lane.end),
    op: Int32Array.from(lane.op), call: Int32Array.from(lane.call),
    longest: lane.start.reduce((most, s, i) => Math.max(most, lane.end[i] - s), 0),
  }));
}

/// The first span of a lane that ends after t; spans of one stream follow one another.
function firstAfter(lane, t) {
  let low = 0, high = lane.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.end[middle] > t) high = middle; else low = middle + 1;
  }
  return low;
}

const callOf = (lane, i) => {
  const c = lane.call[i];
  return {layer: lane.calls[c + 1], microbatch: lane.calls[c + 2], chunk: lane.calls[c + 3]};
};

/// A span in words: the first line says what, the others where and how long.
function describeSpan(lane, ops, i) {
  const op = ops[lane.op[i]], call = callOf(lane, i);
  return [`${words(op.name)}${op.axes ? ' over ' + op.axes : ''}  ${formats.time((lane.end[i] - lane.start[i]) / 1e9)}`,
    `${words(op.phase)}, ${op.block}, layer ${call.layer}, microbatch ${call.microbatch}, chunk ${call.chunk}`,
    op.bytes ? formats.bytes(op.bytes) : null,
    `rank ${lane.rank} (stage ${lane.stage}${lane.kind}), ${lane.label}, stream ${words(lane.stream)}`,
    `from ${formats.time(lane.start[i] / 1e9)} to ${formats.time(lane.end[i] / 1e9)}`];
}

/// Whether a span answers a query: all of its words, each a part of a name, or "layer 3", "mb 2".
function spanTest(query) {
  const tests = [];
  let text = query.trim().toLowerCase();
  text = text.replace(/\b(layer|l|microbatch|mb|chunk|rank|stage)\s*[:= ]?\s*(\d+)\b/g, (_, word, number) => {
    const key = {l: 'layer', mb: 'microbatch'}[word] ?? word, n = Number(number);
    tests.push((lane, i) => (key === 'rank' || key === 'stage' ? lane[key] : callOf(lane, i)[key]) === n);
    return ' ';
  });
  for (const word of text.split(/\s+/).filter(Boolean)) {
    tests.push((lane, i, op) => op.haystack.includes(word));
  }
  return tests.length ? (lane, i, op) => tests.every(t => t(lane, i, op)) : null;
}
