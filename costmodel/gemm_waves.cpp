#include <algorithm>
#include <cmath>

#include "costmodel/gemm_fits.h"

namespace plait {
namespace {

// Splits of k that kernels are found with, each at least kLeastSplit long; adding up the partial
// sums of 4 bytes is a second kernel.
constexpr std::array<double, 6> kSplits = {1, 2, 3, 4, 8, 16};
constexpr double kLeastSplit = 256;
constexpr Seconds kSecondKernel(2.3e-6);  // as on the GPU that was measured
// With so many tiles for each multiprocessor nothing is split.
constexpr double kPlenty = 4;

struct Sizes {
  double batch, m, n, k;
  explicit Sizes(const MatMul& op)
      : batch(static_cast<double>(op.batch)),
        m(static_cast<double>(op.m)),
        n(static_cast<double>(op.n)),
        k(static_cast<double>(op.k)) {}
};

double tiles_of(const Sizes& s, Tile t, RowCounts rows) {
  const auto along_m = [&](double side) {
    return rows == RowCounts::kChosen ? expected_tiles(s.m, side) : std::ceil(s.m / side);
  };
  return s.batch * std::min(along_m(t.rows) * std::ceil(s.n / t.columns),
                            along_m(t.columns) * std::ceil(s.n / t.rows));
}

struct Candidate {
  double compute = 0, sums = 0;  // seconds
  bool split = false;
  double total = INFINITY;
};

class TileChoice {
 public:
  TileChoice(const TiledGemm& fit, const MatMul& op, const Device& device, RowCounts rows)
      : fit_(fit),
        sizes_(op),
        rows_(rows),
        sms_(device.sms),
        rate_(fit.flops * device.peak(op.in).value / sms_),
        memory_((memory_traffic(op) / (device.memory_bandwidth * fit.bandwidth)).value),
        partial_(8 * sizes_.batch * sizes_.m * sizes_.n /
                 (fit.sums_bandwidth * device.memory_bandwidth.value)),
        second_kernel_(fixed_time(device, kSecondKernel).value) {
    const double fed = std::max(rate_, fit.flops * fit.multiprocessor * 1e12);
    consider(kTiles[0], rate_);
    for (std::size_t i = 1; i < kTiles.size(); ++i)
      consider(kTiles[i], std::min(rate_, fit.tile[i - 1] * fed));
  }
  const Sizes& sizes() const { return sizes_; }
  double memory() const { return memory_; }
  const Candidate& best() const { return best_; }

 private:
  /// `rate` FLOP/s of one multiprocessor.
  void consider(Tile tile, double rate) {
    const double tiles = tiles_of(sizes_, tile, rows_) / sms_;
    const double column = 2 * tile.rows * tile.columns / rate;
    for (double splits : kSplits) {
      if (splits > 1 && (sizes_.k < kLeastSplit * splits || tiles >= kPlenty)) break;
      const double x = tiles * splits, q = fit_.whole_waves;
      const double waves = q * std::ceil(x) + (1 - q) * std::max(x, 1.0);
      Candidate c{.compute = waves * column * (sizes_.k / splits + fit_.prologue),
                  .sums = splits > 1 ? partial_ * splits : 0,
                  .split = splits > 1};
      const double after = c.sums + (c.split ? second_kernel_ : 0);
      if (std::max(c.compute, memory_) + after >= best_.total) continue;  // spares the root
      c.total = overlapped(c.compute, memory_) + after;
      if (c.total < best_.total) best_ = c;
    }
  }

  const TiledGemm& fit_;
  Sizes sizes_;
  RowCounts rows_;
  double sms_, rate_, memory_, partial_;
  double second_kernel_;  // seconds, on this device
  Candidate best_;
};

}  // namespace

double expected_tiles(double m, double side) {
  constexpr double kMany = 16;
  if (m > kMany * side) return m / side + 0.5;
  double tiles = 1, tail = 1;
  for (double j = 1; tail > 1e-3 || j * side < m; ++j) {
    tail = 0.5 * std::erfc((j * side + 0.5 - m) / std::sqrt(2 * m));
    tiles += tail;
  }
  return tiles;
}

KernelTime tiled_time(const TiledGemm& fit, const MatMul& op, const Device& device,
                      RowCounts rows) {
  const TileChoice choice(fit, op, device, rows);
  const Sizes& s = choice.sizes();
  const Candidate& best = choice.best();
  const double teraflops = 2 * s.batch * s.m * s.n * s.k / 1e12;
  const double throttle = 1 + fit.throttle * teraflops / (teraflops + fit.throttle_teraflops);
  const Seconds second = best.split ? kSecondKernel : Seconds();
  const KernelTime time = overlapped(second, Seconds(best.compute), Seconds(choice.memory()));
  return {Seconds(fit.fixed_us * 1e-6) + throttle * time.fixed, throttle * time.compute,
          throttle * (time.memory + Seconds(best.sums))};
}

}  // namespace plait
