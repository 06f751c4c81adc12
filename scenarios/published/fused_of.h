#pragma once
// Which ops a published run has as one kernel, by the words of its notes and of its `kernel`.

#include <nlohmann/json.hpp>

#include "scenarios/published/record.h"

namespace plait {

/// Adds to `kernels` what stands behind "fused" ("fused layernorm, swiglu, cross entropy, rotary"),
/// what libraries of such kernels have (Liger, flash-attn's ops, Apex's and Triton's norms), and
/// what is said to be eager: "fused RMSNorm=False".
void add_fused(nlohmann::ordered_json& kernels, const PublishedRun& run);

}  // namespace plait
