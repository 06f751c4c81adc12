#include "costmodel/kernel_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <iterator>

namespace plait {
namespace {

double product(std::int64_t a, std::int64_t b, std::int64_t c = 1, std::int64_t d = 1) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c) *
         static_cast<double>(d);
}

// ---- classes ----

std::string_view pass_name(Pass pass) {
  switch (pass) {
    case Pass::kForward: return ".forward";
    case Pass::kBackward: return ".backward";
    case Pass::kInputGrad: return ".input_grad";
    case Pass::kWeightGrad: return ".weight_grad";
    case Pass::kOptimizer: return ".optimizer";
  }
  return "";
}

/// OpenBLAS has kernels without packing for products of at most 100^3 multiply-adds
/// (kernel/x86_64/sgemm_small_kernel_permit_skylakex.c).
constexpr double kSmallProduct = 1e6;

std::string variant_of(const MatMul& op) {
  const bool small = op.in == DType::kFp32 && product(op.m, op.n, op.k) <= kSmallProduct;
  const std::string size = small ? ".small" : "";
  switch (op.layout) {
    case GemmLayout::kNT: return ".nt" + size;
    case GemmLayout::kNN: return ".nn" + size;
    case GemmLayout::kTN: return ".tn" + size;
  }
  return "";
}
// Attention has no weights, so its input gradient is its whole backward pass.
std::string variant_of(const Attention& op) {
  const Pass pass = op.pass == Pass::kInputGrad ? Pass::kBackward : op.pass;
  return std::string(op.fused ? ".fused" : ".unfused") + (op.causal ? "" : ".full") +
         (op.dropout ? ".dropout" : "") + std::string(pass_name(pass));
}
// Of the input's gradient alone the whole backward pass is what has been measured.
std::string variant_of(const Norm& op) {
  const Pass pass = op.pass == Pass::kInputGrad ? Pass::kBackward : op.pass;
  return (op.kind == NormKind::kLayerNorm ? ".layer" : ".rms") + std::string(pass_name(pass));
}
std::string variant_of(const HeadNorm& op) { return variant_of(norm_of_heads(op)); }
std::string variant_of(const Activation& op) {
  std::string name;
  switch (op.kind) {
    case ActivationKind::kGelu: name = ".gelu"; break;
    case ActivationKind::kSilu: name = ".silu"; break;
    case ActivationKind::kRelu: name = ".relu"; break;
  }
  const Pass pass = op.pass == Pass::kInputGrad ? Pass::kBackward : op.pass;
  return name + (op.gated ? ".gated" : "") + std::string(pass_name(pass));
}
std::string variant_of(const Gate& op) {
  return (op.per_row ? ".rows" : "") + std::string(pass_name(op.pass));
}
std::string variant_of(const Rope& op) { return std::string(pass_name(op.pass)); }
std::string variant_of(const LatentHeads& op) { return std::string(pass_name(op.pass)); }
std::string variant_of(const CausalConv& op) { return std::string(pass_name(op.pass)); }
std::string variant_of(const DeltaRule& op) {
  return op.updates() ? ".update" : std::string(pass_name(op.pass));
}
std::string variant_of(const Scan& op) {
  return op.updates() ? ".update" : std::string(pass_name(op.pass));
}
std::string variant_of(const GatedNorm& op) { return std::string(pass_name(op.pass)); }
std::string variant_of(const Embedding& op) {
  return (op.learned_positions ? ".positions" : ".tokens") + std::string(pass_name(op.pass));
}
std::string variant_of(const CrossEntropy& op) {
  switch (op.step) {
    case CrossEntropy::Step::kRowMax: return ".row_max";
    case CrossEntropy::Step::kSums: return ".sums";
    case CrossEntropy::Step::kLoss: return ".loss";
    case CrossEntropy::Step::kGradient: return ".gradient";
  }
  return "";
}
std::string variant_of(const Route& op) { return std::string(pass_name(op.pass)); }
std::string variant_of(const Dispatch& op) { return std::string(pass_name(op.pass)); }
std::string variant_of(const Combine& op) { return std::string(pass_name(op.pass)); }
std::string variant_of(const Add& op) {
  if (op.scaled) return ".forward";  // which reads or writes a tensor more, where this is backward
  const Pass pass = op.pass == Pass::kInputGrad ? Pass::kBackward : op.pass;
  const bool bias = op.bias && pass == Pass::kForward;  // its gradient is a BiasGrad
  return std::string(op.dropout ? ".dropout" : "") + (bias ? ".bias" : "") +
         std::string(pass_name(pass));
}
std::string variant_of(const Cast& op) {
  if (op.from == op.to) return "";
  return "." + std::string(name_of(op.from)) + "_to_" + std::string(name_of(op.to));
}
template <class Op>
std::string variant_of(const Op&) {
  return "";
}

