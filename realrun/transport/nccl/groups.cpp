#include "realrun/transport/nccl/groups.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "core/error.h"
#include "plan/places.h"
#include "realrun/control.h"

namespace plait::nccl {
namespace {

constexpr double kPatience = 60;  // seconds, until all ranks have come

/// By their size: those of stages that differ in their tensor-parallel degree are not alike.
std::map<std::size_t, std::vector<std::vector<std::int64_t>>> groups_of(const Plan& plan,
                                                                        const Collective& c) {
  std::map<std::size_t, std::vector<std::vector<std::int64_t>>> out;
  std::vector<char> seen(static_cast<std::size_t>(rank_count(plan)));
  for (std::int64_t r = 0; r < rank_count(plan); ++r) {
    if (seen[static_cast<std::size_t>(r)] != 0) continue;
    std::vector<std::int64_t> group = members(plan, r, c.axes, c.stages);
    if (std::ranges::find(group, r) == group.end()) continue;
    for (std::int64_t m : group) seen[static_cast<std::size_t>(m)] = 1;
    out[group.size()].push_back(std::move(group));
  }
  return out;
}

/// Returns where they are in `to`.
std::vector<std::size_t> add_groups(std::vector<Split>& to, const Plan& plan, const Op& op,
                                    const Collective& c) {
  std::vector<std::size_t> added;
  for (auto& [size, groups] : groups_of(plan, c)) {
    added.push_back(to.size());
    to.push_back({static_cast<int>(op.stream), std::move(groups)});
  }
  return added;
}

/// Of what is not one of NCCL's own collectives, in a group of n.
void add_links(std::set<Link>& to, const Collective& c, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (c.kind == CollectiveKind::kShift) to.insert({i, (i + 1) % n});
    for (std::int64_t j = 0; j < n; ++j) {
      const bool served = c.servers.works(n, i) && c.servers.share_of(n, j) >= 0;
      if (c.kind == CollectiveKind::kAllToAll) to.insert({i, j});
      if (c.kind == CollectiveKind::kPush && served) to.insert({i, j});
      if (c.kind == CollectiveKind::kPull && served) to.insert({j, i});
    }
  }
  std::erase_if(to, [](const Link& link) { return link.first == link.second; });
}

/// Messages of one kind: every pair once, in as few splits as leave ranks in one pair each.
void add_messages(std::vector<Split>& to, const Plan& plan, const Send& send, Stream channel) {
  const int stream = static_cast<int>(channel);
  std::vector<Split> all;
  for (std::int64_t r = 0; r < rank_count(plan); ++r) {
    for (const std::int64_t peer : peers(plan, r, send.axis, send.offset)) {
      if (peer == r) continue;
      const auto free = std::ranges::find_if(all, [&](const Split& s) {
        return std::ranges::none_of(s.groups, [&](const std::vector<std::int64_t>& g) {
          return g[0] == r || g[1] == r || g[0] == peer || g[1] == peer;
        });
      });
      Split& split =
          free != all.end() ? *free : all.emplace_back(Split{stream, {}, {{0, 1}}, true});
      split.groups.push_back({r, peer});
    }
  }
  to.insert(to.end(), all.begin(), all.end());
}

}  // namespace

std::vector<Split> splits_of(const Plan& plan) {
  std::vector<Split> out;
  using Over = std::tuple<Stream, std::uint64_t, Stages>;
  std::map<Over, std::vector<std::size_t>> known;  // in `out`
  std::map<Stream, Send> messages;                 // by channel
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      if (const Collective* c = std::get_if<Collective>(&op.body)) {
        const auto bits = static_cast<std::uint64_t>(c->axes.bits());
        const auto [at, first] = known.try_emplace({op.stream, bits, c->stages});
        if (first) at->second = add_groups(out, plan, op, *c);
        for (const std::size_t i : at->second) {
          add_links(out[i].links, *c, static_cast<std::int64_t>(out[i].groups[0].size()));
        }
      }
      if (const Send* s = std::get_if<Send>(&op.body)) messages.emplace(channel_of(op), *s);
    }
  }
  for (const auto& [channel, send] : messages) add_messages(out, plan, send, channel);
  return out;
}

