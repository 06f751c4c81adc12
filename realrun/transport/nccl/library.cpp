#include "core/library.h"

#include <cstdlib>

#include "realrun/transport/nccl/api.h"

namespace plait::nccl {
namespace {

/// Without it ranks connect in their first collective of each algorithm (NCCL's guide, environment
/// variables): one that connects on one stream would keep its other streams waiting, and so would
/// its peers theirs, in another order.
void connect_at_once() {
  constexpr int kKeepTheUsers = 0;
  setenv("NCCL_RUNTIME_CONNECT", "0", kKeepTheUsers);
}

Api load() {
  connect_at_once();
  const Library library({"libnccl.so.2"}, "NCCL is asked for and not installed", "NCCL",
                        "install 2.18 or newer");
  Api a;
  library.find("ncclGetVersion", a.version);
  library.find("ncclGetErrorString", a.error_string);
  library.find("ncclGetLastError", a.last_error);
  library.find("ncclGetUniqueId", a.unique_id);
  library.find("ncclCommInitRankConfig", a.init);
  library.find("ncclCommSplit", a.split);
  library.find("ncclCommFinalize", a.finalize);
  library.find("ncclCommDestroy", a.destroy);
  library.find("ncclCommAbort", a.abort);
  library.find("ncclCommGetAsyncError", a.async_error);
  library.find("ncclGroupStart", a.group_start);
  library.find("ncclGroupEnd", a.group_end);
  library.find("ncclAllReduce", a.all_reduce);
  library.find("ncclReduceScatter", a.reduce_scatter);
  library.find("ncclReduce", a.reduce);
  library.find("ncclAllGather", a.all_gather);
  library.find("ncclSend", a.send);
  library.find("ncclRecv", a.receive);
  return a;
}

}  // namespace

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

}  // namespace plait::nccl
