#pragma once
// What is asked of the model in one optimizer step: how many sequences, how long, in which
// precision.

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/dtype.h"
#include "plan/documents.h"
#include "plan/lora.h"

namespace plait {

/// Of linear layers whose products are narrowed (plan/strategies/narrow_weights.cpp). kNone:
/// weights are kept and gathered in their own type, beside narrow copies. kKept: they are gathered
/// in it, and narrow copies alone stay. kGathered: they are gathered narrow, too.
enum class NarrowWeights : std::uint8_t { kNone, kKept, kGathered };
std::string_view name_of(NarrowWeights narrow);

/// What has a scale of its own in 8 bits: a whole tensor, as Transformer Engine has it, or each of
/// its rows along a product's k (torchao's recipe "rowwise").
enum class Scales : std::uint8_t { kTensor, kRow };
std::string_view name_of(Scales scales);

/// Element types of the training state. Megatron-LM's mixed precision is bf16 weights, fp32
/// gradients, master and moments (18 bytes per parameter); fp32 training has no master copy.
struct Precision {
  DType weights = DType::kBf16;    // forward and backward compute, activations
  DType gradients = DType::kFp32;  // accumulation buffers
  DType reduction = DType::kFp32;  // gradients on the wire
  DType master = DType::kFp32;     // optimizer's copy of the weights; = weights means none
  DType moments = DType::kFp32;    // Adam's two moments
  /// What the linear layers' matrix products read: fp8, nvfp4, or anything else for the weights'
  /// type.
  DType matmul = DType::kBf16;
  /// Layers at the start and at the end of the model whose products read the weights' type all the
  /// same (Megatron-Core's --first-last-layers-bf16).
  std::int64_t plain_first = 0, plain_last = 0;
  /// Of a 32-bit master whose upper half is the 16-bit weight itself, the lower half is all that is
  /// kept (Apex's store_param_remainders).
  bool split_master = false;
  Scales scales = Scales::kTensor;
  NarrowWeights narrow_weights = NarrowWeights::kNone;
  /// torch.autocast's type, of products and attention, beside parameters and a residual stream in
  /// `weights` (plan/strategies/autocast.cpp).
  std::optional<DType> autocast = {};
  /// The loss reads logits, and writes their gradients, in the type of the output matrix's product;
  /// else in fp32, between a cast of each.
  bool narrow_logits = false;
  bool keeps_narrow() const { return narrows() && narrow_weights != NarrowWeights::kNone; }
  bool scales_rows() const { return narrows() && scales == Scales::kRow; }
  bool gathers_narrow() const { return narrows() && narrow_weights == NarrowWeights::kGathered; }
  DType kept_master() const { return split_master ? weights : master; }
  bool narrows() const { return matmul == DType::kFp8 || matmul == DType::kNvfp4; }
  DType activations() const { return autocast.value_or(weights); }  // what products write
  DType products() const { return narrows() ? matmul : activations(); }
  /// Layer `layer` of `layers` is one of those; no layer is where nothing is narrowed.
  bool is_plain(std::int64_t layer, std::int64_t layers) const {
    return narrows() && (layer < plain_first || layer >= layers - plain_last);
  }
  bool has_master() const { return master != weights; }
};

/// Workload::loss_pieces that Liger-Kernel chooses by its own rule.
inline constexpr std::int64_t kLigersLossPieces = 0;

struct Workload {
  std::int64_t sequence_length = 0;  // s, tokens
  std::int64_t global_batch = 0;     // sequences per optimizer step, over all ranks
  std::int64_t micro_batch = 1;      // sequences per forward pass of one data-parallel rank
  Precision precision;
  Documents documents;   // what sequences are made of
  LowRankAdapters lora;  // which parameters are trained: all, or those of adapters
  /// Slots of an expert over its even share of the tokens: a group of s tokens gets ceil(factor k s
  /// / E) slots of each expert and tokens beyond are dropped. 0: none are dropped, and slots of a
  /// microbatch are counted as `expert_skew` says (what dropless training, as in MegaBlocks,
  /// computes).
  double capacity_factor = 0;
  /// Dropless: tokens of the busiest expert rank over the mean; 1: balanced.
  double expert_skew = 1;
  /// Pieces in which the output matrix and the loss take a microbatch's tokens: logits are those of
  /// one piece, whose gradients are passed on before the next piece's are made. 1: all at once;
  /// kLigersLossPieces: as many as Liger-Kernel makes of them (plan/strategies/head_writer.cpp).
  std::int64_t loss_pieces = 1;
  bool flash_attention = true;    // fused attention kernels
  bool gradient_clipping = true;  // global gradient norm before the optimizer

  std::int64_t tokens() const { return global_batch * sequence_length; }  // and padding
};

}  // namespace plait
