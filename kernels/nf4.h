#pragma once
// Numbers in NF4, as codes for 16 numbers of which as many normal ones are nearest to each
// (Dettmers et al. 2023, QLoRA, arXiv 2305.14314, section 3 and appendix E), with a scale for each
// block of 64, and those scales in 8 bits. With m the largest magnitude of a block,
//   code = nearest of the 16 to x / m          x' = code m
// and of the scales m, with a their mean and M the largest magnitude of m - a among 256 of them,
//   code = nearest of the 256 to (m - a) / M   m' = code M + a
// The 256 numbers of the latter are those of dynamic tree quantisation (Dettmers 2015, arXiv
// 1511.04561; bitsandbytes, create_dynamic_map): 0, 1, and for e = 0 .. 6 of both signs 10^(e - 6)
// times the middles of the 2^e equal parts of [0.1, 1]. Codes stand here as the numbers that they
// are codes for.

#include <cstdint>

namespace plait::kernels {

/// codes[n], scales[ceil(n / 64)] of x[n].
void quantize_nf4(double* codes, double* scales, const double* x, std::int64_t n);
/// codes[n] and nested[ceil(n / 256) + 1], of which the last is the mean, of scales[n].
void quantize_scales(double* codes, double* nested, const double* scales, std::int64_t n);

/// out[n] of codes[n], scales[ceil(n / 64)].
template <class T>
void dequantize_nf4(T* out, const T* codes, const T* scales, std::int64_t n);
/// scales[n] of codes[n], nested[ceil(n / 256) + 1].
template <class T>
void dequantize_scales(T* scales, const T* codes, const T* nested, std::int64_t n);

}  // namespace plait::kernels
