// NCCL on the emulated device, for tests: what realrun/transport/nccl/library.cpp loads elsewhere.
// Strict where NCCL may be: calls return before they have done anything, and nothing but
// ncclCommGetAsyncError may be called until that says so; the communicator that a split makes is
// known only when the one that was split has settled; only one that has been finalized may be
// destroyed; what is queued moves data only when the streams of all ranks that it meets have come
// there.

#include "tests/emulated_cuda/nccl/emulated_nccl.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "realrun/transport/nccl/api.h"
#include "tests/emulated_cuda/emulated_runtime.h"

namespace plait::emulated {
namespace {

enum class Kind : std::uint8_t { kAllReduce, kReduceScatter, kReduce, kAllGather, kMessage };

/// What one rank gives to a collective, or one end of a message.
struct Call {
  Kind kind = Kind::kMessage;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int root = 0;
  Position before;  // where its rank's stream must have come
  bool done = false;
};
using CallPointer = std::shared_ptr<Call>;

/// The ranks of one communicator.
struct Clique {
  std::size_t ranks = 0, joined = 0, finalized = 0;
  std::map<std::size_t, std::vector<CallPointer>> collectives;  // by number; of each rank
  /// Messages by sender, receiver and number.
  struct Ends {
    CallPointer from, to;
  };
  std::map<std::tuple<int, int, std::size_t>, Ends> messages;
  struct Splitting {
    std::map<int, std::vector<std::pair<int, int>>> members;  // by color: key and rank
    std::map<int, std::shared_ptr<Clique>> made;
    std::size_t called = 0;
  };
  std::map<std::size_t, Splitting> splits;  // by number
};

std::size_t bytes_of(ncclDataType_t type) {
  if (type == ncclInt64) return 8;
  return type == ncclFloat32 ? 4 : type == ncclBfloat16 ? 2 : 1;
}
float number_at(const void* data, std::size_t i, ncclDataType_t type) {
  if (type == ncclFloat32) return static_cast<const float*>(data)[i];
  return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
}
void set_number(void* data, std::size_t i, ncclDataType_t type, float x) {
  if (type == ncclFloat32) {
    static_cast<float*>(data)[i] = x;
  } else {
    static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(x);
  }
}
std::byte* moved(void* data, std::size_t elements, ncclDataType_t type) {
  return static_cast<std::byte*>(data) + elements * bytes_of(type);
}

/// Elements first .. first + count - 1 of all ranks' inputs.
std::vector<float> reduced(const std::vector<CallPointer>& all, std::size_t first,
                           std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = number_at(all[0]->in, first + i, all[0]->type);
    for (std::size_t r = 1; r < all.size(); ++r) {
      const float x = number_at(all[r]->in, first + i, all[0]->type);
      out[i] = all[0]->op == ncclSum ? out[i] + x : std::max(out[i], x);
    }
  }
  return out;
}
void write(const Call& to, const std::vector<float>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) set_number(to.out, i, to.type, numbers[i]);
}

void carry_out(const std::vector<CallPointer>& all) {
  const Call& call = *all[0];
  if (call.kind == Kind::kAllReduce || call.kind == Kind::kReduce) {
    const std::vector<float> sums = reduced(all, 0, call.count);
    for (std::size_t r = 0; r < all.size(); ++r) {
      const bool gets = call.kind == Kind::kAllReduce || static_cast<int>(r) == call.root;
      if (gets) write(*all[r], sums);
    }
  }
  if (call.kind == Kind::kReduceScatter) {
    std::vector<std::vector<float>> sums;
    for (std::size_t r = 0; r < all.size(); ++r) {
      sums.push_back(reduced(all, r * call.count, call.count));
    }
    for (std::size_t r = 0; r < all.size(); ++r) write(*all[r], sums[r]);
  }
  if (call.kind != Kind::kAllGather) return;
  const std::size_t bytes = call.count * bytes_of(call.type);
  for (const CallPointer& to : all) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      std::memmove(moved(to->out, r * call.count, call.type), all[r]->in, bytes);
    }
  }
}

bool arrived(const CallPointer& call) {
  return call != nullptr && call->before.stream != nullptr && drive(call->before);
}

