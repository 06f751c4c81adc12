#include "kernels/nf4.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "core/quantity.h"

namespace plait::kernels {
namespace {

constexpr std::int64_t kNf4Weights = 64, kNestedScales = 256;  // of a block

/// QLoRA, appendix E.
constexpr std::array<double, 16> kNf4Numbers = {
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
};

std::vector<double> dynamic_numbers() {
  std::vector<double> out = {0, 1};
  for (int e = 0; e <= 6; ++e) {
    const int parts = 1 << e;
    for (int i = 0; i < parts; ++i) {
      const double middle = 0.1 + 0.9 * (i + 0.5) / parts;
      for (const double sign : {-1.0, 1.0}) out.push_back(sign * middle * std::pow(10.0, e - 6));
    }
  }
  std::ranges::sort(out);
  return out;
}

/// Of ascending ones; the lower of two that are as near.
double nearest(std::span<const double> numbers, double x) {
  const auto above = std::ranges::lower_bound(numbers, x);
  if (above == numbers.begin()) return numbers.front();
  if (above == numbers.end()) return numbers.back();
  const double below = *(above - 1);
  return x - below <= *above - x ? below : *above;
}

/// Codes of block after block, each divided by its largest magnitude.
void quantize_blocks(double* codes, double* scales, const double* x, std::int64_t n,
                     std::int64_t block, std::span<const double> numbers) {
  for (std::int64_t first = 0; first < n; first += block) {
    const std::int64_t end = std::min(n, first + block);
    double largest = 0;
    for (std::int64_t i = first; i < end; ++i) largest = std::max(largest, std::abs(x[i]));
    scales[first / block] = largest;
    for (std::int64_t i = first; i < end; ++i)
      codes[i] = largest > 0 ? nearest(numbers, x[i] / largest) : 0;
  }
}

}  // namespace

void quantize_nf4(double* codes, double* scales, const double* x, std::int64_t n) {
  quantize_blocks(codes, scales, x, n, kNf4Weights, kNf4Numbers);
}

void quantize_scales(double* codes, double* nested, const double* scales, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += scales[i];
  const double mean = sum / static_cast<double>(n);
  std::vector<double> above(scales, scales + n);
  for (double& x : above) x -= mean;
  quantize_blocks(codes, nested, above.data(), n, kNestedScales, dynamic_numbers());
  nested[ceil_div(n, kNestedScales)] = mean;
}

template <class T>
void dequantize_nf4(T* out, const T* codes, const T* scales, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = codes[i] * scales[i / kNf4Weights];
}

template <class T>
void dequantize_scales(T* scales, const T* codes, const T* nested, std::int64_t n) {
  const T mean = nested[ceil_div(n, kNestedScales)];
  for (std::int64_t i = 0; i < n; ++i) scales[i] = codes[i] * nested[i / kNestedScales] + mean;
}

template void dequantize_nf4(float*, const float*, const float*, std::int64_t);
template void dequantize_nf4(double*, const double*, const double*, std::int64_t);
template void dequantize_scales(float*, const float*, const float*, std::int64_t);
template void dequantize_scales(double*, const double*, const double*, std::int64_t);

}  // namespace plait::kernels
