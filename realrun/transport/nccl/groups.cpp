#include "realrun/transport/nccl/groups.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "realrun/control.h"

namespace plait::nccl {
namespace {

constexpr double kPatience = 60;  // seconds, until all ranks have come

Split collectives(const Plan& plan, const Op& op, const Collective& c) {
  Split out{static_cast<int>(op.stream), {}};
  std::vector<char> seen(static_cast<std::size_t>(plan.mesh.world_size()));
  for (std::int64_t r = 0; r < plan.mesh.world_size(); ++r) {
    if (seen[static_cast<std::size_t>(r)] != 0) continue;
    std::vector<std::int64_t> group = members(plan.mesh, r, c.axes, c.stages);
    if (std::ranges::find(group, r) == group.end()) continue;
    for (std::int64_t m : group) seen[static_cast<std::size_t>(m)] = 1;
    out.groups.push_back(std::move(group));
  }
  return out;
}

/// Messages of one kind: every pair once, in as few splits as leave ranks in one pair each.
void add_messages(std::vector<Split>& to, const Plan& plan, const Send& send, Stream channel) {
  const int stream = static_cast<int>(channel);
  std::vector<Split> all;
  for (std::int64_t r = 0; r < plan.mesh.world_size(); ++r) {
    const std::int64_t peer = plan.mesh.neighbour(r, send.axis, send.offset);
    if (peer == r) continue;
    const auto free = std::ranges::find_if(all, [&](const Split& s) {
      return std::ranges::none_of(s.groups, [&](const std::vector<std::int64_t>& g) {
        return g[0] == r || g[1] == r || g[0] == peer || g[1] == peer;
      });
    });
    (free != all.end() ? *free : all.emplace_back(Split{stream, {}})).groups.push_back({r, peer});
  }
  to.insert(to.end(), all.begin(), all.end());
}

}  // namespace

std::vector<Split> splits_of(const Plan& plan) {
  std::vector<Split> out;
  std::set<std::tuple<Stream, std::uint64_t, Stages>> known;
  std::map<Stream, Send> messages;  // by channel
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      if (const Collective* c = std::get_if<Collective>(&op.body)) {
        const auto bits = static_cast<std::uint64_t>(c->axes.bits());
        if (known.insert({op.stream, bits, c->stages}).second) {
          out.push_back(collectives(plan, op, *c));
        }
      }
      if (const Send* s = std::get_if<Send>(&op.body)) messages.emplace(channel_of(op), *s);
    }
  }
  for (const auto& [channel, send] : messages) add_messages(out, plan, send, channel);
  return out;
}

Groups::Groups(const Api& api, const Plan& plan, Transport& transport) : api_(api) {
  const auto ranks = static_cast<int>(transport.ranks()), rank = static_cast<int>(transport.rank());
  ncclUniqueId id{};
  if (rank == 0) api_.check(api_.unique_id(&id), "ncclGetUniqueId");
  std::vector<std::byte> bytes(sizeof id);
  std::memcpy(bytes.data(), &id, sizeof id);
  bytes = Control(transport, kPatience).broadcast(bytes);
  PLAIT_CHECK(bytes.size() == sizeof id, "another NCCL on another rank");
  std::memcpy(&id, bytes.data(), sizeof id);
  api_.check(api_.init(&world_, ranks, id, rank), "ncclCommInitRank");
  for (const Split& split : splits_of(plan)) {
    int color = NCCL_SPLIT_NOCOLOR, key = 0;
    const std::vector<std::int64_t>* mine = nullptr;
    for (const std::vector<std::int64_t>& group : split.groups) {
      const auto at = std::ranges::find(group, std::int64_t{rank});
      if (at == group.end()) continue;
      color = static_cast<int>(group.front()), key = static_cast<int>(at - group.begin());
      mine = &group;
    }
    ncclComm_t comm = nullptr;
    api_.check(api_.split(world_, color, key, &comm, nullptr), "ncclCommSplit");
    if (mine != nullptr) groups_[{split.stream, *mine}] = comm;
  }
}

Groups::~Groups() {
  for (const auto& [group, comm] : groups_) api_.abort(comm);
  api_.abort(world_);
}

ncclComm_t Groups::find(int stream, const std::vector<std::int64_t>& group) const {
  const auto found = groups_.find({stream, group});
  PLAIT_CHECK(found != groups_.end(), "a group that no split made");
  return found->second;
}

}  // namespace plait::nccl
