#pragma once
// Measured constants of matrix products on GPUs, by generation and element type. A product is cut
// into tiles, which the multiprocessors work off in waves; k may be split among them:
//   t = t0 + (1 + c F / (F + F0)) min over tiles and splits s of  (C^3 + M^3)^(1/3) + S
//   C = w(s tiles / SMs) 2 tm tn (k / s + k0) / (e min(P / SMs, r max(P / SMs, P_0)))
//   w(x) = q ceil(x) + (1 - q) max(x, 1)
//   M = B / (b BW)
//   S = 0 if s = 1, else 2.3 us + 8 s m n batch / (b_S BW), the partial sums
// with F = 2 m n k batch, B every operand once. q is 1 where whole waves are waited for and 0 where
// the last one is shared out (stream-K, Osama et al. 2023); r is the rate of a tile relative to the
// largest, where a multiprocessor's peak is the P_0 of the GPU that was measured: what makes small
// tiles slow is not the multiplying but the feeding, which slower units wait for less. k0 is what
// filling and draining a tile's pipeline costs; c is what the clock loses in long kernels. Which
// data, which rows: tests/costmodel/fit/gemm.h.

#include <array>
#include <cstdint>

#include "costmodel/efficiency.h"
#include "model/op.h"

namespace plait {

/// Sides of the tiles that the model chooses among, in elements; either side may lie along m.
struct Tile {
  double rows, columns;
};
inline constexpr std::array<Tile, 5> kTiles = {
    {{256, 128}, {128, 128}, {128, 64}, {64, 64}, {64, 32}}};

/// P_0 of A100, H100 and B200 in 16 bits, TFLOP/s (data sheets). Volta's kernels do not copy to
/// shared memory while they multiply, so that its own peak takes their place.
inline constexpr double kVoltaUnit = 125.0 / 80, kAmpereUnit = 312.0 / 108,
                        kHopperUnit = 989.4 / 132, kBlackwellUnit = 2250.0 / 148;

struct TiledGemm {
  double multiprocessor;       // P_0, TFLOP/s
  double flops;                // e
  double bandwidth;            // b
  double prologue;             // k0, elements of k
  double whole_waves;          // q
  double throttle;             // c
  double throttle_teraflops;   // F0
  std::array<double, 4> tile;  // r of kTiles[1] and on
  double sums_bandwidth;       // b_S: may exceed 1, of the L2 cache
  double fixed_us;             // t0
};

/// nullptr where the device is no GPU or the number of its multiprocessors is not known.
/// `weights`: narrow ones are widened on the way into the tiles by kernels of their own.
const TiledGemm* tiled_gemm(const Device& device, DType dtype,
                            WeightFormat weights = WeightFormat::kPlain);
/// Of these constants on this device: fitted where it was measured, else by its data sheet.
Quality tiled_quality(const Device& device, DType dtype,
                      WeightFormat weights = WeightFormat::kPlain);

/// How many rows each matrix of a batch has.
enum class RowCounts : std::uint8_t {
  kEven,    // m each
  kChosen,  // m in the mean: tokens choose theirs one by one
};
/// Tiles of `side` rows along a matrix of `m` rows in the mean, of which it has at least one. Its
/// rows beyond j tiles: the tail of a normal distribution of mean and variance m.
double expected_tiles(double m, double side);
/// The formulas above. Of chosen rows the tiles of a matrix are as many as are expected where their
/// number is Poisson's: half a tile more than m / tm where there are many.
KernelTime tiled_time(const TiledGemm& fit, const MatMul& op, const Device& device,
                      RowCounts rows = RowCounts::kEven);

}  // namespace plait
