// What colours mean, everywhere on the page.

const groupColours = {
  compute: 'blue', recompute: 'purple', exposed_communication: 'orange', bubble: 'grey',
  optimizer: 'green', offload: 'red', host: 'yellow', idle: 'pale',
};
const memoryColours = {
  weight: 'blue', gradient: 'orange', optimizer: 'green', activation: 'sky', kv_cache: 'purple',
  buffer: 'brown', overheads: 'grey', free: 'track',
};
const phaseColours = {
  forward: 'blue', backward: 'orange', weight_grad: 'green', recompute: 'purple', grad_sync: 'red',
  param_gather: 'sky', optimizer: 'yellow',
};
/// Of several of a kind, one after the other.
const series = ['blue', 'orange', 'green', 'red', 'purple', 'sky', 'brown', 'yellow'];

const colour = name => `var(--${name ?? 'grey'})`;

/// Ops by what they are: [title, colour, test].
const opKinds = [
  ['matrix products', 'blue', op => op.name.includes('matmul') || op.name.includes('gemm')],
  ['attention', 'sky', op => op.name.includes('attention')],
  ['optimizer', 'yellow', op => op.phase === 'optimizer' && !op.axes],
  ['messages between stages', 'purple', op => op.name === 'send' || op.name === 'recv'],
  ['communication over tp', 'orange', op => /^(tp|tp\+etp|etp)$/.test(op.axes)],
  ['communication over cp, ulysses or ep', 'brown', op => /cp|ulysses|ep/.test(op.axes) && !/dp/.test(op.axes)],
  ['communication over dp and fsdp', 'red', op => op.axes !== ''],
  ['copies', 'grey', op => op.name === 'copy'],
  ['other kernels', 'green', () => true],
];
const opKind = op => opKinds.findIndex(([, , test]) => test(op));

/// The value of a colour now, as [red, green, blue].
function rgb(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  return [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16));
}
