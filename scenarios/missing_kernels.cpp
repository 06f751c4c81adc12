#include "scenarios/missing_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/units.h"

namespace plait {
namespace {

/// Where attention is not fused, and Megatron-LM's softmax has no code for a rank's scores.
void warn_of_slow_softmax(Scenario& s) {
  const bool asked = s.kernels.softmax == SoftmaxKernel::kMegatron && !s.workload.flash_attention;
  if (s.serving || !asked) return;
  Attention own;
  own.batch = s.workload.micro_batch, own.heads = s.model.heads / s.strategy.mesh[Axis::kTp];
  own.seq_q = own.seq_kv = s.workload.sequence_length;
  if (is_for_megatron_softmax(own)) return;
  s.warnings.push_back(
      {"W023", fmt::format("Megatron-LM's softmax has no code for {} heads of a rank, "
                           "micro-batches of {} and sequences of {}, so that PyTorch's kernels run "
                           "in fp32, which is slow: make heads times micro-batch a multiple of 4 "
                           "and sequences of up to 4,096, or set workload.flash_attention to true",
                           own.heads, own.batch, own.seq_q)});
}

/// Where attention is fused, and FlashAttention has no code for heads as wide: README.md of
/// Dao-AILab/flash-attention, "All head dimensions up to 256".
void warn_of_wide_heads(Scenario& s) {
  constexpr std::int64_t kWidest = 256;
  const Model& m = s.model;
  const std::int64_t width = std::max(m.head_dim, m.v_head_dim);
  const bool asked = s.workload.flash_attention && s.kernels.attention != FlashKernel::kCudnn;
  if (s.serving || !asked || width <= kWidest || m.attention_layers() == 0) return;
  s.warnings.push_back(
      {"W023", fmt::format("FlashAttention has no code for heads of {} columns, only of up to {}: "
                           "the step is predicted as if it had; set workload.flash_attention to "
                           "false for attention that runs",
                           width, kWidest)});
}

/// FlashAttention-2 wants compute capability 8.0 (README.md of Dao-AILab/flash-attention: "Ampere,
/// Ada, or Hopper GPUs"), as does cuDNN's and PyTorch's kernel of it.
void warn_of_old_gpus(Scenario& s) {
  const Device& d = s.cluster.device;
  const bool asked = s.workload.flash_attention && s.model.attention_layers() > 0;
  if (s.serving || !asked || d.compute_capability <= 0 || d.compute_capability >= 80) return;
  s.warnings.push_back(
      {"W023", fmt::format("FlashAttention has no code for {}, of compute capability {}.{}: the "
                           "step is predicted as if it had; set workload.flash_attention to false "
                           "for attention that runs",
                           d.name, d.compute_capability / 10, d.compute_capability % 10)});
}

/// What Transformer Engine refuses (pytorch/utils.py, assert_dim_for_fp8_exec: rows in eights,
/// columns in sixteens), as cuBLASLt has no such products in 8 bits.
void warn_of_sizes_in_8_bits(Scenario& s) {
  if (s.serving || !s.workload.precision.narrows()) return;
  struct Size {
    const char* what;
    std::int64_t value, multiple;
  };
  const Model& m = s.model;
  const Mesh& mesh = s.strategy.mesh;
  const std::int64_t tp = std::max<std::int64_t>(1, mesh[Axis::kTp]);
  const std::int64_t tokens = s.workload.micro_batch * s.workload.sequence_length /
                              std::max<std::int64_t>(1, mesh.size_of(kContextAxes));
  const std::array sizes = {
      Size{"model.hidden", m.hidden, 16},
      Size{"a rank's part of model.ffn_hidden", m.dense_layers() > 0 ? m.ffn_hidden / tp : 0, 16},
      Size{"model.expert_ffn_hidden", m.experts > 0 ? m.expert_ffn_hidden : 0, 16},
      Size{"a rank's heads times head_dim",
           m.attention_layers() > 0 && m.kv_lora_rank == 0 ? m.heads / tp * m.head_dim : 0, 16},
      Size{"tokens of a rank's micro-batch", tokens, 8}};
  for (const Size& size : sizes) {
    if (size.value % size.multiple == 0) continue;
    s.warnings.push_back(
        {"W037", fmt::format("{} is {}, and products in 8 bits take multiples of {} (cuBLASLt; "
                             "Transformer Engine refuses others): the step is predicted as if they "
                             "ran",
                             size.what, size.value, size.multiple)});
    return;
  }
}

/// llama.cpp's kernels, which are written for GeForce cards: docs/strategies/llama-cpp.md, Limits.
void warn_of_llama_cpp(Scenario& s) {
  const bool asked = s.serving && s.serving->limits.engine == ServingEngine::kLlamaCpp;
  constexpr std::array kOfDataCentres = {70, 80, 90, 100, 103, 942, 950};
  const Device& d = s.cluster.device;
  if (!asked || std::ranges::count(kOfDataCentres, d.compute_capability) == 0) return;
  s.warnings.push_back(
      {"W038", fmt::format("llama.cpp's kernels reach less of the memory of {} than is predicted, "
                           "which is as of GeForce cards: on A100, H100 and H200 tokens came 1.3 "
                           "to 1.6 times slower (docs/strategies/llama-cpp.md)",
                           d.name)});
}

}  // namespace

void warn_of_slow_products(const Device& d, const Precision& p, Warnings& warnings) {
  const bool in_bf16 = p.products() == DType::kBf16;
  const bool has_other_units = d.peak_fp16 > d.peak_fp32;
  if (!in_bf16 || !has_other_units || d.peak_bf16 > d.peak_fp32) return;
  warnings.push_back(
      {"W014",
       fmt::format("{} has no matrix units for bf16: products take the rate of fp32, {}, where "
                   "fp16 has {}: set workload.precision to \"fp16\" if that is what runs",
                   d.name, to_text(d.peak_bf16), to_text(d.peak_fp16))});
}

void warn_of_missing_kernels(Scenario& s) {
  const std::string& pattern = s.model.layer_pattern;
  if (!pattern.empty() && std::ssize(pattern) != s.model.layers)
    return;  // S150, when it is planned
  warn_of_slow_softmax(s);
  warn_of_wide_heads(s);
  warn_of_old_gpus(s);
  warn_of_sizes_in_8_bits(s);
  warn_of_llama_cpp(s);
}

}  // namespace plait
