#pragma once
// What operators, nodes of autograd and annotations say of the kernels within them. Data of
// operator_kinds.cpp and operator_chains.cpp.

#include "reports/profile/kernel_patterns.h"

namespace plait::operator_patterns {

using kernel_patterns::NamePattern;
using enum KernelKind;

// Whatever is within: PyTorch's FSDP2 copies by foreach operators, which optimizers use as well
// (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py: fsdp::all_gather_copy_in, ...).
inline constexpr NamePattern kOfAllWithin[] = {
    {"fsdp::", kElementwise},
    {"optimizer.step#", kOptimizer},  // torch/optim/optimizer.py: profile_hook_step
    {"accumulategrad", kGradientSum},
};

// Names of ATen's operators (aten/src/ATen/native/native_functions.yaml), of their nodes
// (tools/autograd/derivatives.yaml), of autograd functions in Python and of record_function.
inline constexpr NamePattern kOperatorNames[] = {
    {"layernormlinear", kUnknown},  // TransformerEngine's modules: names of their kernels tell
    {"layernormmlp", kUnknown},
    {"_fused_adam", kOptimizer},
    {"_fused_sgd", kOptimizer},
    {"_foreach_zero_", kUnknown},  // gradients, as the plan fills them
    {"_foreach_", kOptimizer},
    {"_amp_", kOptimizer},
    {"linalg_vector_norm", kOptimizer},
    {"cross_entropy", kCrossEntropy},
    {"crossentropy", kCrossEntropy},
    {"nll_loss", kCrossEntropy},
    {"nllloss", kCrossEntropy},
    {"log_softmax", kCrossEntropy},
    {"logsoftmax", kCrossEntropy},
    {"logsumexp", kCrossEntropy},
    {"rotary", kRope},
    {"rope", kRope},
    {"embedding", kEmbedding},
    // A mixture's choice of experts, and rows to their slots and back.
    {"index_add", kRouting},
    {"indexadd", kRouting},
    {"scatter", kRouting},
    {"masked_select", kRouting},
    {"maskedselect", kRouting},
    {"topk", kRouting},
    {"argsort", kRouting},
    {"bincount", kRouting},
    {"histc", kRouting},
    {"rms_norm", kNorm},
    {"rmsnorm", kNorm},
    {"layer_norm", kNorm},
    {"layernorm", kNorm},
    {"silu", kActivation},
    {"gelu", kActivation},
    {"swiglu", kActivation},
    {"geglu", kActivation},
    {"aten::relu", kActivation},
    {"relubackward", kActivation},
    {"dropout", kResidualAdd},
    {"masked_scale", kResidualAdd},
    {"scaled_dot_product", kAttention},
    {"scaleddotproduct", kAttention},
    {"_attention", kAttention},
    {"flashattn", kAttention},
    {"aten::softmax", kAttention},
    {"aten::_softmax", kAttention},
    {"softmaxbackward", kAttention},
    {"aten::linear", kMatMul},
    {"aten::matmul", kMatMul},
    {"aten::mm", kMatMul},
    {"aten::addmm", kMatMul},
    {"aten::bmm", kMatMul},
    {"aten::baddbmm", kMatMul},
    {"mmbackward", kMatMul},
    {"linearbackward", kMatMul},
    {"linearwithgradaccumulation", kMatMul},  // Megatron-LM's core/tensor_parallel/layers.py
};

/// One letter for each operator that chains are made of.
struct OperatorLetter {
  std::string_view name;
  char letter;
};
inline constexpr OperatorLetter kLetters[] = {
    {"aten::linear", 'L'},
    {"aten::matmul", 'L'},
    {"aten::mm", 'L'},
    {"aten::addmm", 'L'},
    {"aten::bmm", 'L'},
    {"aten::mul", 'm'},
    {"aten::mul_", 'm'},
    {"aten::div", 'd'},
    {"aten::neg", 'n'},
    {"aten::cat", 'c'},
    {"aten::stack", 'c'},
    {"aten::add", 'a'},
    {"aten::add_", 'a'},
    {"aten::chunk", 's'},
    {"aten::split", 's'},
    {"aten::split_with_sizes", 'S'},
    {"aten::slice", 'v'},
    {"aten::narrow", 'v'},
    {"aten::silu", 'g'},
    {"aten::gelu", 'g'},
    {"aten::softmax", 'x'},
    {"aten::_softmax", 'x'},
    {"aten::masked_fill", 'f'},
    {"aten::masked_fill_", 'f'},
    {"aten::ones", 'o'},
    {"aten::triu", 'o'},
    {"aten::tril", 'o'},
    {"aten::dropout", 'D'},
    {"aten::native_dropout", 'D'},
    {"aten::to", 't'},
    {"aten::_to_copy", 't'},
    {"aten::contiguous", 't'},
    {"aten::clone", 't'},
    {"aten::copy_", 't'},
    {"aten::pow", 'p'},
    {"aten::square", 'p'},
    {"aten::mean", 'e'},
    {"aten::rsqrt", 'r'},
    {"aten::view_as_complex", 'z'},
    {"aten::view_as_real", 'Z'},
    {"aten::index_select", 'i'},
    {"aten::zeros", '0'},
    {"aten::zeros_like", '0'},
    {"aten::new_zeros", '0'},
    {"aten::index_add", 'I'},
    {"aten::index_add_", 'I'},
    {"aten::scatter_add", 'I'},
    {"aten::scatter_add_", 'I'},
    {"aten::cross_entropy_loss", 'X'},
    {"aten::embedding", 'E'},
    {"aten::rms_norm", 'N'},
    {"aten::layer_norm", 'N'},
};

/// Letters of operators that run one after the other; "?" behind one: or not. What is in capitals
/// keeps its own kind, but for D and Z.
struct OperatorChain {
  std::string_view letters;
  KernelKind kind;
};
// The first that fits counts.
inline constexpr OperatorChain kChains[] = {
    // x cos + rotate_half(x) sin: the negation of one half and a concatenation are nowhere else
    // (transformers' models/llama/modeling_llama.py: slices; Megatron-LM's
    // core/models/common/embeddings/rope_utils.py: a chunk, and the rest of the head behind).
    {"s?m?s?v?v?ncmm?ac?", kRope},
    // torchtitan's models/llama3/model/model.py apply_rotary_emb: complex products.
    {"t?zt?zmZmZt?t?", kRope},
    {"t?zmZt?", kRope},
    // Slots times gates, added up to their tokens (Megatron-LM's core/transformer/moe/moe_utils.py,
    // unpermute).
    {"i?t?m0?I", kRouting},
    {"i", kRouting},  // an embedding's is within it
    // x rsqrt(mean(x^2) + eps) w of transformers' LlamaRMSNorm.
    {"t?pearmt?m?", kNorm},
    // silu(gate) up; up may be computed after silu.
    {"S?s?gL?m", kActivation},
    // Casts of logits and of labels.
    {"t?t?t?t?X", kCrossEntropy},
    // Scores, their mask, and weights of attention that is not fused.
    {"L?m?d?o?o?f?a?t?xt?D?", kAttention},
    {"EE?aD?", kEmbedding},
    // x + dropout(y W), after some models' norm of it.
    {"LD?aa?", kResidualAdd},
    {"ND?a", kResidualAdd},
};

}  // namespace plait::operator_patterns
