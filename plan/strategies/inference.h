#pragma once
// From the layers of a training step to those of a serving step: the rewrites of plan/serving.cpp,
// in the order in which it applies them.

#include "plan/serving.h"
#include "plan/strategies/draft.h"

namespace plait {

/// Forward passes only: nothing is kept for a backward pass, weights are there from step to step.
void keep_forward(Draft& draft);
/// A step of few tokens meets few of the experts: slots for as many of the rank's as it is expected
/// to.
void meet_few_experts(Draft& draft, const Step& step, ExpertSharing sharing);
/// ExpertSharing::kDealt: whole experts on the ranks of dp and tp. Throws InputError S092 and S128.
void deal_experts(Draft& draft);
/// ExpertSharing::kDivided: each expert, which is divided over tp, over dp too. Behind
/// insert_collectives, in front of gather_replicas. Throws InputError S092 and S128.
void divide_experts(Draft& draft);
/// The tokens of all replicas for the experts that they share. Behind fit_sizes.
void gather_replicas(Draft& draft, const Step& step);
/// Weights as they are stored, but for routers, which vLLM and llama.cpp leave as they are; fp8
/// products with their casts.
void apply_weight_formats(Draft& draft, const ServingPrecision& precision);
/// The head works on one row of each sequence whose next token is chosen, and chooses it.
void sample_tokens(Draft& draft, const Step& step);
/// ServingLayout::row_split. Behind all that writes products, in front of fit_sizes. Throws
/// InputError S192.
void split_by_rows(Draft& draft);
/// Logits of a vocabulary over tp meet before the choice. Behind insert_collectives.
void gather_logits(Draft& draft);
/// Attention over the cache, prompts and single tokens apart. Behind fit_sizes.
void attend_to_cache(Draft& draft, const Step& step, DType kv_cache, std::int64_t cache_tokens);
/// The same where the model has multi-head latent attention.
void attend_to_latent_cache(Draft& draft, const Step& step, DType kv_cache,
                            std::int64_t cache_tokens);
/// Mixers whose states a cache keeps from step to step, prompts and single tokens apart.
void carry_states(Draft& draft, const Step& step, DType states, std::int64_t cache_sequences);
/// ServingPrecision::fused_elementwise. Behind all others, where sizes are known.
void fuse_elementwise(Draft& draft);

}  // namespace plait