struct ElementType {
  DType operator()(const MatMul& op) const { return op.in; }
  DType operator()(const Cast& op) const { return op.from == op.to ? op.to : DType::kFp32; }
  DType operator()(const Adam& op) const { return op.weight; }
  template <class Op>
  DType operator()(const Op& op) const {
    return op.dtype;
  }
};

// ---- features ----

/// Rows or columns of tiles, and the elements that they cover: fused attention works on 64 x 64
/// tiles of the scores (kernels/attention_tile.h).
constexpr std::int64_t kFeatureTile = 64;

/// Tiles on and below the diagonal of a square.
double tiles_of_square(double length) {
  const double whole = std::floor(length / kFeatureTile), rest = length - whole * kFeatureTile;
  return whole * (whole + 1) / 2 * kFeatureTile * kFeatureTile + rest * length;
}
/// Of these, the ones that a window leaves: without those that end before the first key of their
/// first query, the tiles of a smaller square.
double tiles_in_window(double length, std::int64_t window) {
  if (window == 0) return tiles_of_square(length);
  const double reach =
      kFeatureTile * (1 + std::ceil(static_cast<double>(window - 1) / kFeatureTile));
  return tiles_of_square(length) - tiles_of_square(std::max(length - reach, 0.0));
}
/// Of each document; where they differ in length, of the mean one and half of what their squares
/// are beyond.
double tiles_of_documents(const Attention& op) {
  const auto n = static_cast<double>(op.documents.count);
  const double mean = static_cast<double>(op.seq_q) / n;
  const double square = band_of(mean, static_cast<double>(op.window));
  return n * tiles_in_window(mean, op.window) +
         (static_cast<double>(op.documents.squares) - n * square) / 2;
}
}  // namespace

double visited_pairs(const Attention& op) {
  if (op.fused && op.causal && op.documents.count > 0) return tiles_of_documents(op);
  if (op.balanced && op.fused && op.causal) {
    const auto middle = static_cast<double>(op.seq_kv + op.seq_q) / 2;
    if (!op.windowed()) return product(op.seq_q, op.seq_kv) / 2;
    return tiles_in_window(middle, op.window) -
           tiles_in_window(middle - static_cast<double>(op.seq_q), op.window);
  }
  if (!op.fused || !op.causal || op.seq_q != op.seq_kv) return product(op.seq_q, op.seq_kv);
  return tiles_in_window(static_cast<double>(op.seq_q), op.window);
}

