#pragma once
// NCCL's functions, of the library that is loaded where it is asked for: what does not use it
// starts without it.

#include <nccl.h>

#include <string>

namespace plait::nccl {

struct Api {
  decltype(&ncclGetVersion) version = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init = nullptr;
  decltype(&ncclCommSplit) split = nullptr;
  decltype(&ncclCommFinalize) finalize = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;

  /// Throws EnvironmentError with NCCL's words and `what` was tried.
  void check(ncclResult_t result, const std::string& what) const;
  /// Until a call that gave `result` has done what it does. Calls on communicators that do not
  /// block return before, and until then nothing else of NCCL's may be called, nor the stream be
  /// used (NCCL's guide, "Nonblocking group operation"). Throws EnvironmentError too when other
  /// ranks do not come.
  void settle(ncclComm_t comm, ncclResult_t result, const std::string& what) const;
  /// "2.28.9".
  std::string version_text() const;
};

/// Of libnccl.so.2. Throws EnvironmentError where it is not found or too old (ncclCommSplit is
/// there from 2.18 on).
const Api& api();

}  // namespace plait::nccl
