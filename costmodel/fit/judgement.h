#pragma once
// Gathers how far a fit is off, row by row: log(predicted / measured).

#include <cmath>
#include <string>
#include <utility>

#include "costmodel/fit/calibrate.h"

namespace plait {

class Judgement {
 public:
  explicit Judgement(std::string name) { sums_.name = std::move(name); }

  void add_fitted(double log_error) {
    ++sums_.fitted_rows;
    sums_.fitted_error += std::abs(log_error);
  }
  /// `words()` says which row it is.
  template <class Words>
  void add_held_out(double log_error, Words&& words) {
    const double error = std::abs(log_error);
    ++sums_.held_out_rows;
    sums_.held_out_error += error;
    if (error < sums_.worst_error) return;
    sums_.worst_error = error, sums_.worst = words();
  }
  FitQuality quality() const {
    FitQuality out = sums_;
    if (out.fitted_rows > 0) out.fitted_error /= static_cast<double>(out.fitted_rows);
    if (out.held_out_rows > 0) out.held_out_error /= static_cast<double>(out.held_out_rows);
    return out;
  }

 private:
  FitQuality sums_;  // the errors are sums and not yet means
};

}  // namespace plait
