#pragma once
// What a device's time is spent on, coarse enough to be told from the names of kernels: the words
// in which a profile and a prediction are compared.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/op.h"

namespace plait {

enum class KernelKind : std::uint8_t {
  kMatMul,
  kGradientSum,   // over microbatches, by kernels of their own
  kBiasGradient,  // sums over rows
  kAttention,
  kNorm,
  kActivation,
  kRope,
  kResidualAdd,  // with the dropout before it; the sum of both gradients
  kEmbedding,
  kCrossEntropy,
  kRouting,     // of tokens to experts and back, on the device
  kRecurrence,  // scans and delta rules, with their convolutions
  kElementwise,
  kOptimizer,
  kUnknown,  // computes, by its category; no pattern knows its name
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendRecv,
  kOtherCommunication,
  kCopy  // from or to the host
};
inline constexpr int kKernelKinds = 23;
/// "matmul", "all_reduce", ...: the op vocabulary of the plan where it has the word.
std::string_view name_of(KernelKind kind);

constexpr bool is_communication(KernelKind kind) {
  return kind >= KernelKind::kAllReduce && kind <= KernelKind::kOtherCommunication;
}
/// Neither communication nor a copy off the device.
constexpr bool is_compute(KernelKind kind) { return kind < KernelKind::kAllReduce; }

/// Told by operators alone (operator_kinds.h): kernels' names say kElementwise of them, and of a
/// trace without operators so does the plan.
constexpr bool is_told_by_operators(KernelKind kind) {
  return kind == KernelKind::kGradientSum || kind == KernelKind::kBiasGradient ||
         kind == KernelKind::kResidualAdd;
}

/// What an op of the plan counts as; none where the device has no part in it (the host's processor,
/// its drives).
std::optional<KernelKind> kernel_kind_of(const Op& op);

/// busbw / algbw by nccl-tests' doc/PERFORMANCE.md; 1 where it says nothing.
double bus_share(KernelKind kind, std::int64_t ranks);

/// One value for each kind.
template <class T>
struct PerKind {
  std::array<T, kKernelKinds> values = {};
  T& operator[](KernelKind kind) { return values[static_cast<std::size_t>(kind)]; }
  const T& operator[](KernelKind kind) const { return values[static_cast<std::size_t>(kind)]; }
};

/// visit(kind) for each, in order.
template <class Visit>
void for_each_kind(Visit&& visit) {
  for (int k = 0; k < kKernelKinds; ++k) visit(static_cast<KernelKind>(k));
}

}  // namespace plait
