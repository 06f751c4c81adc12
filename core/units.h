#pragma once
// Quantities as people write them: "450 GB/s", "400 Gbps", "80 GiB", "2 us", "989.4 TFLOP/s". The
// unit is mandatory. SI prefixes are powers of 1000 and binary ones (KiB, MiB, GiB, TiB) powers of
// 1024; B is byte and b is bit. Bandwidths are per direction.

#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"

namespace plait {

struct UnitOfMeasure {
  std::string_view name;
  double scale;  // of the SI base unit (bytes, bytes per second, FLOP per second, seconds, watts)
};

/// The units of one quantity. The first `shown` are those used for output, ascending; the rest are
/// other spellings.
struct UnitTable {
  std::string_view noun;     // "a size"
  std::string_view example;  // "80 GiB"
  std::span<const UnitOfMeasure> units;
  std::size_t shown;
};

template <class Q>
const UnitTable& unit_table();
template <>
const UnitTable& unit_table<Bytes>();
template <>
const UnitTable& unit_table<BytesPerSecond>();
template <>
const UnitTable& unit_table<FlopsPerSecond>();
template <>
const UnitTable& unit_table<Seconds>();
template <>
const UnitTable& unit_table<Watts>();

/// The value in base units. Throws InputError U001 (no unit), U002 (unknown unit), U003 (no
/// number).
double parse_amount(std::string_view text, const UnitTable& table, const Where& where);

template <class Q>
Q parse_quantity(std::string_view text, const Where& where = {}) {
  return Q(parse_amount(text, unit_table<Q>(), where));
}
/// Rounded to the nearest byte; U004 above 2^50.
template <>
Bytes parse_quantity<Bytes>(std::string_view text, const Where& where);

/// Text that reads back as exactly this value: "450 GB/s", "26214400 B" as "25 MiB".
std::string exact_text(double value, const UnitTable& table);
template <class Q>
std::string exact_text(Q q) {
  return exact_text(static_cast<double>(q.value), unit_table<Q>());
}

// For people, three significant digits: "79.1 GiB", "8.91 s", "1.23 ms", "450 GB/s", "989 TFLOP/s".
std::string to_text(Bytes bytes);
std::string to_text(Seconds time);
std::string to_text(BytesPerSecond rate);
std::string to_text(FlopsPerSecond rate);
std::string to_text(Watts power);

}  // namespace plait
