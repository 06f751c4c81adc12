#include <dlfcn.h>

#include <cstdlib>

#include "core/error.h"
#include "realrun/transport/nccl/api.h"

namespace plait::nccl {
namespace {

template <class F>
void find(void* library, const char* symbol, F& function) {
  function = reinterpret_cast<F>(dlsym(library, symbol));
  if (function == nullptr) {
    throw EnvironmentError(std::string("this NCCL has no ") + symbol + ": install 2.18 or newer");
  }
}

/// Without it ranks connect in their first collective of each algorithm (NCCL's guide, environment
/// variables): one that connects on one stream would keep its other streams waiting, and so would
/// its peers theirs, in another order.
void connect_at_once() {
  constexpr int kKeepTheUsers = 0;
  setenv("NCCL_RUNTIME_CONNECT", "0", kKeepTheUsers);
}

Api load() {
  connect_at_once();
  void* library = dlopen("libnccl.so.2", RTLD_NOW);
  if (library == nullptr) {
    throw EnvironmentError(std::string("NCCL is asked for and not installed: ") + dlerror());
  }
  Api a;
  find(library, "ncclGetVersion", a.version);
  find(library, "ncclGetErrorString", a.error_string);
  find(library, "ncclGetLastError", a.last_error);
  find(library, "ncclGetUniqueId", a.unique_id);
  find(library, "ncclCommInitRankConfig", a.init);
  find(library, "ncclCommSplit", a.split);
  find(library, "ncclCommFinalize", a.finalize);
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

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

}  // namespace plait::nccl