bool meet(Clique& clique, std::size_t number) {
  std::vector<CallPointer>& all = clique.collectives[number];
  if (!std::ranges::all_of(all, arrived)) return false;
  if (!all[0]->done) carry_out(all);
  for (const CallPointer& c : all) c->done = true;
  return true;
}
bool deliver(const Clique::Ends& ends) {
  if (!arrived(ends.from) || !arrived(ends.to)) return false;
  if (ends.to->done) return true;
  std::memmove(ends.to->out, ends.from->in, ends.to->count * bytes_of(ends.to->type));
  return ends.to->done = true;
}

/// Between a call and the moment at which ncclCommGetAsyncError says that it is done.
struct Progress {
  ncclComm_t comm = nullptr;
  std::function<bool()> done;
  int looks = 0;  // at least so many
};
struct Group {
  int depth = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<std::function<bool()>> parts;
  std::vector<CallPointer> calls;
};
thread_local Progress in_progress;
thread_local Group group;
std::recursive_mutex registry;
std::map<std::uint64_t, std::shared_ptr<Clique>> cliques;  // by unique id
std::uint64_t ids = 0;
std::atomic<std::size_t> aborted = 0;

constexpr int kLooks = 2;

}  // namespace
}  // namespace plait::emulated

struct ncclComm {
  std::shared_ptr<plait::emulated::Clique> clique;
  int rank = 0;
  std::size_t collectives = 0, splits = 0;
  bool finalized = false;
  std::map<std::pair<int, int>, std::size_t> messages;  // by sender and receiver
};

namespace plait::emulated {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

ncclResult_t begin(ncclComm_t comm, std::function<bool()> done) {
  in_progress = {comm, std::move(done), kLooks};
  return ncclInProgress;
}
bool busy() { return in_progress.comm != nullptr; }

ncclResult_t version(int* v) { return *v = NCCL_VERSION_CODE, ncclSuccess; }
const char* error_string(ncclResult_t) { return "a call that the emulation does not allow"; }
const char* last_error(ncclComm_t) { return "which rule it broke is not said"; }
ncclResult_t unique_id(ncclUniqueId* id) {
  const Lock lock(registry);
  *id = {};
  std::memcpy(id->internal, &++ids, sizeof ids);
  return ncclSuccess;
}

ncclResult_t init(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (busy() || config->blocking != 0) return ncclInvalidUsage;
  const Lock lock(registry);
  std::uint64_t number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  std::shared_ptr<Clique>& clique = cliques[number];
  if (clique == nullptr) clique = std::make_shared<Clique>();
  clique->ranks = static_cast<std::size_t>(ranks);
  ++clique->joined;
  *comm = new ncclComm{clique, rank, 0, 0, false, {}};
  return begin(*comm, [c = clique] { return c->joined == c->ranks; });
}

ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t*) {
  if (busy()) return ncclInvalidUsage;
  const Lock lock(registry);
  const std::size_t number = comm->splits++;
  Clique::Splitting& mine = comm->clique->splits[number];
  ++mine.called;
  if (color != NCCL_SPLIT_NOCOLOR) mine.members[color].emplace_back(key, comm->rank);
  return begin(comm, [=] {
    Clique::Splitting& s = comm->clique->splits[number];
    if (s.called < comm->clique->ranks) return false;
    if (color == NCCL_SPLIT_NOCOLOR) return true;
    auto members = s.members[color];
    std::ranges::sort(members);
    const auto me = std::ranges::find(members, std::pair(key, comm->rank));
    std::shared_ptr<Clique>& clique = s.made[color];
    if (clique == nullptr) clique = std::make_shared<Clique>();
    clique->ranks = members.size();
    *made = new ncclComm{clique, static_cast<int>(me - members.begin()), 0, 0, false, {}};
    return true;
  });
}

ncclResult_t finalize(ncclComm_t comm) {
  if (busy() || comm->finalized) return ncclInvalidUsage;
  const Lock lock(registry);
  comm->finalized = true;
  ++comm->clique->finalized;
  return begin(comm, [c = comm->clique] { return c->finalized == c->ranks; });
}
/// The guide asks for a finalized one: else what was sent may not have left.
ncclResult_t destroy(ncclComm_t comm) {
  if (busy() || !comm->finalized) return ncclInvalidUsage;
  return delete comm, ncclSuccess;
}
ncclResult_t abort(ncclComm_t comm) {
  if (in_progress.comm == comm) in_progress = {};
  ++aborted;
  return delete comm, ncclSuccess;
}

ncclResult_t async_error(ncclComm_t comm, ncclResult_t* state) {
  *state = ncclSuccess;
  if (in_progress.comm != comm) return ncclSuccess;
  const Lock lock(registry);
  if (in_progress.looks-- > 0 || !in_progress.done()) {
    *state = ncclInProgress;
  } else {
    in_progress = {};
  }
  return ncclSuccess;
}

