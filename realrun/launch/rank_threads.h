#pragma once
// Ranks as threads of this process.

#include <functional>

#include "realrun/transport.h"

namespace plait {

/// Runs `body` on `ranks` threads and returns what it returned on rank 0. When a rank throws, the
/// others stop waiting, and what was thrown first is thrown.
int run_threads(std::int64_t ranks, const std::function<int(Transport&)>& body);

}  // namespace plait
