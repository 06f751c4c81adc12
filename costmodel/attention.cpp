#include <algorithm>
#include <cmath>
#include <limits>

#include "costmodel/attention_fits.h"
#include "costmodel/decode_attention.h"
#include "costmodel/efficiency.h"
#include "costmodel/kernels.h"
#include "costmodel/scores.h"

namespace plait {
namespace {

// FlashAttention backward runs 5 products where forward runs 2, and sums dQ in 4 bytes, which are
// set to zero, added to and converted (Dao 2023, algorithm 2).
constexpr double kBackwardFlops = 2.5, kSumBytes = 12;
constexpr double kTile = kFlashTile;
// Wider keys leave the backward pass smaller tiles: it keeps more operands on the chip.
constexpr std::int64_t kWide = 128;

bool is_backward(Pass pass) { return pass != Pass::kForward; }

/// Head dimension that kernels exist for.
double padded(std::int64_t head_dim, double narrow_width) {
  for (double d : {64., 96., 128., 192., 256.})
    if (static_cast<double>(head_dim) <= d) return d == 96 ? narrow_width : d;
  return static_cast<double>(head_dim);
}

/// Of a fused kernel's products, the mean of their columns: half of those of the forward pass and
/// three of five of the backward pass are as wide as keys, the others as values.
double mean_width(const AttentionFit& fit, const Attention& op) {
  const double keys = padded(op.head_dim, fit.narrow_width);
  const double values = padded(op.v_dim(), fit.narrow_width);
  return is_backward(op.pass) ? (3 * keys + 2 * values) / 5 : (keys + values) / 2;
}

/// first + (first + 1) + ..., `n` numbers of which none exceeds `most`.
double capped_sum(double first, double n, double most) {
  const double rising = std::clamp(most - first + 1, 0.0, n);
  return rising * (2 * first + rising - 1) / 2 + (n - rising) * most;
}

/// Keys that the tiles of one head visit, and the longest of them; a causal mask is aligned to the
/// last key. Within a window a tile starts with the block that has the first key of its first query
/// (n_block_min of FlashAttention's hopper/block.h).
struct Visits {
  double tiles, keys, longest;
  explicit Visits(const Attention& op)
      : tiles(std::ceil(static_cast<double>(op.seq_q) / kTile)),
        longest(kTile * std::ceil(static_cast<double>(op.seq_kv) / kTile)) {
    keys = tiles * longest;
    if (!op.causal) return;
    if (op.documents.count > 0) {
      of_documents(op);
      return;
    }
    if (op.windowed()) {
      of_window(op);
      return;
    }
    if (op.balanced) {  // chunks i and 2 cp - 1 - i: the same number for all i
      keys = tiles * (longest + kTile) / 2;
      return;
    }
    const double masked =
        std::min(tiles, longest / kTile) - 1;  // keys of tile i: longest - i tiles
    keys -= kTile * masked * (masked + 1) / 2 + (tiles - 1 - masked) * longest;
  }

