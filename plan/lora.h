#pragma once
// Low-rank adapters (Hu et al. 2021, LoRA, arXiv 2106.09685, section 4.1): of a linear layer's
// matrix W (out, in), which stays as it is, the change (alpha / r) B A is trained, with factors A
// (r, in) and B (out, r). All other parameters of the model are frozen too: they have neither
// gradients nor optimizer state.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace plait {

/// Products of a layer that may have adapters: the packed one of queries, keys and values, or each
/// of its parts by itself; the one behind attention; the MLP's first, gate and up in one where it
/// is gated, or each half by itself; the MLP's second.
enum class AdapterTarget : std::uint8_t { kQkv, kQ, kK, kV, kOut, kUp, kGateHalf, kUpHalf, kDown };
std::string_view name_of(AdapterTarget target);

/// How the frozen matrices of linear layers are stored. kPlain: as Precision says. kNf4: in 4 bits,
/// and dequantised into the weights' type in front of each product (QLoRA; Dettmers et al. 2023,
/// arXiv 2305.14314; plan/strategies/nf4_weights.cpp).
enum class FrozenWeights : std::uint8_t { kPlain, kNf4 };
std::string_view name_of(FrozenWeights frozen);

struct LowRankAdapters {
  std::int64_t rank = 0;  // r; 0: none, and all parameters are trained
  double alpha = 0;       // 0: r
  /// By default what Megatron-Bridge's are (megatron/bridge/peft/lora.py, LoRA.target_modules).
  std::vector<AdapterTarget> targets = {AdapterTarget::kQkv, AdapterTarget::kOut,
                                        AdapterTarget::kUp, AdapterTarget::kDown};
  double dropout = 0;  // how often an element of what an adapter reads is dropped
  /// The scale is alpha / sqrt(r) (Kalajdzievski 2023, rank-stabilized LoRA, arXiv 2312.03732).
  bool rank_stabilized = false;
  FrozenWeights frozen = FrozenWeights::kPlain;
  /// Of kNf4: blocks' scales are stored in 8 bits, in blocks of their own (QLoRA, section 3).
  bool double_quantized = true;
  bool any() const { return rank > 0; }
  bool quantizes() const { return any() && frozen == FrozenWeights::kNf4; }
  bool has(AdapterTarget t) const { return std::ranges::find(targets, t) != targets.end(); }
  /// What B A x is multiplied by.
  double scale() const { return (alpha > 0 ? alpha : static_cast<double>(rank)) / divisor(); }
  bool operator==(const LowRankAdapters&) const = default;

 private:
  double divisor() const {
    const auto r = static_cast<double>(rank > 0 ? rank : 1);
    return rank_stabilized ? std::sqrt(r) : r;
  }
};

/// Parameters of all adapters of the model: of each target r (in + out), in each layer.
std::int64_t count_adapter_parameters(const Model& model, const LowRankAdapters& adapters);

}  // namespace plait
