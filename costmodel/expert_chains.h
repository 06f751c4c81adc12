#pragma once
// The choice of experts, and tokens to their slots and back, as the chains of kernels that eager
// code runs (Megatron-LM megatron/core/transformer/moe/moe_utils.py and router.py without fusion):
// docs/models/memory-bound.md.

#include "costmodel/eager.h"

namespace plait {

/// Calls of the host for the choice of experts; eager, a kernel each.
int route_calls(const Route& op, const Kernels& kernels);
/// Of these, copies to the host, events around them and a wait, which no graph has.
constexpr int kRouteCopiesToHost = 4 + 2 + 1;

/// The chain where kernels.routing is eager; none where it is fused.
KernelChain routing_chain(const Route& op, const Kernels& kernels);
KernelChain routing_chain(const Dispatch& op, const Kernels& kernels);
KernelChain routing_chain(const Combine& op, const Kernels& kernels);
/// Of the chunks of slots between the order of their senders and that of the experts.
KernelChain routing_chain(const Cast& op, const Kernels& kernels);
/// Copies that pad each expert's rows, besides what takes tokens to the experts, and that take the
/// padding off again, besides what takes their results back.
KernelChain expert_padding_chain(const Compute& op, const Kernels& kernels);

}  // namespace plait
