#include "costmodel/gpu_features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "costmodel/attention_fits.h"
#include "costmodel/gpu_grid.h"
#include "costmodel/kernel_features.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

using Values = std::vector<double>;

constexpr auto kOfProduct = std::to_array<GpuFeature>({{"fixed", kLaunchOverhead},
                                                       {"compute", kPeakFlops},
                                                       {"memory"},
                                                       {"bias_calls", kLaunchOverhead},
                                                       {"bias_memory"},
                                                       {"bias_lines"}});
constexpr auto kOfFlash = std::to_array<GpuFeature>({{"calls", kLaunchOverhead},
                                                     {"products", kPeakFlops},
                                                     {"exponentials", kPeakFlops},
                                                     {"longest", kPeakFlops},
                                                     {"tiles", kPeakFlops},
                                                     {"sum_calls", kLaunchOverhead}});
constexpr auto kOfTiles = std::to_array<GpuFeature>({{"calls", kLaunchOverhead},
                                                     {"steps", kPeakFlops},
                                                     {"wide_steps", kPeakFlops},
                                                     {"tiles", kPeakFlops}});
constexpr auto kOfScores = std::to_array<GpuFeature>({{"calls", kLaunchOverhead},
                                                      {"product_calls", kLaunchOverhead},
                                                      {"compute", kPeakFlops},
                                                      {"memory"},
                                                      {"rows"},
                                                      {"filled"}});
constexpr auto kOfRows = std::to_array<GpuFeature>(
    {{"calls", kLaunchOverhead}, {"memory"}, {"filled"}, {"rows"}, {"again"}});
constexpr auto kOfColumnSums = std::to_array<GpuFeature>(
    {{"calls", kLaunchOverhead}, {"memory"}, {"filled"}, {"rows"}, {"lines"}, {"again"}});
constexpr auto kOfFlat =
    std::to_array<GpuFeature>({{"calls", kLaunchOverhead}, {"first_wave"}, {"later_waves"}});

double seconds_of(double bytes, const Device& gpu) { return bytes / gpu.memory_bandwidth.value; }
double seconds_of(const Compute& op, const Device& gpu) {
  return seconds_of(static_cast<double>(memory_traffic(op).value), gpu);
}

/// Of a block after the other: RMS norms of 1,776 and 4,096 rows of 256 elements, a block each,
/// take 3.32 and 5.02 us on an H200 (plait bench compute).
constexpr double kBlockStart = 0.73e-9;

// ---- sums over rows

/// Bytes of the partial sums, written and read, and lines that a thread adds up one after the
/// other.
struct PartialSums {
  double bytes = 0, lines = 0;
};
constexpr double kSumLines = 16;  // kernels/cuda/column_sums.h
PartialSums partial_sums(double lines, double width, int sums) {
  return {2 * 4 * lines * width * sums, std::ceil(lines / kSumLines) * sums};
}
Values sums_of(const Compute& op, const GpuGrid& grid, const PartialSums& sums, const Device& gpu) {
  const double memory = seconds_of(op, gpu);
  return {1,
          memory + seconds_of(sums.bytes, gpu),
          memory * grid.filling(),
          grid.rows_each(),
          sums.lines,
          memory * grid.again};
}

Values sums_of(const BiasGrad& op, const Device& gpu) {
  const GpuGrid grid = grid_in_rows(op.rows, op.width, op.dtype, gpu, 2);
  return sums_of(op, grid, partial_sums(grid.lines, static_cast<double>(op.width), 1), gpu);
}
Values sums_of(const Norm& op, const Device& gpu) {
  const GpuGrid grid = grid_by_row(op.rows, op.width, op.dtype, gpu, 2);
  const int sums = op.kind == NormKind::kLayerNorm ? 2 : 1;
  return sums_of(op, grid, partial_sums(grid.lines, static_cast<double>(op.width), sums), gpu);
}

Values on_rows(const Compute& op, const GpuGrid& grid, const Device& gpu) {
  const double memory = seconds_of(op, gpu);
  return {1, std::max(memory, grid.blocks * kBlockStart), memory * grid.filling(), grid.rows_each(),
          memory * grid.again};
}

/// The part that all of the device's threads have under way at once, 16 bytes each of the narrowest
/// type, and the rest.
Values flat(const Compute& op, std::int64_t elements, DType narrowest, const Device& gpu) {
  const double wave = 16.0 / static_cast<double>(size_of(narrowest)) * kThreadsOfSm * gpu.sms;
  const double all = seconds_of(op, gpu);
  const double first = all * std::min(wave / static_cast<double>(elements), 1.0);
  return {1, first, all - first};
}

// ---- products

Values values_of(const MatMul& op, const Device& gpu) {
  const Cost cost = gemm_cost(op, gpu);
  Values out = {cost.share[kLaunchOverhead].value,
                cost.share[kPeakFlops].value,
                cost.share[kMemoryBandwidth].value,
                0,
                0,
                0};
  if (op.layout != GemmLayout::kTN || !op.bias) return out;
  const Values sums = sums_of(BiasGrad{op.batch * op.k, op.m, op.in, op.out}, gpu);
  out[3] = sums[0], out[4] = sums[1], out[5] = sums[4];
  return out;
}

