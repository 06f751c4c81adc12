// The document of this page, and the places in it: "/result/step_time_s", as RFC 6901 has them.

const doc = JSON.parse(document.getElementById('plait-document').textContent);

const pointer = (...keys) =>
  keys.map(key => '/' + String(key).replaceAll('~', '~0').replaceAll('/', '~1')).join('');

function valueAt(path) {
  let value = doc;
  for (const key of path.split('/').slice(1)) {
    if (value === null || value === undefined) return undefined;
    value = value[key.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return value;
}
