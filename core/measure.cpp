#include "core/measure.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "core/split.h"

namespace plait {
namespace {

constexpr std::string_view kAround = " \t\"";

}  // namespace

std::optional<Measure> read_measure(std::string_view text) {
  const std::string_view body = trimmed(text, kAround);
  Measure out;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), out.number);
  if (error != std::errc() || !std::isfinite(out.number)) return std::nullopt;
  const std::string_view name =
      trimmed(body.substr(static_cast<std::size_t>(end - body.data())), kAround);
  if (name.empty()) return out;
  const std::array tables = {&unit_table<Bytes>(), &unit_table<BytesPerSecond>(),
                             &unit_table<FlopsPerSecond>(), &unit_table<Seconds>(),
                             &unit_table<Watts>()};
  for (const UnitTable* table : tables) {
    for (const UnitOfMeasure& unit : table->units) {
      if (unit.name == name) return Measure{out.number, unit, table->noun};
    }
  }
  return std::nullopt;
}

std::string to_text(const Measure& measure) {
  double number = measure.number;
  if (number != 0) {
    const double digits = std::floor(std::log10(std::abs(number))) - 2;
    const double step = std::pow(10.0, std::abs(digits));  // exact up to 10^22
    number = digits < 0 ? std::round(number * step) / step : std::round(number / step) * step;
  }
  const std::string gap = measure.unit.name.empty() ? "" : " ";
  return fmt::format("{}{}{}", number, gap, measure.unit.name);
}

}  // namespace plait
