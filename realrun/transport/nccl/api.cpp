#include "realrun/transport/nccl/api.h"

#include <chrono>
#include <thread>

#include "core/error.h"

namespace plait::nccl {
namespace {

constexpr std::chrono::seconds kJoinPatience{60};    // until all ranks have come
constexpr std::chrono::microseconds kLookAgain{20};  // a launch of NCCL's takes as long

}  // namespace

void Api::check(ncclResult_t result, const std::string& what) const {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* const last = last_error(nullptr);  // what exactly: "Duplicate GPU detected ..."
  const std::string detail = last == nullptr ? "" : last;
  throw EnvironmentError("NCCL failed in " + what + ": " + error_string(result) +
                         (detail.empty() ? "" : "\n  " + detail));
}

void Api::settle(ncclComm_t comm, ncclResult_t result, const std::string& what) const {
  check(result, what);
  const auto end = std::chrono::steady_clock::now() + kJoinPatience;
  ncclResult_t state = ncclInProgress;
  for (bool first = true; state == ncclInProgress; first = false) {
    if (!first) std::this_thread::sleep_for(kLookAgain);
    check(async_error(comm, &state), what);
    check(state, what);
    if (state == ncclInProgress && std::chrono::steady_clock::now() > end) {
      throw EnvironmentError("NCCL waits for other ranks in " + what + ", in vain for " +
                             std::to_string(kJoinPatience.count()) + " s");
    }
  }
}

std::string Api::version_text() const {
  int v = 0;
  check(version(&v), "ncclGetVersion");
  // 10000 major + 100 minor + patch since 2.9 (NCCL_VERSION in nccl.h).
  return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

}  // namespace plait::nccl
