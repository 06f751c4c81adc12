#pragma once
// Which operator of PyTorch's launched a kernel, and what it is for: where a kernel's own name says
// no more than "elementwise_kernel", its operator, what that is within, what runs before and behind
// it, and for the backward pass the operator whose gradient it computes.
//
// An operator is of the kind of the first of these that has one: what it is within wherever it may
// be (an optimizer's step, AccumulateGrad); the chain of operators it belongs to; its name; of a
// node of autograd the operator that ran forward, which has the same sequence number; the operator
// around it.

#include <cstdint>
#include <string>
#include <vector>

#include "reports/profile/kernel_kind.h"
#include "reports/profile/kineto.h"

namespace plait {

struct KernelOrigin {
  KernelKind kind = KernelKind::kUnknown;  // kUnknown: nothing tells
  std::int32_t label = -1;                 // index into labels; -1: no operator is known
};

struct KernelOrigins {
  std::vector<KernelOrigin> of_event;  // of the trace
  std::vector<std::string> labels;     // "aten::cat in SplitBackward0"
};

KernelOrigins origins_of(const KinetoTrace& trace);

/// Whether the name of an annotation alone says what the kernels within it are for.
bool says_what_for(std::string_view annotation);

}  // namespace plait
