#include "core/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/spelling.h"
#include "core/split.h"

namespace plait {
namespace {

constexpr double kKi = 1024.0, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;

// "shown" units first, ascending: binary for sizes of memory, SI for rates.
constexpr UnitOfMeasure kByteUnits[] = {{"B", 1},     {"KiB", kKi}, {"MiB", kMi}, {"GiB", kGi},
                                        {"TiB", kTi}, {"kB", 1e3},  {"KB", 1e3},  {"MB", 1e6},
                                        {"GB", 1e9},  {"TB", 1e12}};
constexpr UnitOfMeasure kBandwidthUnits[] = {
    {"B/s", 1},        {"kB/s", 1e3},     {"MB/s", 1e6},    {"GB/s", 1e9},   {"TB/s", 1e12},
    {"KB/s", 1e3},     {"KiB/s", kKi},    {"MiB/s", kMi},   {"GiB/s", kGi},  {"TiB/s", kTi},
    {"bps", 0.125},    {"kbps", 125},     {"Mbps", 125e3},  {"Gbps", 125e6}, {"Tbps", 125e9},
    {"b/s", 0.125},    {"kb/s", 125},     {"Mb/s", 125e3},  {"Gb/s", 125e6}, {"Tb/s", 125e9},
    {"Mbit/s", 125e3}, {"Gbit/s", 125e6}, {"Tbit/s", 125e9}};
constexpr UnitOfMeasure kFlopsUnits[] = {
    {"FLOP/s", 1},     {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15},
    {"EFLOP/s", 1e18}, {"MFLOPS", 1e6},  {"GFLOPS", 1e9},  {"TFLOPS", 1e12},  {"PFLOPS", 1e15}};
constexpr UnitOfMeasure kTimeUnits[] = {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6},
                                        {"ms", 1e-3},  {"s", 1},     {"µs", 1e-6},
                                        {"min", 60},   {"h", 3600},  {"d", 86400}};
constexpr UnitOfMeasure kPowerUnits[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}};

constexpr UnitTable kBytes{"a size", "80 GiB", kByteUnits, 5};
constexpr UnitTable kBandwidth{"a bandwidth", "450 GB/s", kBandwidthUnits, 5};
constexpr UnitTable kFlops{"a compute rate", "989.4 TFLOP/s", kFlopsUnits, 6};
constexpr UnitTable kTime{"a time", "2 us", kTimeUnits, 5};
constexpr UnitTable kPower{"a power", "700 W", kPowerUnits, 3};

std::string expectation(const UnitTable& table) {
  return fmt::format("{} with its unit, such as \"{}\"", table.noun, table.example);
}

/// Units that differ from `name` in case only mean something else (Gb, GB), so both are offered.
std::string unit_cure(std::string_view name, const UnitTable& table) {
  std::vector<std::string> names, same;
  for (const UnitOfMeasure& u : table.units) {
    names.emplace_back(u.name);
    if (lower_case(u.name) == lower_case(name)) same.push_back(fmt::format("\"{}\"", u.name));
  }
  if (!same.empty()) return fmt::format("write {}", fmt::join(same, " or "));
  const std::string near = nearest(name, names);
  if (!near.empty()) return fmt::format("did you mean \"{}\"?", near);
  return fmt::format("use one of {}", fmt::join(names, ", "));
}

/// Three significant digits, but at most two decimals; never in exponent form.
std::string three_digits(double v) {
  const double size = std::abs(v);
  return fmt::format("{:.{}f}", v, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

const UnitOfMeasure& base_unit(const UnitTable& table) {
  return *std::ranges::find(table.units, 1.0, &UnitOfMeasure::scale);
}

std::string human(double value, const UnitTable& table) {
  if (value == 0) return fmt::format("0 {}", base_unit(table).name);
  // A value that rounds up to 1000 of one unit is 1 of the next.
  std::size_t i = 0;
  while (i + 1 < table.shown && std::abs(value) >= 0.9995 * table.units[i + 1].scale) ++i;
  return fmt::format("{} {}", three_digits(value / table.units[i].scale), table.units[i].name);
}

}  // namespace

template <>
const UnitTable& unit_table<Bytes>() {
  return kBytes;
}
template <>
const UnitTable& unit_table<BytesPerSecond>() {
  return kBandwidth;
}
template <>
const UnitTable& unit_table<FlopsPerSecond>() {
  return kFlops;
}
template <>
const UnitTable& unit_table<Seconds>() {
  return kTime;
}
template <>
const UnitTable& unit_table<Watts>() {
  return kPower;
}

double parse_amount(std::string_view text, const UnitTable& table, const Where& where) {
  const std::string_view body = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
  const std::string quoted = fmt::format("\"{}\"", text.substr(0, 40));
  if (error != std::errc() || !std::isfinite(value)) {
    throw InputError({.code = "U003",
                      .problem = fmt::format("{} does not begin with a finite number", quoted),
                      .where = where,
                      .expected = expectation(table),
                      .cure = fmt::format("write it as \"{}\"", table.example)});
  }
  const std::string_view name = trimmed(body.substr(static_cast<std::size_t>(end - body.data())));
  const auto unit = std::ranges::find(table.units, name, &UnitOfMeasure::name);
  if (unit != table.units.end()) return value * unit->scale;
  throw InputError({.code = name.empty() ? "U001" : "U002",
                    .problem = name.empty() ? fmt::format("{} has no unit", quoted)
                                            : fmt::format("{} has an unknown unit", quoted),
                    .where = where,
                    .expected = expectation(table),
                    .cure = name.empty()
                                ? fmt::format("write the unit, as in \"{}\"", table.example)
                                : unit_cure(name, table)});
}

template <>
Bytes parse_quantity<Bytes>(std::string_view text, const Where& where) {
  const double value = std::round(parse_amount(text, kBytes, where));
  constexpr double kLargest = 1125899906842624.0;  // 2^50: thousands of such can be added up
  if (std::abs(value) > kLargest) {
    throw InputError({.code = "U004",
                      .problem = fmt::format("\"{}\" is too large", text),
                      .where = where,
                      .expected = "at most 1024 TiB"});
  }
  return Bytes(static_cast<std::int64_t>(value));
}

std::string exact_text(double value, const UnitTable& table) {
  for (std::size_t i = table.shown; i-- > 0;) {
    const UnitOfMeasure& unit = table.units[i];
    const double scaled = value / unit.scale;
    const bool readable = std::abs(scaled) >= 1 && std::abs(scaled) < 1e6;
    const std::string text = fmt::format("{}", scaled);
    // Short enough and exact: dividing and multiplying must not have lost a bit.
    if (readable && scaled * unit.scale == value && text.size() <= 8) {
      return fmt::format("{} {}", text, unit.name);
    }
  }
  return fmt::format("{} {}", value, base_unit(table).name);
}

std::string to_text(Bytes bytes) {
  if (bytes.value > -1024 && bytes.value < 1024) return fmt::format("{} B", bytes.value);
  return human(static_cast<double>(bytes.value), kBytes);
}
std::string to_text(Seconds time) { return human(time.value, kTime); }
std::string to_text(BytesPerSecond rate) { return human(rate.value, kBandwidth); }
std::string to_text(FlopsPerSecond rate) { return human(rate.value, kFlops); }
std::string to_text(Watts power) { return human(power.value, kPower); }

}  // namespace plait
