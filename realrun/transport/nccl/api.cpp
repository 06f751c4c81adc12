#include "realrun/transport/nccl/api.h"

#include <dlfcn.h>

#include "core/error.h"

namespace plait::nccl {
namespace {

template <class F>
void find(void* library, const char* symbol, F& function) {
  function = reinterpret_cast<F>(dlsym(library, symbol));
  if (function == nullptr) {
    throw EnvironmentError(std::string("this NCCL has no ") + symbol + ": install 2.18 or newer");
  }
}

Api load() {
  void* library = dlopen("libnccl.so.2", RTLD_NOW);
  if (library == nullptr) {
    throw EnvironmentError(std::string("NCCL is asked for and not installed: ") + dlerror());
  }
  Api a;
  find(library, "ncclGetVersion", a.version);
  find(library, "ncclGetErrorString", a.error_string);
  find(library, "ncclGetUniqueId", a.unique_id);
  find(library, "ncclCommInitRank", a.init);
  find(library, "ncclCommSplit", a.split);
  find(library, "ncclCommDestroy", a.destroy);
  find(library, "ncclCommAbort", a.abort);
  find(library, "ncclCommGetAsyncError", a.async_error);
  find(library, "ncclGroupStart", a.group_start);
  find(library, "ncclGroupEnd", a.group_end);
  find(library, "ncclAllReduce", a.all_reduce);
  find(library, "ncclReduceScatter", a.reduce_scatter);
  find(library, "ncclReduce", a.reduce);
  find(library, "ncclAllGather", a.all_gather);
  find(library, "ncclSend", a.send);
  find(library, "ncclRecv", a.receive);
  return a;
}

}  // namespace

void Api::check(ncclResult_t result, const std::string& what) const {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw EnvironmentError("NCCL failed in " + what + ": " + error_string(result));
}

std::string Api::version_text() const {
  int v = 0;
  check(version(&v), "ncclGetVersion");
  // 10000 major + 100 minor + patch since 2.9 (NCCL_VERSION in nccl.h).
  return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

}  // namespace plait::nccl
