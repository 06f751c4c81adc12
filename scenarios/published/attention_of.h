#pragma once
// The kernel of attention of a published run, from the words of its record.

#include <optional>
#include <string>

#include "scenarios/published/record.h"

namespace plait {

struct AttentionWords {
  std::optional<bool> flash;   // workload.flash_attention, where they say it
  std::string kernel = {};     // kernels.attention; empty: the profile's
  bool eager_softmax = false;  // PyTorch's own, op by op
  std::string told = {};       // as it stands among what is taken; empty where nothing is said
};

/// "FlashAttention-2", "flash_attentionv1.0.8", "FA3", "no flash attention", "cuDNN", "SDPA",
/// "xFormers", "fused" (scores and softmax by Megatron-LM's kernel), "torch". Words that are no
/// kernel of attention say nothing of it: then, and where they leave open which kernel is fused,
/// the profile and the year decide.
AttentionWords attention_of(const PublishedRun& run, const std::string& framework);

}  // namespace plait
