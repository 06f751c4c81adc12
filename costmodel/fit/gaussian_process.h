#pragma once
// From what a form misses at measured sizes to the Gaussian process of it.

#include <cstddef>
#include <vector>

#include "costmodel/gaussian_process.h"

namespace plait {

struct Missed {
  std::vector<double> sizes;  // above zero
  double log_ratio = 0;       // log(measured / predicted)
};

/// Of fewer points nothing is told, and of fewer than enough only what tells each of them, left
/// out, better than the mean of the others does.
inline constexpr std::size_t kLeastMissed = 12, kEnoughMissed = 20;

/// The lengths, the scale and the noise are those under which the measured points are likeliest
/// (Rasmussen and Williams 2006, equation 5.8), found along one of them after the other. Of more
/// than 400 points the first 400; of too few none, which is zero everywhere.
GaussianProcess fit_gaussian_process(const std::vector<Missed>& missed);

}  // namespace plait
