// Numbers for people: three significant digits and the unit that fits, the same as in the text
// reports (reports/human.h). Each takes the number and, where it is a share, what it is a share of.

/// toFixed, but halves go to the even digit, as they do in the text reports. Only multiples of a
/// power of two can be halves.
function fixed(v, digits) {
  const scaled = v * 10 ** digits;
  const isHalf = Number.isInteger(v * 2 ** (digits + 1)) && Math.abs(scaled % 1) === 0.5;
  return (isHalf ? 2 * Math.round(scaled / 2) / 10 ** digits : v).toFixed(digits);
}

function threeDigits(v) {
  const magnitude = Math.abs(v);
  if (magnitude >= 99.95) return fixed(v, 0);
  return fixed(v, magnitude >= 9.995 ? 1 : 2);
}

function withPrefix(v, least, step, units) {
  let unit = 0;
  while (Math.abs(v) >= least && unit + 1 < units.length) v /= step, ++unit;
  return [v, units[unit]];
}

const formats = {
  count: n => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ','),
  time(seconds) {
    const magnitude = Math.abs(seconds);
    if (magnitude === 0) return '0 s';
    if (magnitude >= 0.9995) return threeDigits(seconds) + ' s';
    if (magnitude >= 0.9995e-3) return threeDigits(seconds * 1e3) + ' ms';
    if (magnitude >= 0.9995e-6) return threeDigits(seconds * 1e6) + ' us';
    return threeDigits(seconds * 1e9) + ' ns';
  },
  duration(seconds) {
    if (seconds < 120) return formats.time(seconds);
    if (seconds < 7200) return threeDigits(seconds / 60) + ' min';
    if (seconds < 172800) return threeDigits(seconds / 3600) + ' h';
    return threeDigits(seconds / 86400) + ' days';
  },
  bytes(n) {
    if (Math.abs(n) < 1024) return fixed(n, 0) + ' B';
    const [v, unit] = withPrefix(n / 1024, 1023.95, 1024, ['KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
    return fixed(v, 1) + ' ' + unit;
  },
  lack: n => formats.bytes(-n),
  rate(n) {
    const [v, unit] = withPrefix(n, 999.5, 1000, ['', ' k', ' M', ' G', ' T', ' P', ' E', ' Z']);
    return threeDigits(v) + unit;
  },
  energy: kwh => formats.rate(1000 * kwh).replace(/\d$/, '$& ') + 'Wh',
  bandwidth(n) {
    const [v, unit] = withPrefix(n, 999.5, 1000, [' B/s', ' kB/s', ' MB/s', ' GB/s', ' TB/s']);
    return threeDigits(v) + unit;
  },
  percent: fraction => fixed(fraction * 100, 1) + ' %',
  change(fraction) {
    const percent = Math.abs(fraction * 100) < 0.05 ? 0 : fraction * 100;
    return (percent > 0 ? '+' : '') + fixed(percent, 1) + ' %';
  },
  share: (n, whole) => fixed(whole > 0 ? n / whole * 100 : 0, 1) + ' %',
  number: n => threeDigits(n),
  // Of a step, the mean over several.
  calls: n => (Number.isInteger(n) ? formats.count(n) : threeDigits(n)),
  /// In whatever currency: 0.01505, 50.72, 23,789,423.
  money(n) {
    const magnitude = Math.abs(n);
    if (magnitude >= 999.5) return formats.count(n);
    return magnitude === 0 ? '0' : n.toFixed(3 - Math.floor(Math.log10(magnitude)));
  },
  /// The ends of a band around a time: it is as often too long as too short by the same factor.
  least: (seconds, band) => formats.time(seconds / (1 + band)),
  most: (seconds, band) => formats.time(seconds * (1 + band)),
  exact: n => String(n),
  yes: is => (is ? 'yes' : 'no'),
  text: String,
};

/// "exposed_communication" -> "exposed communication"
const words = identifier => String(identifier).replaceAll('_', ' ');

/// What a hardware number would have to do: "10 % more nvlink bandwidth".
function tenPercent(resource) {
  if (resource === 'peak_flops') return '10 % more peak FLOP/s';
  return `10 % ${resource.endsWith('_bandwidth') ? 'more' : 'less'} ${words(resource)}`;
}
