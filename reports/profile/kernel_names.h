#pragma once
// From the name of a kernel, as a profiler prints it, to what it does. A table of patterns with
// where each comes from; what no pattern knows is kUnknown, never guessed.

#include <span>
#include <string_view>

#include "reports/profile/kernel_patterns.h"

namespace plait {

struct KernelName {
  KernelKind kind = KernelKind::kUnknown;
  /// Belongs to a call that another kernel stands for: its time counts, it is no call of its own
  /// (the reduction behind a split product, what comes before and after FlashAttention's backward).
  bool part = false;
  bool softmax = false;  // of attention that is not fused
};

/// `name`: of an event of category "kernel". Of several patterns that fit the first of the table
/// counts.
KernelName kernel_name(std::string_view name);

/// The kind of the first pattern that fits, in any case; kUnknown where none does.
KernelKind first_kind(std::span<const kernel_patterns::NamePattern> table, std::string_view name);

/// Of an event of category "gpu_memcpy": "Memcpy HtoD (Pinned -> Device)".
KernelKind kind_of_memcpy(std::string_view name);

/// By c10d's name of a collective ("_allgather_base", "all_to_allv"); kOtherCommunication for what
/// is none of the kinds.
KernelKind kind_of_collective(std::string_view c10d_name);

}  // namespace plait