namespace {

using Values = std::vector<double>;

/// A bias is added to each element (forward), or summed from each element of dy (weight gradient).
/// An output that is not accumulated into is set to zero first, in a pass of its own.
Values features_of(const MatMul& op) {
  const double mn = product(op.batch, op.m, op.n), mk = product(op.batch, op.m, op.k);
  const double with_bias = op.layout == GemmLayout::kTN ? mk : mn;
  return {1,
          product(op.batch, op.m, op.n, op.k),
          mn,
          product(op.batch, op.n, op.k),
          mk,
          op.bias ? with_bias : 0,
          op.accumulate ? 0 : mn};
}
/// Heads lie beside one another in packed rows, so the next token of a head is a whole row of all
/// samples away: from a page of 4 KiB on, each row of a head is a page of its own.
double share_of_a_page(const Attention& op) {
  const std::int64_t columns = (op.heads + op.kv_heads) * op.head_dim + op.kv_heads * op.v_dim();
  const double row_bytes = product(op.batch, columns) * static_cast<double>(size_of(op.dtype));
  return std::min(row_bytes / 4096, 1.0);
}
Values features_of(const Attention& op) {
  const double heads = product(op.batch, op.heads), pairs = heads * visited_pairs(op);
  const double rows = heads * static_cast<double>(op.seq_q), far = share_of_a_page(op);
  const double width = static_cast<double>(op.head_dim + op.v_dim()) / 2;
  return {1, heads, rows, pairs, pairs * width, rows * width, rows * far, pairs * far};
}
Values features_of(const Cast& op) { return {1, static_cast<double>(op.elements)}; }
Values features_of(const Fill& op) { return {1, static_cast<double>(op.elements)}; }
Values features_of(const SquaredNorm& op) { return {1, static_cast<double>(op.elements)}; }
Values features_of(const Amax& op) { return {1, static_cast<double>(op.elements)}; }
Values features_of(const Adam& op) { return {1, static_cast<double>(op.elements)}; }
/// Rows of `width` elements: how well prefetching and vector loops do depends on the width, not
/// only on rows x width, so the time per element is a line between its values at these widths.
constexpr std::array<double, 6> kWidths = {64, 128, 256, 512, 1024, 2048};
Values of_rows(double rows, double width) {
  Values out = {1, rows, 0, 0, 0, 0, 0, 0};
  const double octave = std::clamp(std::log2(std::max(width, 1.0) / kWidths[0]), 0.0, 5.0);
  const auto below = std::min(static_cast<std::size_t>(octave), kWidths.size() - 2);
  const double above = octave - static_cast<double>(below);
  out[2 + below] = rows * width * (1 - above);
  out[3 + below] = rows * width * above;
  return out;
}

Values features_of(const CrossEntropy& op) {
  const bool per_row = op.step == CrossEntropy::Step::kLoss;
  return of_rows(static_cast<double>(op.rows), per_row ? 0 : static_cast<double>(op.vocab));
}
/// Each head is a row.
Values features_of(const HeadNorm& op) {
  const Norm n = norm_of_heads(op);
  return of_rows(static_cast<double>(n.rows), static_cast<double>(n.width));
}
/// Elements of the packed rows.
Values features_of(const LatentHeads& op) {
  return {1, product(op.rows, op.heads, 2 * op.head_dim + op.value_dim)};
}
/// Taps of each channel; multiply-adds of states; elements.
Values features_of(const Gate& op) { return {1, product(op.rows, op.width)}; }
Values features_of(const DeltaRule& op) {
  return {1, product(op.rows(), op.heads, op.value_dim * op.key_dim)};
}
Values features_of(const CausalConv& op) { return {1, product(op.rows, op.channels, op.width)}; }
Values features_of(const Scan& op) { return {1, product(op.rows(), op.width(), op.state)}; }
Values features_of(const GatedNorm& op) { return {1, product(op.rows, op.width)}; }
/// Of every logit, and of every choice.
Values features_of(const Route& op) {
  const auto rows = static_cast<double>(op.rows());
  return {1, rows * static_cast<double>(op.experts), rows * static_cast<double>(op.chosen)};
}
/// Elements of tokens and of slots.
template <class Op>
Values features_of_slots(const Op& op) {
  return {1, product(op.rows, op.width), product(op.slots, op.width)};
}
Values features_of(const Dispatch& op) { return features_of_slots(op); }
Values features_of(const Combine& op) { return features_of_slots(op); }

/// Of accesses to `bytes` in no order, those that a cache or a table of `reach` bytes does not
/// have.
double missed(double bytes, double reach) { return std::max(0.0, 1 - reach / bytes); }

/// Tokens share rows of the table: `vocab` equally likely ones leave vocab (1 - 1 / vocab)^rows
/// untouched. The first touch of a row goes to memory, a later one when the touched rows are more
/// than a second-level cache holds (1 to 2 MiB), and translating its address takes a walk when the
/// table is larger than the translation cache reaches (1536 to 2048 pages of 4 KiB). Positions come
/// in order and do not share.
Values features_of(const Embedding& op) {
  constexpr double kCache = 1 << 20, kPages = 6 << 20;
  const auto rows = static_cast<double>(op.rows), width = static_cast<double>(op.width);
  const auto vocab = static_cast<double>(std::max<std::int64_t>(op.vocab, 1));
  if (op.learned_positions || op.width == 0) return {1, rows, rows * width, 0, 0, 0};
  const double row_bytes = width * static_cast<double>(size_of(op.dtype));
  const double touched = vocab * (1 - std::pow(1 - 1 / vocab, rows));
  const double far = touched + (rows - touched) * missed(touched * row_bytes, kCache);
  return {1, rows, rows * width, far, far * width, rows * missed(vocab * row_bytes, kPages)};
}
template <class Rows>
Values features_of(const Rows& op) {
  return of_rows(static_cast<double>(op.rows), static_cast<double>(op.width));
}

// ---- sizes ----

template <class T, class... Ts>
concept AnyOf = (std::same_as<T, Ts> || ...);

Values sizes_of(const MatMul& op) {
  return {product(op.batch, 1), product(op.m, 1), product(op.n, 1), product(op.k, 1)};
}
Values sizes_of(const Attention& op) {
  return {product(op.batch, op.heads), product(op.seq_q, 1), product(op.head_dim + op.v_dim(), 1)};
}
Values sizes_of(const Embedding& op) {
  return {product(op.rows, 1), product(op.width, 1), product(op.vocab, 1)};
}
Values sizes_of(const CrossEntropy& op) { return {product(op.rows, 1), product(op.vocab, 1)}; }
template <class Op>
requires AnyOf<Op, Norm, Activation, Rope, Add, BiasGrad> Values sizes_of(const Op& op) {
  return {product(op.rows, 1), product(op.width, 1)};
}
Values sizes_of(const HeadNorm& op) { return sizes_of(norm_of_heads(op)); }
/// What there is most of.
template <class Op>
Values sizes_of(const Op& op) {
  return {features_of(op).back()};
}

}  // namespace