ncclResult_t group_start() {
  if (busy()) return ncclInvalidUsage;
  return ++group.depth, ncclSuccess;
}

/// One task of the stream, which ends when all its parts have.
ncclResult_t group_end() {
  if (group.depth == 0 || busy()) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  const Group all = std::exchange(group, {});
  if (all.parts.empty()) return ncclSuccess;
  const auto held = hold_device();
  for (const CallPointer& c : all.calls) c->before = end_of(all.stream);
  queue_until(all.stream, [parts = all.parts] {
    bool done = true;
    for (const auto& part : parts) done = part() && done;
    return done;
  });
  return begin(all.comm, [] { return true; });
}

ncclResult_t add(ncclComm_t comm, cudaStream_t stream, const CallPointer& call,
                 std::function<bool()> part) {
  if (busy() || (group.comm != nullptr && group.comm != comm)) return ncclInvalidUsage;
  const bool alone = group.depth == 0;
  if (alone) ++group.depth;
  group.comm = comm, group.stream = stream;
  group.calls.push_back(call), group.parts.push_back(std::move(part));
  return alone ? group_end() : ncclSuccess;
}

ncclResult_t collective(ncclComm_t comm, cudaStream_t stream, const Call& values) {
  const auto held = hold_device();
  const auto call = std::make_shared<Call>(values);
  const std::size_t number = comm->collectives++;
  std::shared_ptr<Clique> clique = comm->clique;
  // A rank's own place; those of ranks that have not come yet are empty.
  std::vector<CallPointer>& all = clique->collectives[number];
  all.resize(clique->ranks);
  all[static_cast<std::size_t>(comm->rank)] = call;
  return add(comm, stream, call, [=] { return meet(*clique, number); });
}

ncclResult_t message(ncclComm_t comm, cudaStream_t stream, const Call& values, int from, int to) {
  const auto held = hold_device();
  const auto call = std::make_shared<Call>(values);
  const bool sends = values.in != nullptr;
  // A rank that sends to itself counts either end.
  const std::size_t number = comm->messages[{sends ? from : -1 - from, to}]++;
  std::shared_ptr<Clique> clique = comm->clique;
  Clique::Ends& ends = clique->messages[{from, to, number}];
  (sends ? ends.from : ends.to) = call;
  return add(comm, stream, call, [=, &ends] { return clique != nullptr && deliver(ends); });
}

ncclResult_t all_reduce(const void* in, void* out, std::size_t n, ncclDataType_t type,
                        ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {Kind::kAllReduce, in, out, n, type, op, 0, {}, false});
}
ncclResult_t reduce_scatter(const void* in, void* out, std::size_t n, ncclDataType_t type,
                            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {Kind::kReduceScatter, in, out, n, type, op, 0, {}, false});
}
ncclResult_t reduce(const void* in, void* out, std::size_t n, ncclDataType_t type, ncclRedOp_t op,
                    int root, ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {Kind::kReduce, in, out, n, type, op, root, {}, false});
}
ncclResult_t all_gather(const void* in, void* out, std::size_t n, ncclDataType_t type,
                        ncclComm_t comm, cudaStream_t stream) {
  return collective(comm, stream, {Kind::kAllGather, in, out, n, type, ncclSum, 0, {}, false});
}
ncclResult_t send(const void* data, std::size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                  cudaStream_t stream) {
  const Call call{Kind::kMessage, data, nullptr, n, type, ncclSum, 0, {}, false};
  return message(comm, stream, call, comm->rank, peer);
}
ncclResult_t receive(void* data, std::size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                     cudaStream_t stream) {
  const Call call{Kind::kMessage, nullptr, data, n, type, ncclSum, 0, {}, false};
  return message(comm, stream, call, peer, comm->rank);
}

}  // namespace

std::size_t aborted_communicators() { return aborted; }

}  // namespace plait::emulated

namespace plait::nccl {

const Api& api() {
  namespace e = emulated;
  static const Api emulation = {
      e::version,    e::error_string,   e::last_error, e::unique_id,   e::init,        e::split,
      e::finalize,   e::destroy,        e::abort,      e::async_error, e::group_start, e::group_end,
      e::all_reduce, e::reduce_scatter, e::reduce,     e::all_gather,  e::send,        e::receive};
  return emulation;
}

}  // namespace plait::nccl
