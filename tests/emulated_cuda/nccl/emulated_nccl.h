#pragma once
// What the emulated NCCL has seen (emulated_nccl.cpp).

#include <cstddef>

namespace plait::emulated {

/// Communicators that were aborted, by all ranks of this process.
std::size_t aborted_communicators();

}  // namespace plait::emulated
