#pragma once
// How long work tells its caller how far it is.

#include <cstdint>
#include <functional>

namespace plait {

/// Told now and then that `done` of `all` parts are done; empty where nobody watches.
using Watch = std::function<void(std::int64_t done, std::int64_t all)>;

}  // namespace plait
