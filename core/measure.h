#pragma once
// A quantity whose kind is not known beforehand, in the unit that somebody wrote it in.

#include <optional>
#include <string_view>

#include "core/units.h"

namespace plait {

struct Measure {
  double number = 0;             // in `unit`
  UnitOfMeasure unit = {"", 1};  // a plain number has no name
  std::string_view noun = {};    // "a bandwidth"; a plain number has none

  double base() const { return number * unit.scale; }
  bool same_kind(const Measure& other) const { return noun == other.noun; }
};

/// "100 Gbit/s", "0.5", with or without quotes; nothing for any other text.
std::optional<Measure> read_measure(std::string_view text);

/// The number at three significant digits without trailing zeros, from 1e16 on and below 1e-4 with
/// an exponent, and the unit.
std::string to_text(const Measure& measure);

}  // namespace plait