// ---- attention

Values flash_of(const Attention& op, const Device& gpu) {
  const AttentionWork work = attention_work({}, op, gpu);
  const bool sums = !is_forward(op.pass) && op.kv_heads < op.heads;
  const double column = 4 * kFlashTile / (gpu.peak(op.dtype).value / gpu.sms);
  return {1,
          work.mean * column * work.width,
          work.mean * column,
          work.longest * column * work.width,
          work.tiles,
          sums ? 1.0 : 0.0};
}

/// Plait's own fused kernels: 64 queries of a head, or 64 keys that several heads share, are a
/// block's, which goes over its keys or queries 64 at a time (kernels/cuda/attention_fused_*.cu). A
/// step of a block that is alone on its multiprocessor takes 1.5 times as long as a step of several
/// that share it: forward 2.9 us in 4 and 8 heads of 336 and 512 tokens, 1.9 to 2.1 us where there
/// are plenty, on an H200 (plait bench compute).
double steps_of(double longest, double all, const Device& gpu) {
  constexpr double kAlone = 1.5, kTail = 0.5;
  return std::max(kAlone * longest, all / gpu.sms + kTail * longest / 2);
}
double own_width(const Attention& op) {
  const std::int64_t width = std::max(op.head_dim, op.v_dim());
  return width <= 64 ? 64 : width <= 128 ? 128 : 192;
}
Values tiles_of(const Attention& op, const Device& gpu) {
  constexpr double kTile = 64;
  const double heads = static_cast<double>(op.batch * op.heads);
  const double all = heads * visited_pairs(op) / (kTile * kTile);
  const double longest = std::ceil(static_cast<double>(op.seq_kv) / kTile);
  double steps = steps_of(longest, all, gpu);
  if (!is_forward(op.pass)) {
    const double shared = static_cast<double>(op.heads) / static_cast<double>(op.kv_heads);
    steps += steps_of(longest * shared, all, gpu);
  }
  const double tiles = heads * std::ceil(static_cast<double>(op.seq_q) / kTile) / gpu.sms;
  return {1, steps, steps * own_width(op), tiles};
}

/// Unfused attention: products of one sample and of one query head for each key head, and kernels
/// that take a row of scores at a time (kernels/cuda/attention_unfused.cu).
struct ScoreWork {
  double product_calls = 0, compute = 0, memory = 0;
  void multiply(double times, const MatMul& op, const Device& gpu) {
    const Cost cost = gemm_cost(op, gpu);
    product_calls += times;
    compute += times * cost.share[kPeakFlops].value;
    memory += times * cost.share[kMemoryBandwidth].value;
  }
};
/// Queries of which all heads' scores are in the scratch memory at a time.
double queries_at_a_time(const Attention& op) {
  constexpr double kScratch = 32 << 20;  // kernels/cuda/queue.h
  const double row = static_cast<double>(op.heads * op.seq_kv * size_of(op.dtype));
  return std::clamp(std::floor(kScratch / row), 1.0, static_cast<double>(op.seq_q));
}
Values scores_of(const Attention& op, const Device& gpu) {
  const bool forward = is_forward(op.pass);
  const std::int64_t members_of_group = op.heads / op.kv_heads;
  const double members = static_cast<double>(op.batch * members_of_group);
  ScoreWork work;
  const auto multiply = [&](double times, std::int64_t m, std::int64_t n, std::int64_t k) {
    work.multiply(times * members,
                  {.batch = op.kv_heads, .m = m, .n = n, .k = k, .in = op.dtype, .out = op.dtype},
                  gpu);
  };
  double chunks = 1;
  if (forward) {
    multiply(1, op.seq_q, op.seq_kv, op.head_dim);
    multiply(1, op.seq_q, op.v_dim(), op.seq_kv);
  } else {
    const double at_a_time = queries_at_a_time(op);
    chunks = std::ceil(static_cast<double>(op.seq_q) / at_a_time);
    const auto queries =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(op.seq_q) / chunks));
    multiply(1, op.seq_kv, op.v_dim(), op.seq_q);
    multiply(chunks, queries, op.seq_kv, op.v_dim());
    multiply(chunks, queries, op.head_dim, op.seq_kv);
    multiply(chunks, op.seq_kv, op.head_dim, queries);
    chunks *= static_cast<double>(op.batch);
  }
  const std::int64_t rows = op.batch * op.heads * op.seq_q;
  const GpuGrid grid = grid_by_row(rows, op.seq_kv, op.dtype, gpu);
  const double element =
      static_cast<double>((forward ? 2 : 3) * size_of(op.dtype)) +
      (op.dropout ? static_cast<double>(1 + (forward ? size_of(op.dtype) : 0)) : 0);
  const double bytes = static_cast<double>(rows * op.seq_kv) * element;
  return {chunks,      work.product_calls, work.compute,
          work.memory, grid.rows_each(),   seconds_of(bytes, gpu) * grid.filling()};
}

