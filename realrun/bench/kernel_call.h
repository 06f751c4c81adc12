#pragma once
// One compute op as a call of its kernel, with operands from the pool.

#include <functional>

#include "model/op.h"
#include "realrun/bench/pool.h"

namespace plait {

/// Each call takes fresh operands and runs the kernel that realrun/compute/cpu.cpp runs for this
/// op, in fp32. `pool` stays where it is. Attention counts its sequence as seq_q = seq_kv.
std::function<void()> kernel_call(const Compute& op, OperandPool& pool);

}  // namespace plait
