#include "realrun/transport/nccl/nccl_exchange.h"

#include <algorithm>

#include "core/error.h"

namespace plait::nccl {

namespace {

/// Of n equal parts, the one that goes to or comes from member p.
Part share_with(Part whole, std::int64_t n, std::int64_t p) {
  whole.elements /= n, whole.first += p * whole.elements;
  return whole;
}

}  // namespace

NcclExchange::NcclExchange(const Groups& groups, std::int64_t rank, const cuda::Lane& lane,
                           const Exchange& exchange, const Operands& operands,
                           std::vector<DType> types, std::string what)
    : groups_(groups),
      rank_(rank),
      lane_(lane),
      exchange_(exchange),
      operands_(operands),
      types_(std::move(types)),
      what_(std::move(what)) {}

bool NcclExchange::advance(Transport& transport) {
  if (!queued_) {
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
  const DType t = types_.at(p.operand);
  return t == DType::kFp32 ? ncclFloat32 : t == DType::kBf16 ? ncclBfloat16 : ncclInt8;
}

void NcclExchange::queue(const MessageEnd& m) {
  const bool out = m.flow == Flow::kOut;
  comm_ = groups_.find(m.channel, out ? std::vector{rank_, m.peer} : std::vector{m.peer, rank_});
  const auto n = static_cast<std::size_t>(m.part.elements);
  const Api& nccl = groups_.api();
  nccl.check(out ? nccl.send(at(m.part), n, type(m.part), 1, comm_, lane_.stream)
                 : nccl.receive(at(m.part), n, type(m.part), 0, comm_, lane_.stream),
             what_);
}

void NcclExchange::queue(const CollectiveOf<Part>& c) {
  if (c.group.size() == 1) {  // out of place: still a copy
    if (c.in_place) return;
    const auto bytes = static_cast<std::size_t>(c.in[0].elements * size_of(types_[0]));
    CUDA_CHECK(
        cudaMemcpyAsync(at(c.out[0]), at(c.in[0]), bytes, cudaMemcpyDeviceToDevice, lane_.stream));
    return;
  }
  comm_ = groups_.find(c.channel, c.group);
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
    case CollectiveKind::kAllGather: {
      const auto n = static_cast<std::int64_t>(c.group.size());
      Part own = c.in[0];  // in place: of the whole, the own share
      if (c.in_place) own.elements /= n, own.first += c.index * own.elements;
      nccl.check(nccl.all_gather(at(own), at(c.out[0]), count(own), type(own), comm_, lane_.stream),
                 what_);
      break;
    }
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
    case CollectiveKind::kPush:
    case CollectiveKind::kPull:
    case CollectiveKind::kBroadcast: PLAIT_CHECK(false, "a collective that no strategy plans");
  }
  nccl.check(nccl.group_end(), what_);
}

void NcclExchange::exchange(const Part& out, std::int64_t to, const Part& in, std::int64_t from) {
  const Api& nccl = groups_.api();
  nccl.check(nccl.send(at(out), static_cast<std::size_t>(out.elements), type(out),
                       static_cast<int>(to), comm_, lane_.stream),
             what_);
  nccl.check(nccl.receive(at(in), static_cast<std::size_t>(in.elements), type(in),
                          static_cast<int>(from), comm_, lane_.stream),
             what_);
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
