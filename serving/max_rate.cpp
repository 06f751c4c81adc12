#include "serving/max_rate.h"

#include <algorithm>
#include <cmath>

namespace plait {
namespace {

/// Asks whether rates attain, and keeps the interval between the answers.
class Bracket {
 public:
  explicit Bracket(const std::function<bool(double)>& attains) : attains_(attains) {}
  bool ask(double rate) {
    ++out_.runs;
    const bool yes = attains_(rate);
    (yes ? out_.rate_per_s : out_.missed_per_s) = rate;
    return yes;
  }
  void bisect() {
    while (out_.missed_per_s > out_.rate_per_s * (1 + kRateWidth)) {
      const double between = rounded_rate(std::sqrt(out_.rate_per_s * out_.missed_per_s));
      if (between <= out_.rate_per_s || between >= out_.missed_per_s) return;
      ask(between);
    }
  }
  const MaxRate& found() const { return out_; }

 private:
  const std::function<bool(double)>& attains_;
  MaxRate out_;
};

}  // namespace

double rounded_rate(double rate) {
  constexpr int kDigits = 3;
  const double unit = std::pow(10, std::floor(std::log10(rate)) - (kDigits - 1));
  // A unit below 1 is 1 over a whole number: dividing by that gives the shortest digits.
  return unit < 1 ? std::round(rate / unit) / std::round(1 / unit) : std::round(rate / unit) * unit;
}

MaxRate max_rate(double from, const std::function<bool(double)>& attains, double least) {
  Bracket bracket(attains);
  const double first = rounded_rate(from);
  const bool up = bracket.ask(first);
  const double factor = up ? 2 : 0.5;
  const double lowest = std::max(first / kRateRange, least);
  bool turned = false;
  for (double r = first * factor; !turned && r <= first * kRateRange && r >= lowest; r *= factor) {
    turned = bracket.ask(rounded_rate(r)) != up;
  }
  if (turned) bracket.bisect();
  return bracket.found();
}

}  // namespace plait