 private:
  /// Blocks that a tile visits at most: the diagonal one and those before it with a key of a
  /// window.
  static double most_blocks(const Attention& op) {
    if (op.window == 0) return std::numeric_limits<double>::max();
    return 1 + std::ceil(static_cast<double>(op.window - 1) / kTile);
  }
  /// Without one, tile i from 1 would visit i blocks. Queries are the last ones, or, balanced, as
  /// those that see the most, the ones in the middle.
  void of_window(const Attention& op) {
    const double before = std::max(longest / kTile - tiles, 0.0) / (op.balanced ? 2 : 1);
    keys = kTile * capped_sum(before + 1, tiles, most_blocks(op));
    longest = kTile * std::min(before + tiles, most_blocks(op));
  }
  /// As documents of their mean length; where they differ, what their squares are beyond: a tile of
  /// a long document sees as many keys more as half of that has tokens.
  void of_documents(const Attention& op) {
    const auto n = static_cast<double>(op.documents.count);
    const double mean = static_cast<double>(op.seq_q) / n;
    const double each = std::ceil(mean / kTile);
    const double square = band_of(mean, static_cast<double>(op.window));
    const double beyond = static_cast<double>(op.documents.squares) - n * square;
    tiles = n * each;
    keys = kTile * n * capped_sum(1, each, most_blocks(op)) + beyond / (2 * kTile);
    longest = kTile * std::min(std::ceil(static_cast<double>(op.documents.longest) / kTile),
                               most_blocks(op));
  }
};

// Forward: S = Q K^T, P = softmax(mask(S)), O = P V. Backward: dP = dO V^T, dV = P^T dO, dS from P
// and dP, dQ = dS K, dK = dS^T Q. The products do not know the causal mask.
Cost unfused(const Attention& op, SoftmaxKernel softmax, const Device& device) {
  const std::int64_t q = op.seq_q, kv = op.seq_kv, d = op.head_dim, dv = op.v_dim();
  const bool forward = !is_backward(op.pass);
  Cost cost;
  const auto multiply = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const MatMul product{
        .batch = op.batch * op.heads, .m = m, .n = n, .k = k, .in = op.dtype, .out = op.dtype};
    cost = cost + gemm_cost(product, device);
  };
  multiply(q, kv, forward ? d : dv);  // S; dP
  multiply(q, forward ? dv : d, kv);  // O; dQ
  if (!forward) multiply(kv, dv, q), multiply(kv, d, q);
  return cost + scores_cost(op, softmax, device);
}

// Scores of which a multiprocessor draws in a clock whether they stay, beside what attention takes
// without dropout: cuDNN's kernels for 4 sequences of 4,096, 16 heads of 128 take 0.53 to 0.56 ms
// longer forward on an H100 and an H200, and 0.28 to 0.33 ms backward
// (reports/gpu/*/torch-ops.json). Other kernels and devices as these.
constexpr double kDrawnForward = 3.9, kDrawnBackward = 7;

Seconds drawing(const Attention& op, const Device& device) {
  if (!op.dropout || device.sms == 0 || generation_of(device) == Generation::kCpu) return {};
  const double scores = static_cast<double>(op.batch * op.heads) * kTile * Visits(op).keys;
  const double a_clock = is_backward(op.pass) ? kDrawnBackward : kDrawnForward;
  return Seconds(scores / (a_clock * device.sms * clock_of(device)));
}

Cost fused(const Attention& op, const Device& device) {
  if (is_decode(op))
    return cost_of(decode_time(decode_fit(device), op, device), decode_quality(device), device);
  const AttentionFit fit = attention_fit(device, op.kernel);
  const double warm = fit.alone ? between_other_kernels(device) : 1;
  Cost cost =
      cost_of(fused_time(fit, op, device, warm), attention_quality(device, op.kernel), device);
  cost.share[kPeakFlops] += drawing(op, device);
  return cost;
}

// What tiles are dealt to. A processor's peak is that of all of its cores, which share each tile.
double workers(const Device& device) {
  return generation_of(device) == Generation::kCpu ? 1 : std::max(device.sms, 1);
}

}  // namespace

AttentionWork attention_work(const AttentionFit& fit, const Attention& op, const Device& device) {
  const Visits visits(op);
  const double heads = static_cast<double>(op.batch * op.heads), sms = workers(device);
  const double width = mean_width(fit, op);
  const double prologue = fit.prologue * (is_backward(op.pass) ? fit.backward_prologue : 1);
  const double longest = visits.longest + prologue;
  const double mean = heads * (visits.keys + visits.tiles * prologue) / sms;
  const double sums =
      is_backward(op.pass) ? kSumBytes * heads * static_cast<double>(op.seq_q * op.head_dim) : 0;
  return {.mean = mean,
          .longest = longest,
          .tiles = heads * visits.tiles / sms,
          .width = width,
          .bytes = static_cast<double>(memory_traffic(op).value) + sums,
          .flops = 4 * heads * kFlashTile * visits.keys * width};
}

KernelTime fused_time(const AttentionFit& fit, const Attention& op, const Device& device,
                      double warm) {
  const AttentionWork work = attention_work(fit, op, device);
  double rate = fit.flops * device.matmul_yield * device.peak(op.dtype).value / workers(device);
  if (is_backward(op.pass)) rate *= fit.backward_rate / kBackwardFlops;
  if (is_backward(op.pass) && op.head_dim > kWide) rate *= fit.wide_backward;
  const double keys = std::max(work.longest, work.mean + fit.tail * work.longest / 2);
  const double compute = keys * 4 * kFlashTile * (work.width + fit.exponential) / rate;
  const double stream =
      device.memory_bandwidth.value * stream_fit(device, StreamKind::kCopy).bandwidth;
  const double memory = work.bytes / stream;
  const KernelTime time =
      overlapped(Seconds(fit.fixed_us * 1e-6), Seconds(compute), Seconds(memory));
  const double teraflops = 1e-12 * work.flops;
  const double throttle =
      std::max(warm, 1 + fit.throttle * teraflops / (teraflops + fit.throttle_teraflops));
  return {time.fixed, throttle * time.compute, throttle * time.memory};
}

Cost attention_cost(const Attention& op, const Device& device, SoftmaxKernel softmax) {
  if (op.pass == Pass::kWeightGrad || op.batch == 0 || op.heads == 0 || op.seq_q == 0 ||
      op.seq_kv == 0)
    return {};
  return op.fused ? fused(op, device) : unfused(op, softmax, device);
}

}  // namespace plait
