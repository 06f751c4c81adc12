#include "costmodel/llama_cpp_products.h"

#include <algorithm>
#include <cmath>

#include "costmodel/efficiency.h"
#include "costmodel/gemm_fits.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

/// Formats with a dot product in get_vec_dot_q_cuda, ggml-cuda/mmvq.cu. Engines widen the others on
/// the way into the tiles of the matrix units, few rows as many (Marlin: Frantar et al. 2024, arXiv
/// 2408.11743).
bool is_of_llama_cpp(const MatMul& op) {
  switch (op.weights) {
    case WeightFormat::kMxfp4: return op.in_llama_cpp;
    case WeightFormat::kPlain:
    case WeightFormat::kFp8:
    case WeightFormat::kInt8:
    case WeightFormat::kInt4:
    case WeightFormat::kNvfp4: return false;
    default: return true;
  }
}

constexpr std::int64_t kMostVectors = 8;      // MMVQ_MAX_BATCH_SIZE
constexpr int kTuring = 75, kBeforeAda = 86;  // compute capabilities

// r of dot products: Llama 3 8B in Q4_0 on RTX 3090 (llama.cpp pull request 15802, its right
// column), what a step of 8 tokens takes more than one of 4. Of a processor all of its peak.
constexpr double kDots = 35;
constexpr std::int64_t kSide = 128;  // mmq_y and the most columns, mmq_x

// r, b and k0: Llama 3 8B on RTX 4090 and 5090, steps of 16 to 512 tokens in six formats (llama.cpp
// pull requests 22298 and 24127, of 2026; the same table). Fitted to one of the two cards they
// predict the other within 3 % in the mean.
constexpr double kMultiplications = 328, kBandwidth = 0.774, kFill = 1050;
// The share of r before Ada: an RTX 3090 takes 2.85 times as long as an RTX 4090, whose
// multiprocessors have 2.32 times the clocks (pull request 8278, of 2024, 8B in IQ4_XS, 1,024
// tokens); 8B in Q4_K_M has 3,807 tokens/s on an RTX 3080 (dmatora/LLM-inference-speed-benchmarks
// issue 12). On Turing 13B in Q4_K_M has 1,494 on an RTX 2080 Ti (geerlingguy/ai-benchmarks issue
// 46).
constexpr double kAmpereShare = 0.8, kTuringShare = 0.6;

double multiplications(const Device& device) {
  if (device.compute_capability > kBeforeAda) return kMultiplications;
  return kMultiplications * (device.compute_capability == kTuring ? kTuringShare : kAmpereShare);
}

bool has_matrix_units_for_bytes(const Device& device) {
  return device.sms > 0 && device.compute_capability >= kTuring &&
         generation_of(device) != Generation::kCdna;
}

Cost dots_cost(const MatMul& op, const Device& device) {
  const TiledGemm* tiled = tiled_gemm(device, op.in);
  const GemmFit plain = gemm_fit(device, op.in);
  const double bandwidth = tiled == nullptr ? plain.bandwidth : tiled->bandwidth;
  const Seconds start = tiled == nullptr ? plain.fixed : Seconds(tiled->fixed_us * 1e-6);
  const Seconds narrow = stream_fit(device, StreamKind::kCopy).fixed;  // the input to bytes, before
  const FlopsPerSecond dots(2 * kDots * device.sms * clock_of(device));
  const bool host = generation_of(device) == Generation::kCpu || device.sms <= 0;
  return roofline(
      fixed_time(device, start + narrow), hardware_flops(op) / (host ? device.vector_fp32 : dots),
      memory_traffic(op) / (device.memory_bandwidth * bandwidth), {Provenance::kDatasheet, 0.3});
}

struct Tiles {
  double count, width;
};

/// By which kernels choose: of experts all tokens, each of which may choose the same one.
std::int64_t most_rows(const MatMul& op) { return std::max(op.m, op.most_rows); }

// As few tiles as do for the most rows, and as narrow as these may be. Experts have the rows that
// tokens choose, whose number differs from one to the other, in tiles as wide as if one had all.
Tiles tiles_of(const MatMul& op) {
  constexpr std::int64_t kStep = 8;
  const std::int64_t rows = most_rows(op);
  const std::int64_t width = round_up(ceil_div(rows, ceil_div(rows, kSide)), kStep);
  const auto m = static_cast<double>(op.m), side = static_cast<double>(width);
  const double along_m = op.batch == 1 ? std::ceil(m / side) : expected_tiles(m, side);
  return {along_m * static_cast<double>(op.batch * ceil_div(op.n, kSide)), side};
}

// What narrows the input is a kernel before it, which k0 has too, as it has t0.
Cost tiles_cost(const MatMul& op, const Device& device) {
  const Tiles tiles = tiles_of(op);
  const double elements = static_cast<double>(op.k) * tiles.count / device.sms + kFill;
  const Seconds compute(static_cast<double>(kSide) * tiles.width * elements /
                        (multiplications(device) * clock_of(device)));
  const Seconds memory = memory_traffic(op) / (device.memory_bandwidth * kBandwidth);
  const bool measured = device.name == "rtx-4090" || device.name == "rtx-5090";
  return cost_of(
      overlapped(Seconds(), compute, memory),
      measured ? Quality{Provenance::kFitted, 0.08} : Quality{Provenance::kDatasheet, 0.3}, device);
}

// Volta has matrix units for 16 bits alone: from so many rows on weights are widened first, by a
// kernel that writes them, for cuBLAS (MMQ_DP4A_MAX_BATCH_SIZE in ggml-cuda/mmq.cuh).
constexpr std::int64_t kWidened = 64;

bool widens_first(const MatMul& op, const Device& device) {
  return device.sms > 0 && generation_of(device) == Generation::kVolta &&
         device.compute_capability < kTuring && most_rows(op) >= kWidened;
}

Cost widened_cost(MatMul op, const Device& device, double slowdown) {
  const Bytes narrow = memory_traffic(op);
  op.weights = WeightFormat::kPlain;
  const Bytes wide(op.batch * op.n * op.k * size_of(op.in));
  const Bytes widening(narrow.value - memory_traffic(op).value + 2 * wide.value);
  return stream_cost(widening, 1, StreamKind::kCopy, device) + gemm_cost(op, device, slowdown);
}

}  // namespace

bool runs_as_in_llama_cpp(const MatMul& op, const Device& device) {
  return is_of_llama_cpp(op) && (most_rows(op) <= kMostVectors ||
                                 has_matrix_units_for_bytes(device) || widens_first(op, device));
}

Cost llama_cpp_product_cost(const MatMul& op, const Device& device, double slowdown) {
  if (widens_first(op, device)) return widened_cost(op, device, slowdown);
  return most_rows(op) <= kMostVectors ? dots_cost(op, device) : tiles_cost(op, device);
}

}  // namespace plait
