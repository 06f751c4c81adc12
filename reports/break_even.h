#pragma once
// From which value on a knob no longer matters, and where something else begins to bound the step:
// searched on the predicted time f(v), of a step or of a whole training, over one knob, all others
// as they are.
//
//   range      from 1/8 of the smallest to 8 times the largest value asked for, in powers of two,
//              and the values themselves
//   better     the end of the range where f is smaller
//   unlimited  f at 1000 times the better end (a thousandth where less is better), or as far
//   towards
//              it as the scenario format allows
//   enough     the worst v such that f <= 1.01 f(unlimited) there and at all better values tried
//   bound      neighbouring values whose steps are bound by different things
//
// Both are found between two neighbours by bisection in log v, to half a percent. f need not be
// monotone (NCCL may choose another algorithm): then that is said, with the worst of it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace plait {

struct Sample {
  double value = 0;
  double time_s = 0;
  std::string bound;  // of its step
};

/// The step at one value of the knob; nothing where there is none.
using Probe = std::function<std::optional<Sample>(double value)>;

struct BreakEven {
  enum class Kind : std::uint8_t {
    kNoEffect,     // f changes by less than 1 % from `low` to `high`
    kEnough,       // beyond `at` the knob no longer matters
    kBound,        // `below` bounds the step below `at`, `above` above
    kNotMonotone,  // f is `rise` longer at the better one of `low` and `high`
  };
  Kind kind = Kind::kNoEffect;
  bool more_is_better = true;
  double at = 0;
  double low = 0, high = 0;
  double rise = 0;  // 0.01: 1 %
  std::string below = {}, above = {};
};

/// `values`: those asked for; only positive ones count. Nothing when fewer than two probes succeed.
std::vector<BreakEven> break_evens(const std::vector<double>& values, const Probe& probe);

/// The value between `low` and `high` (both positive) where `holds` changes, given that it differs
/// at the two: by bisection in log v to half a percent.
double change_between(double low, double high, const std::function<bool(double)>& holds);

}  // namespace plait
