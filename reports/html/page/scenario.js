// What was asked, where the numbers come from, and how to get this page again.

function provenanceFacts(at) {
  const p = valueAt(at + '/provenance');
  if (!p) return null;
  const kinds = ['measured', 'fitted', 'datasheet', 'extrapolated'];
  const tones = {measured: 'green', fitted: 'blue', datasheet: 'orange', extrapolated: 'red'};
  let reached = 0;
  const bar = svg('svg', {viewBox: '0 0 1000 14', preserveAspectRatio: 'none', width: '100%', height: 14, 'aria-hidden': 'true'},
    kinds.map(kind => {
      const part = svg('rect', {x: 1000 * reached, y: 0, width: 1000 * p[kind], height: 14, fill: colour(tones[kind])});
      reached += p[kind];
      return part;
    }));
  return [el('h3', {}, 'Where the durations come from'), el('figure', {}, bar),
    el('ul', {class: 'legend'}, kinds.map(kind => el('li', {},
      svg('svg', {'aria-hidden': 'true', viewBox: '0 0 14 14'}, svg('rect', {x: 1, y: 1, width: 12, height: 12, rx: 3, fill: colour(tones[kind])})),
      kind, ' ', num(at + pointer('provenance', kind), 'percent')))),
    el('p', {class: 'small soft'}, 'Shares of the time of kernels and collectives. The band of the step time that is to hold 80 % of runs: ±',
       num(at + '/provenance/band', 'percent'), ', from ', num(at + '/step_time_s', 'least', at + '/provenance/band'), ' to ', num(at + '/step_time_s', 'most', at + '/provenance/band'), '.')];
}

function scenarioSection(at) {
  const run = at === undefined ? undefined : valueAt(at + '/run');
  const command = doc.command;
  const facts = [['Program', `plait ${doc.version}${run?.revision ? ', ' + run.revision : ''}`],
                 ['Scenario', run?.scenario_sha256 ? el('code', {}, 'sha256 ' + run.scenario_sha256) : null]];
  return section('scenario', 'Scenario and provenance',
    el('h3', {}, 'The command that makes this page'),
    el('pre', {class: 'command', tabindex: '0', 'aria-label': 'Command'}, command),
    el('div', {class: 'controls'}, copyButton(command)),
    el('dl', {class: 'facts'}, facts.filter(([, v]) => v).map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])),
    at === undefined ? null : provenanceFacts(at),
    doc.scenario ? details('The scenario as it was resolved', copyable(JSON.stringify(doc.scenario, null, 2))) : null,
    details('The result as JSON', copyable(JSON.stringify(doc.result, null, 2))));
}

const copyable = text => [el('div', {class: 'controls'}, copyButton(text)),
                          el('pre', {tabindex: '0'}, text)];