std::string kernel_class(const Compute& op) {
  if (const auto* heads = std::get_if<HeadNorm>(&op)) return kernel_class(norm_of_heads(*heads));
  std::string name(kernel_name(op));
  name += std::visit([](const auto& kernel) { return variant_of(kernel); }, op);
  const DType dtype = std::visit(ElementType{}, op);
  if (dtype != DType::kFp32) name += "." + std::string(name_of(dtype));
  return name;
}

bool is_processors_product(std::string_view kernel_class) {
  constexpr std::string_view kInFp32[] = {"matmul.nt", "matmul.nn", "matmul.tn"};
  return std::ranges::find(kInFp32, kernel_class) != std::end(kInFp32);
}

std::vector<std::string_view> feature_names(std::string_view kernel) {
  if (kernel == "matmul") return {"calls", "bmnk", "bmn", "bnk", "bmk", "with_bias", "overwritten"};
  if (kernel == "attention")
    return {"calls", "heads", "rows", "pairs", "pairs_d", "rows_d", "rows_far", "pairs_far"};
  for (std::string_view flat : {"gate", "latent_heads", "causal_conv", "scan", "delta_rule",
                                "gated_norm", "cast", "fill", "squared_norm", "amax", "adam"}) {
    if (kernel == flat) return {"calls", "elements"};
  }
  if (kernel == "route") return {"calls", "logits", "choices"};
  if (kernel == "dispatch" || kernel == "combine") return {"calls", "elements", "slot_elements"};
  if (kernel == "embedding") {
    return {"calls", "rows", "elements", "far_rows", "far_elements", "walked_rows"};
  }
  for (std::string_view rows :
       {"norm", "head_norm", "activation", "rope", "cross_entropy", "add", "bias_grad"}) {
    if (kernel == rows) {
      return {"calls",        "rows",         "elements_64",   "elements_128",
              "elements_256", "elements_512", "elements_1024", "elements_2048"};
    }
  }
  return {};
}

std::vector<double> kernel_features(const Compute& op) {
  return std::visit([](const auto& kernel) { return features_of(kernel); }, op);
}

std::vector<std::string_view> size_names(std::string_view kernel) {
  if (kernel == "matmul") return {"batch", "m", "n", "k"};
  if (kernel == "attention") return {"heads", "queries", "head_dims"};
  if (kernel == "embedding") return {"rows", "width", "vocab"};
  const std::vector<std::string_view> features = feature_names(kernel);
  if (std::ranges::find(features, "elements_64") != features.end()) return {"rows", "width"};
  if (features.empty()) return {};
  return {features.back()};
}

std::vector<double> kernel_sizes(const Compute& op) {
  Values sizes = std::visit([](const auto& kernel) { return sizes_of(kernel); }, op);
  for (double& size : sizes) size = std::max(size, 1.0);
  return sizes;
}

}  // namespace plait