// ---- which

enum class Form { kProcessor, kProduct, kFlash, kTiles, kScores, kRows, kColumnSums, kFlat };

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
Form form_of(std::string_view c) {
  if (c.starts_with("matmul")) return Form::kProduct;
  if (c.starts_with("attention.unfused")) return Form::kScores;
  if (c.starts_with("attention")) return has(c, ".dropout") ? Form::kTiles : Form::kFlash;
  if (c.starts_with("norm")) return has(c, ".backward") ? Form::kColumnSums : Form::kRows;
  if (c.starts_with("bias_grad")) return Form::kColumnSums;
  if (c.starts_with("activation")) return has(c, ".gated") ? Form::kRows : Form::kFlat;
  if (c.starts_with("add"))
    return has(c, ".bias") || has(c, ".dropout.forward") ? Form::kRows : Form::kFlat;
  if (c.starts_with("embedding"))
    return has(c, ".tokens.backward") ? Form::kProcessor : Form::kRows;
  if (c.starts_with("cross_entropy")) return has(c, ".loss") ? Form::kProcessor : Form::kRows;
  if (c.starts_with("rope")) return Form::kRows;
  for (std::string_view name : {"cast", "fill", "squared_norm", "amax", "adam"})
    if (c.starts_with(name)) return Form::kFlat;
  return Form::kProcessor;
}

/// Of the forms above, by op.
struct ValuesOf {
  const Device& gpu;
  Form form;

  Values operator()(const MatMul& op) const { return values_of(op, gpu); }
  Values operator()(const Attention& op) const {
    if (form == Form::kScores) return scores_of(op, gpu);
    return form == Form::kTiles ? tiles_of(op, gpu) : flash_of(op, gpu);
  }
  Values operator()(const Norm& op) const {
    if (form == Form::kColumnSums) return sums_of(op, gpu);
    return on_rows(op, grid_by_row(op.rows, op.width, op.dtype, gpu), gpu);
  }
  Values operator()(const HeadNorm& op) const { return (*this)(norm_of_heads(op)); }
  Values operator()(const BiasGrad& op) const { return sums_of(op, gpu); }
  Values operator()(const Activation& op) const {
    if (form == Form::kFlat) return flat(op, op.rows * op.width, op.dtype, gpu);
    return on_rows(op, grid_in_rows(op.rows, op.width, op.dtype, gpu), gpu);
  }
  Values operator()(const Add& op) const {
    if (form == Form::kFlat) return flat(op, op.rows * op.width, op.dtype, gpu);
    return on_rows(op, grid_in_rows(op.rows, op.width, op.dtype, gpu), gpu);
  }
  Values operator()(const Embedding& op) const {
    return on_rows(op, grid_in_rows(op.rows, op.width, op.dtype, gpu), gpu);
  }
  Values operator()(const Rope& op) const {
    return on_rows(op, grid_of_blocks(op.rows, op.width / 2, op.dtype, gpu), gpu);
  }
  Values operator()(const CrossEntropy& op) const {
    return on_rows(op, grid_of_blocks(op.rows, op.vocab, op.dtype, gpu), gpu);
  }
  Values operator()(const Cast& op) const {
    return flat(op, op.elements, size_of(op.from) < size_of(op.to) ? op.from : op.to, gpu);
  }
  Values operator()(const Fill& op) const { return flat(op, op.elements, op.dtype, gpu); }
  Values operator()(const SquaredNorm& op) const { return flat(op, op.elements, op.dtype, gpu); }
  Values operator()(const Amax& op) const { return flat(op, op.elements, op.dtype, gpu); }
  Values operator()(const Adam& op) const { return flat(op, op.elements, DType::kFp32, gpu); }
  template <class Op>
  Values operator()(const Op& op) const {
    return kernel_features(op);
  }
};

}  // namespace

std::span<const GpuFeature> gpu_features_of(std::string_view kernel_class) {
  switch (form_of(kernel_class)) {
    case Form::kProcessor: return {};
    case Form::kProduct: return kOfProduct;
    case Form::kFlash: return kOfFlash;
    case Form::kTiles: return kOfTiles;
    case Form::kScores: return kOfScores;
    case Form::kRows: return kOfRows;
    case Form::kColumnSums: return kOfColumnSums;
    case Form::kFlat: return kOfFlat;
  }
  return {};
}

bool has_gpu_features(const Device& device) {
  return device.sms > 0 && generation_of(device) != Generation::kCpu;
}

std::vector<double> gpu_features(const Compute& op, const Device& gpu) {
  PLAIT_CHECK(has_gpu_features(gpu), "features of a GPU whose multiprocessors are not known");
  const Form form = form_of(kernel_class(op));
  if (form == Form::kProcessor) return kernel_features(op);
  return std::visit(ValuesOf{gpu, form}, op);
}

}  // namespace plait
