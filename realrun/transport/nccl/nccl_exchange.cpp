#include "realrun/transport/nccl/nccl_exchange.h"

#include <cuda_bf16.h>

#include <algorithm>

#include "core/error.h"
#include "kernels/cuda/add.h"
#include "plan/collectives/rounds.h"

namespace plait::nccl {

namespace {

/// Of n equal parts, the one that goes to or comes from member p.
Part share_with(Part whole, std::int64_t n, std::int64_t p) {
  whole.elements /= n, whole.first += p * whole.elements;
  return whole;
}

/// Of a push or pull, what server `share` keeps of a worker's buffer.
Part kept_by(Part whole, const Servers& servers, std::int64_t share) {
  const Range range = share_of(whole.elements, servers.count, share);
  return {whole.operand, whole.first + range.first, range.elements};
}

}  // namespace

NcclExchange::NcclExchange(const Groups& groups, const Addends& addends, std::int64_t rank,
                           const cuda::Lane& lane, const Exchange& exchange,
                           const Operands& operands, std::vector<DType> types, std::string what)
    : groups_(groups),
      addends_(addends),
      rank_(rank),
      lane_(lane),
      exchange_(exchange),
      operands_(operands),
      types_(std::move(types)),
      what_(std::move(what)) {}

bool NcclExchange::advance(Transport& transport) {
  if (!queued_) {
    choose_group();
    cuda::enter(lane_);
    std::visit([this](const auto& e) { queue(e); }, exchange_);
    arrival_.queue(lane_.stream, transport);
    queued_ = true;
  }
  if (comm_ != nullptr) {
    ncclResult_t error = ncclSuccess;
    groups_.api().check(groups_.api().async_error(comm_, &error), what_);
    groups_.api().check(error, what_);
  }
  return arrival_.arrived();
}

void* NcclExchange::at(const Part& p) const {
  return cuda::address_of(p, types_.at(p.operand), operands_);
}

ncclDataType_t NcclExchange::type(const Part& p) const {
  switch (types_.at(p.operand)) {
    case DType::kFp32: return ncclFloat32;
    case DType::kBf16: return ncclBfloat16;
    case DType::kInt64: return ncclInt64;
    default: return ncclInt8;
  }
}

void NcclExchange::choose_group() {
  const auto* m = std::get_if<PointToPoint>(&exchange_);
  if (m == nullptr) {
    const auto& c = std::get<CollectiveOf<Part>>(exchange_);
    if (c.group.size() > 1) comm_ = groups_.find(c.channel, c.group).comm;
    return;
  }
  const bool out = m->flow == Flow::kOut;
  const std::int64_t peer = m->messages.at(0).peer;
  const Groups::Group& pair =
      groups_.find(m->channel, out ? std::vector{rank_, peer} : std::vector{peer, rank_});
  comm_ = pair.comm, lane_.stream = pair.stream.get();
}

void NcclExchange::queue(const PointToPoint& m) {
  const bool out = m.flow == Flow::kOut;
  const Part& part = m.messages.at(0).part;
  const auto n = static_cast<std::size_t>(part.elements);
  const Api& nccl = groups_.api();
  nccl.settle(comm_,
              out ? nccl.send(at(part), n, type(part), 1, comm_, lane_.stream)
                  : nccl.receive(at(part), n, type(part), 0, comm_, lane_.stream),
              what_);
}

void NcclExchange::queue(const CollectiveOf<Part>& c) {
  if (c.group.size() == 1) {  // out of place: still a copy
    if (c.in_place) return;
    return copy(at(c.out[0]), at(c.in[0]), c.in[0]);
  }
  const Api& nccl = groups_.api();
  const ncclRedOp_t op = c.reduction == Reduction::kSum ? ncclSum : ncclMax;
  const auto count = [](const Part& p) { return static_cast<std::size_t>(p.elements); };
  nccl.check(nccl.group_start(), what_);
  switch (c.kind) {
    case CollectiveKind::kAllReduce:
      for (std::size_t i = 0; i < c.in.size(); ++i) {
        nccl.check(nccl.all_reduce(at(c.in[i]), at(c.out[i]), count(c.in[i]), type(c.in[i]), op,
                                   comm_, lane_.stream),
                   what_);
      }
      break;
    case CollectiveKind::kAllGather: gather(c); break;
    case CollectiveKind::kReduceScatter: scatter(c, op); break;
    case CollectiveKind::kAllToAll: {
      const auto n = static_cast<std::int64_t>(c.group.size());
      for (std::int64_t p = 0; p < n; ++p)
        exchange(share_with(c.in[0], n, p), p, share_with(c.out[0], n, p), p);
      break;
    }
    case CollectiveKind::kShift: {
      const auto n = static_cast<std::int64_t>(c.group.size());
      exchange(c.in[0], (c.index + 1) % n, c.out[0], (c.index + n - 1) % n);
      break;
    }
    case CollectiveKind::kPush: push(c); break;
    case CollectiveKind::kPull: pull(c); break;
    case CollectiveKind::kBroadcast: PLAIT_CHECK(false, "a collective that no strategy plans");
  }
  nccl.settle(comm_, nccl.group_end(), what_);
  if (c.kind == CollectiveKind::kPush) add_up(c);
}

void NcclExchange::gather(const CollectiveOf<Part>& c) {
  Part own = c.in[0];  // in place: of the whole, the own share
  if (c.in_place) {
    own.elements /= static_cast<std::int64_t>(c.group.size());
    own.first += c.index * own.elements;
  }
  const auto count = static_cast<std::size_t>(own.elements);
  groups_.api().check(
      groups_.api().all_gather(at(own), at(c.out[0]), count, type(own), comm_, lane_.stream),
      what_);
}

void NcclExchange::exchange(const Part& out, std::int64_t to, const Part& in, std::int64_t from) {
  send(out, to);
  receive(at(in), in, from);
}

void NcclExchange::send(const Part& out, std::int64_t to) {
  groups_.api().check(groups_.api().send(at(out), static_cast<std::size_t>(out.elements), type(out),
                                         static_cast<int>(to), comm_, lane_.stream),
                      what_);
}

void NcclExchange::receive(void* in, const Part& like, std::int64_t from) {
  groups_.api().check(groups_.api().receive(in, static_cast<std::size_t>(like.elements), type(like),
                                            static_cast<int>(from), comm_, lane_.stream),
                      what_);
}

/// All workers' shares come at once, as in plan/collectives/served.cpp.
void NcclExchange::push(const CollectiveOf<Part>& c) {
  const auto n = static_cast<std::int64_t>(c.group.size());
  for (std::int64_t share = 0; !c.in.empty() && share < c.servers.count; ++share) {
    const std::int64_t to = c.servers.member_of(n, share);
    if (to != c.index) send(kept_by(c.in[0], c.servers, share), to);
  }
  if (c.out.empty()) return;
  auto* room = static_cast<std::byte*>(addends_.room);
  for (std::int64_t from = 0; from < c.servers.workers(n); ++from) {
    if (from != c.index) receive(room, c.out[0], from);
    room += bytes_of(c.out[0]);
  }
}

/// The own gradient, or the first worker's, and then the others' in the order of the workers.
void NcclExchange::add_up(const CollectiveOf<Part>& c) {
  if (c.out.empty()) return;
  const auto n = static_cast<std::int64_t>(c.group.size());
  const Part& sum = c.out[0];
  const auto* room = static_cast<const std::byte*>(addends_.room);
  const bool works = !c.in.empty();
  const std::int64_t first = works ? c.index : 0;
  copy(at(sum),
       works ? at(kept_by(c.in[0], c.servers, c.servers.share_of(n, c.index)))
             : static_cast<const void*>(room),
       sum);
  const kernels::cuda::Queue queue{lane_.stream, addends_.multiprocessors};
  for (std::int64_t from = 0; from < c.servers.workers(n); ++from) {
    const std::byte* const addend = room + static_cast<std::size_t>(from) * bytes_of(sum);
    if (from == first) continue;
    const auto add = [&]<class T>(T) {
      kernels::cuda::accumulate(queue, static_cast<T*>(at(sum)), reinterpret_cast<const T*>(addend),
                                sum.elements);
    };
    types_.at(sum.operand) == DType::kFp32 ? add(float{}) : add(__nv_bfloat16{});
  }
}

void NcclExchange::pull(const CollectiveOf<Part>& c) {
  const auto n = static_cast<std::int64_t>(c.group.size());
  for (std::int64_t to = 0; !c.in.empty() && to < c.servers.workers(n); ++to) {
    if (to != c.index) send(c.in[0], to);
  }
  for (std::int64_t share = 0; !c.out.empty() && share < c.servers.count; ++share) {
    const std::int64_t from = c.servers.member_of(n, share);
    const Part part = kept_by(c.out[0], c.servers, share);
    from == c.index ? copy(at(part), at(c.in[0]), part) : receive(at(part), part, from);
  }
}

std::size_t NcclExchange::bytes_of(const Part& part) const {
  return static_cast<std::size_t>(part.elements * size_of(types_.at(part.operand)));
}

void NcclExchange::copy(void* to, const void* from, const Part& like) {
  CUDA_CHECK(cudaMemcpyAsync(to, from, bytes_of(like), cudaMemcpyDeviceToDevice, lane_.stream));
}

/// In place the pieces are the ranks' shares, one rank's behind the other's: as a whole where they
/// lie so, else each share is reduced to its rank.
void NcclExchange::scatter(const CollectiveOf<Part>& c, ncclRedOp_t op) {
  const Api& nccl = groups_.api();
  const auto n = c.group.size(), mine = static_cast<std::size_t>(c.index);
  if (!c.in_place || makes_one_buffer(c)) {
    const Part& out = c.in_place ? c.in[mine] : c.out[0];
    return nccl.check(
        nccl.reduce_scatter(at(c.in[0]), at(out), static_cast<std::size_t>(out.elements), type(out),
                            op, comm_, lane_.stream),
        what_);
  }
  const std::size_t each = c.in.size() / n;  // pieces of a rank
  PLAIT_CHECK(each * n == c.in.size(), "shares of different pieces");
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Part& p = c.in[i];
    nccl.check(nccl.reduce(at(p), at(p), static_cast<std::size_t>(p.elements), type(p), op,
                           static_cast<int>(i / each), comm_, lane_.stream),
               what_);
  }
}

bool NcclExchange::makes_one_buffer(const CollectiveOf<Part>& c) const {
  if (c.in.size() != c.group.size()) return false;
  for (std::size_t i = 1; i < c.in.size(); ++i) {
    const Part &a = c.in[i - 1], &b = c.in[i];
    if (a.operand != b.operand || a.elements != b.elements || a.first + a.elements != b.first) {
      return false;
    }
  }
  return true;
}

}  // namespace plait::nccl
