#pragma once
// Ops that a framework runs as a chain of element-wise kernels instead of one: every intermediate
// goes through memory. docs/models/kernels.md lists the chains.

#include "costmodel/cost.h"
#include "model/kernels.h"
#include "model/op.h"
#include "topologies/cluster.h"

namespace plait {

/// What a chain moves and how many kernels it is; no kernels: the op is one kernel.
struct KernelChain {
  Bytes bytes;
  int kernels = 0;
};
KernelChain eager_chain(const Compute& op, const Kernels& kernels);

/// kernels * t0 + bytes / (b BW), with the constants of a streaming copy.
Cost chain_cost(const KernelChain& chain, const Device& device);

}  // namespace plait
