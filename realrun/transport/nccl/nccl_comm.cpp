#include "realrun/transport/nccl/nccl_comm.h"

#include <algorithm>

#include "core/error.h"

namespace plait::nccl {
namespace {

constexpr const char* kWhat = "a measured collective";

/// One split for each group: they share ranks.
std::vector<Split> splits_for(const std::vector<RankGroup>& groups) {
  std::vector<Split> out;
  for (const RankGroup& group : groups) {
    Split split{0, {group}};
    const auto n = static_cast<std::int64_t>(group.size());
    for (std::int64_t i = 0; i < n * n; ++i) {
      if (i / n != i % n) split.links.insert({i / n, i % n});  // of an all_to_all
    }
    out.push_back(std::move(split));
  }
  return out;
}

std::size_t place_in(const RankGroup& group, std::int64_t rank) {
  return static_cast<std::size_t>(std::ranges::find(group, rank) - group.begin());
}

}  // namespace

NcclComm::NcclComm(Transport& transport, const std::vector<RankGroup>& groups, std::int64_t bytes)
    : rank_(transport.rank()),
      stream_(cuda::make_stream()),
      begin_(cuda::make_event()),
      end_(cuda::make_event()),
      in_(cuda::device_block(static_cast<std::size_t>(bytes))),
      out_(cuda::device_block(static_cast<std::size_t>(bytes))),
      groups_(api(), splits_for(groups), transport) {
  for (const cuda::DeviceBlock* block : {&in_, &out_}) {
    CUDA_CHECK(cudaMemset(block->get(), 0, static_cast<std::size_t>(bytes)));
  }
  CUDA_CHECK(cudaDeviceSynchronize());
}

template <class F>
double NcclComm::timed(ncclComm_t comm, std::int64_t repeats, F&& queue) {
  queue();  // all have come
  CUDA_CHECK(cudaEventRecord(begin_.get(), stream_.get()));
  for (std::int64_t i = 0; i < repeats; ++i) queue();
  CUDA_CHECK(cudaEventRecord(end_.get(), stream_.get()));
  groups_.wait(comm, stream_.get(), kWhat);
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, begin_.get(), end_.get()));
  return static_cast<double>(ms) * 1e-3 / static_cast<double>(repeats);
}

double NcclComm::collective(CollectiveKind kind, const RankGroup& group, std::int64_t elements,
                            bool in_place, std::int64_t repeats) {
  return timed(groups_.find(0, group).comm, repeats,
               [&] { queue(kind, group, elements, in_place); });
}

void NcclComm::queue(CollectiveKind kind, const RankGroup& group, std::int64_t elements,
                     bool in_place) {
  run(kind, groups_.find(0, group).comm, group.size(), place_in(group, rank_),
      static_cast<std::size_t>(elements), in_place);
}

void NcclComm::wait(const RankGroup& group) const {
  groups_.wait(groups_.find(0, group).comm, stream_.get(), kWhat);
}

/// In place as NCCL has it: a share lies where it stands in the whole buffer.
void NcclComm::run(CollectiveKind kind, ncclComm_t comm, std::size_t members, std::size_t index,
                   std::size_t elements, bool in_place) {
  const Api& nccl = groups_.api();
  auto* const out = static_cast<float*>(out_.get());
  auto* const in = in_place ? out : static_cast<float*>(in_.get());
  const std::size_t share = elements / members, own = in_place ? index * share : 0;
  const cudaStream_t s = stream_.get();
  nccl.check(nccl.group_start(), kWhat);
  switch (kind) {
    case CollectiveKind::kAllReduce:
      nccl.check(nccl.all_reduce(in, out, elements, ncclFloat32, ncclSum, comm, s), kWhat);
      break;
    case CollectiveKind::kAllGather:
      nccl.check(nccl.all_gather(in + own, out, share, ncclFloat32, comm, s), kWhat);
      break;
    case CollectiveKind::kReduceScatter:
      nccl.check(nccl.reduce_scatter(in, out + own, share, ncclFloat32, ncclSum, comm, s), kWhat);
      break;
    case CollectiveKind::kAllToAll:
      for (std::size_t p = 0; p < members; ++p) {
        const auto peer = static_cast<int>(p);
        nccl.check(nccl.send(in + p * share, share, ncclFloat32, peer, comm, s), kWhat);
        nccl.check(nccl.receive(out + p * share, share, ncclFloat32, peer, comm, s), kWhat);
      }
      break;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kShift:
    case CollectiveKind::kPush:
    case CollectiveKind::kPull: PLAIT_CHECK(false, "a collective that is not measured");
  }
  nccl.settle(comm, nccl.group_end(), kWhat);
}

double NcclComm::message(const RankGroup& pair, std::int64_t bytes, std::int64_t repeats) {
  const ncclComm_t comm = groups_.find(0, pair).comm;
  const Api& nccl = groups_.api();
  const auto n = static_cast<std::size_t>(bytes);
  const bool begins = place_in(pair, rank_) == 0;
  const int other = begins ? 1 : 0;
  const auto go = [&](bool sends) {
    nccl.settle(comm,
                sends ? nccl.send(in_.get(), n, ncclInt8, other, comm, stream_.get())
                      : nccl.receive(out_.get(), n, ncclInt8, other, comm, stream_.get()),
                "a measured message");
  };
  return 0.5 * timed(comm, repeats, [&] { go(begins), go(!begins); });
}

}  // namespace plait::nccl