Groups::Groups(const Api& api, const std::vector<Split>& splits, Transport& transport)
    : api_(api), stream_(cuda::make_stream()), bytes_(cuda::device_block(2)) {
  const auto ranks = static_cast<int>(transport.ranks()), rank = static_cast<int>(transport.rank());
  ncclUniqueId id{};
  if (rank == 0) api_.check(api_.unique_id(&id), "ncclGetUniqueId");
  id = Control(transport, kPatience).agreed(id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  try {
    const ncclResult_t begun = api_.init(&world_, ranks, id, rank, &config);
    api_.settle(world_, begun, "ncclCommInitRankConfig");
    for (const Split& split : splits) make(split, rank);
  } catch (...) {
    abort();  // before the stream is waited for that has messages nobody takes
    throw;
  }
}

/// The new communicator is known when the one that is split has settled, and usable when it has
/// settled itself.
void Groups::make(const Split& split, std::int64_t rank) {
  int color = NCCL_SPLIT_NOCOLOR, key = 0;
  const std::vector<std::int64_t>* mine = nullptr;
  for (const std::vector<std::int64_t>& group : split.groups) {
    const auto at = std::ranges::find(group, rank);
    if (at == group.end()) continue;
    color = static_cast<int>(group.front()), key = static_cast<int>(at - group.begin());
    mine = &group;
  }
  ncclComm_t comm = nullptr;
  api_.settle(world_, api_.split(world_, color, key, &comm, nullptr), "ncclCommSplit");
  if (mine == nullptr) return;
  Group& made = groups_[{split.stream, *mine}];
  made.comm = comm;
  if (split.messages) made.stream = cuda::make_stream();
  api_.settle(comm, ncclSuccess, "ncclCommSplit");
  if (!split.links.empty()) connect(comm, split.links, key);
}

/// One byte over every link.
void Groups::connect(ncclComm_t comm, const std::set<Link>& links, std::int64_t member) {
  const std::string what = "the first messages of a group";
  auto* const out = static_cast<std::byte*>(bytes_.get());
  api_.check(api_.group_start(), what);
  for (const auto& [from, to] : links) {
    const auto sender = static_cast<int>(from), receiver = static_cast<int>(to);
    if (from == member)
      api_.check(api_.send(out, 1, ncclInt8, receiver, comm, stream_.get()), what);
    if (to != member) continue;
    api_.check(api_.receive(out + 1, 1, ncclInt8, sender, comm, stream_.get()), what);
  }
  api_.settle(comm, api_.group_end(), what);
  wait(comm, stream_.get(), what);
}

void Groups::wait(ncclComm_t comm, cudaStream_t stream, const std::string& what) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kPatience);
  for (cudaError_t state = cudaErrorNotReady; state == cudaErrorNotReady;) {
    api_.settle(comm, ncclSuccess, what);
    state = cudaStreamQuery(stream);
    if (state != cudaErrorNotReady) CUDA_CHECK(state);
    if (std::chrono::steady_clock::now() > end) {
      throw EnvironmentError("NCCL waits for other ranks in " + what + ", in vain");
    }
  }
}

/// What a stream has sent may not have left its rank yet: finalizing waits until the communicator
/// is quiet everywhere (nccl.h, ncclCommFinalize). Ranks meet in one order of communicators.
void Groups::finish() {
  const auto end = [this](ncclComm_t& comm) {
    api_.settle(comm, api_.finalize(comm), "ncclCommFinalize");
    api_.check(api_.destroy(std::exchange(comm, nullptr)), "ncclCommDestroy");
  };
  for (auto& [ranks, group] : groups_) end(group.comm);
  end(world_);
}

void Groups::abort() {
  for (auto& [ranks, group] : groups_) {
    if (group.comm != nullptr) api_.abort(std::exchange(group.comm, nullptr));
  }
  if (world_ != nullptr) api_.abort(std::exchange(world_, nullptr));
}

Groups::~Groups() {
  if (std::uncaught_exceptions() == 0) {
    try {
      finish();
    } catch (const EnvironmentError&) {  // another rank has failed
    }
  }
  abort();  // what is left
}

const Groups::Group& Groups::find(int stream, const std::vector<std::int64_t>& group) const {
  const auto found = groups_.find({stream, group});
  PLAIT_CHECK(found != groups_.end(), "a group that no split made");
  return found->second;
}

}  // namespace plait::nccl
