// The answer first: does it fit, how long is a step, what bounds it, what would help.

/// Bytes in host memory of the fullest node, red where it has less.
function hostCell(memory) {
  const {host_bytes_per_node: used, host_capacity_bytes: capacity} = valueAt(memory);
  return used === undefined ? '–' : el('span', {class: used > capacity ? 'bad' : null}, num(memory + '/host_bytes_per_node', 'bytes'));
}

/// The same beside what it has; null: nothing is there.
function hostRoom(memory) {
  const {host_bytes_per_node: used, host_capacity_bytes: capacity} = valueAt(memory);
  if (used === undefined) return null;
  return [hostCell(memory), capacity === undefined ? '' : [' of ', num(memory + '/host_capacity_bytes', 'bytes')], ' in host memory on the fullest node'];
}

/// `at`: where the report stands in the document.
function verdict(at) {
  const fits = valueAt(at + '/fits');
  const memory = at + '/memory', host = hostRoom(memory);
  return el('div', {class: 'verdict'},
    el('strong', {class: fits ? 'good' : 'bad'}, fits ? 'Fits' : 'Does not fit'),
    el('span', {}, num(memory + '/peak_memory_bytes', 'bytes'), ' of ',
       num(memory + '/capacity_bytes', 'bytes'), ' on the fullest rank, ', num(memory + '/rank'),
       ' (stage ', num(memory + '/stage'), '); ',
       ...(valueAt(memory + '/free_bytes') >= 0 ? [num(memory + '/free_bytes', 'bytes'), ' free'] : [num(memory + '/free_bytes', 'lack'), ' too much']),
       host ? ['; ', host] : ''));
}

/// Days of the whole training, and what part of them steps are.
function trainingTile(at) {
  if (valueAt(at) === undefined) return null;
  const part = ([key, title]) => (valueAt(at + key) > 0 ? [', ', title, ' ', num(at + key, 'duration')] : []);
  const price = valueAt(at + '/price') === undefined ? [] : [num(at + '/price', 'money'), ' in all; '];
  const energy = valueAt(at + '/energy_kwh') === undefined ? [] : [num(at + '/energy_kwh', 'energy'), ' at rated power; '];
  return tile('The whole training', num(at + '/total_s', 'duration'),
              [...price, ...energy, 'goodput ', num(at + '/goodput', 'percent'), ': steps ', num(at + '/steps_s', 'duration'),
               ...[['/lost_s', 'done again'], ['/restarts_s', 'restarts'], ['/checkpoints_s', 'checkpoints']].flatMap(part),
               '; ', num(at + '/failures', 'number'), ' failures; a checkpoint every ', num(at + '/checkpoint_interval_s', 'duration')]);
}

function reportTiles(at) {
  const priced = valueAt(at + '/price_per_step') !== undefined;
  return el('div', {class: 'tiles'},
    tile('Step time', num(at + '/step_time_s', 'time'),
         [num(at + '/step_time_s', 'least', at + '/provenance/band'), ' to ', num(at + '/step_time_s', 'most', at + '/provenance/band'),
          ', ±', num(at + '/provenance/band', 'percent'), ', holds 80 % of runs']),
    tile('MFU', num(at + '/mfu', 'percent'),
         ['of ', num(at + '/peak_flops_per_gpu_tflops', 'number'), ' TFLOP/s dense ',
          say(at + '/peak_flops_dtype'), '; HFU ', num(at + '/hfu', 'percent')]),
    tile('Tokens per second', num(at + '/tokens_per_s', 'rate'),
         [num(at + '/tokens_per_s_per_gpu', 'rate'), ' per GPU']),
    tile('Bound by', say(at + '/bound_by'),
         [num(at + '/model_tflops_per_gpu', 'number'), ' TFLOP/s per GPU for the model']),
    priced ? tile('Price of a step', num(at + '/price_per_step', 'money'),
                  [num(at + '/price_per_billion_tokens', 'money'), ' per 10⁹ tokens']) : null,
    trainingTile(at + '/training'));
}

/// The three hardware numbers that the step is most sensitive to.
function mostHelpful(at) {
  const matters = ([, line]) => line.step_time_change_for_10_percent <= -0.0005;
  const lines = Object.entries(valueAt(at + '/sensitivity') ?? {}).filter(matters).slice(0, 3);
  if (lines.length === 0) return el('p', {}, 'No single hardware number matters.');
  return el('ol', {class: 'plain'}, lines.map(([resource]) => el('li', {},
    tenPercent(resource) + ': ',
    num(at + '/sensitivity' + pointer(resource, 'step_time_change_for_10_percent'), 'change'),
    ' step time')));
}

const setWords = change => settingWords(Object.entries(change.set));

/// The three changes of the layout that save most, of those that were predicted.
function improvements() {
  const found = doc.changes_that_help, at = '/changes_that_help';
  if (!found) return null;
  const tried = el('p', {class: 'small soft'}, num(at + '/tried', 'count'), ' layouts that differ from this one in a single decision were predicted: ',
    num(at + '/planned', 'count'), ' can be planned, ', num(at + '/fit', 'count'), ' fit. The best of each decision stands here; plait search combines sizes, schedules and recomputation.');
  return [el('h3', {}, 'The changes of the layout that help most'),
    found.best.length === 0 ? el('p', {}, 'No single change of the layout makes the step faster.')
      : el('ol', {class: 'plain'}, found.best.map((change, k) => {
        const here = at + pointer('best', k);
        return el('li', {}, el('code', {}, setWords(change)), ': ', num(here + '/step_time_change', 'change'), ' step time (',
          num(here + '/step_time_s', 'time'), ', ', num(here + '/peak_memory_bytes', 'bytes'), ', bound by ', say(here + '/bound_by'), ')');
      })), tried];
}

/// What would make it fit, as far as the program found something.
function cures() {
  if (!doc.changes_that_fit) return null;
  const memory = doc.result.memory, lacksHost = memory.free_bytes >= 0 && memory.host_bytes_per_node > memory.host_capacity_bytes;
  return [el('h3', {}, 'Changes that make it fit'),
    doc.changes_that_fit.length === 0
      ? el('p', {}, `No small change of the layout makes it fit, nor two of them: plait search tries all layouts; else use ${lacksHost ? 'a processor with more memory (cluster.processor), or more nodes' : 'more or larger devices'}.`)
      : el('ul', {class: 'plain'}, doc.changes_that_fit.map((change, k) => el('li', {},
      el('code', {}, setWords(change)),
      ': ', num(pointer('changes_that_fit', k, 'step_time_s'), 'time'), ', ', num(pointer('changes_that_fit', k, 'peak_memory_bytes'), 'bytes'))))];
}

/// The fullest rank's memory in one bar, up to its capacity or what it would need.
function memoryBar(at) {
  const memory = valueAt(at + '/memory'), items = Object.entries(memory.items ?? {});
  const whole = Math.max(memory.capacity_bytes, memory.peak_memory_bytes);
  if (items.length === 0 || whole <= 0) return null;
  let reached = 0;
  const part = (name, bytes) => {
    const x = 1000 * reached / whole;
    reached += bytes;
    return svg('rect', {x, y: 0, width: 1000 * bytes / whole, height: 20, fill: colour(memoryColours[name] ?? 'grey')});
  };
  const known = items.filter(([key]) => memoryColours[key.replace(/_bytes$/, '')]);
  const rest = items.filter(entry => !known.includes(entry)).reduce((sum, [, bytes]) => sum + bytes, 0);
  const named = known.map(([key, bytes]) => [key.replace(/_bytes$/, ''), bytes]).concat([['overheads', rest]]);
  const end = 1000 * memory.capacity_bytes / whole, over = memory.peak_memory_bytes > memory.capacity_bytes;
  return el('figure', {}, svg('svg', {viewBox: '0 0 1000 20', preserveAspectRatio: 'none', width: '100%', height: 20,
      role: 'img', 'aria-label': named.map(([n, b]) => `${words(n)} ${formats.bytes(b)}`).join(', ')},
    svg('rect', {x: 0, y: 0, width: 1000, height: 20, fill: 'var(--track)'}), named.map(([n, b]) => part(n, b)),
    !over ? null : svg('rect', {x: end - 1.5, y: 0, width: 3, height: 20, fill: 'var(--ink)'})),
    legend(named.filter(([, b]) => b > 0).map(([n]) => [words(n), colour(memoryColours[n] ?? 'grey')])
      .concat(!over ? [['free', 'var(--track)']] : [['the line: capacity', 'var(--ink)']])));
}

function runAnswer() {
  const warnings = doc.result.run.warnings ?? [];
  return section('answer', 'The answer', verdict('/result'), memoryBar('/result'), reportTiles('/result'),
    cures(), improvements(), el('h3', {}, 'The changes of the machine that help most'), mostHelpful('/result'),
    warnings.length ? [el('h3', {}, 'Warnings'),
      el('ul', {class: 'plain'}, warnings.map(w => el('li', {}, w)))] : null);
}
