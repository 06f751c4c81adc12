#include "realrun/exchange.h"

#include <algorithm>

#include "core/error.h"
#include "plan/collectives/rounds.h"
#include "plan/places.h"
#include "realrun/start_values.h"

namespace plait {

std::optional<Exchange> ExchangeReader::read(const Op& op) {
  if (const Collective* c = std::get_if<Collective>(&op.body)) return collective(*c, op);
  scattered_ = {};
  if (const Send* s = std::get_if<Send>(&op.body)) {
    return message(op, *s, Flow::kOut);
  }
  if (const Recv* r = std::get_if<Recv>(&op.body)) {
    return message(op, *r, Flow::kIn);
  }
  return std::nullopt;
}

/// A receiver puts what its peers send one behind the other. A sender that has a shard of that
/// gives each peer its part of the shard; one that has all of it, as others have, its part of the
/// whole.
template <class M>
PointToPoint ExchangeReader::message(const Op& op, const M& m, Flow flow) const {
  const Tensor& t = plan_.tensors[op.operands.at(0).tensor];
  PointToPoint end{.flow = flow,
                   .channel = static_cast<int>(channel_of(op)),
                   .tag = hash_of(t.name),
                   .messages = {}};
  const Part all = whole(op, 0);
  const std::int64_t each = m.bytes.value / size_of(t.dtype);
  const bool dealt = all.elements == each * m.fan.peers;  // to the peers, or by them
  std::int64_t part = dealt ? 0 : rank_.along(Axis::kTp) % m.fan.sharers;
  for (const std::int64_t peer : peers(plan_, rank_.id, m.axis, m.offset)) {
    end.messages.push_back({peer, {0, part * each, each}});
    part += dealt ? 1 : 0;
  }
  return end;
}

Part ExchangeReader::whole(const Op& op, std::size_t i) const {
  return {i, 0, plan_.tensors[op.operands.at(i).tensor].elements(plan_.mesh)};
}

/// Elements [first, first + elements) of the operands, one behind the other.
std::vector<Part> ExchangeReader::contiguous(const Op& op, std::int64_t first,
                                             std::int64_t elements) const {
  std::vector<Part> out;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    Part p = whole(op, i);
    const std::int64_t skip = std::min(first, p.elements);
    first -= skip;
    p.first += skip, p.elements = std::min(p.elements - skip, elements);
    elements -= p.elements;
    if (p.elements > 0) out.push_back(p);
  }
  return out;
}

/// Rank `rank`'s part of what is scattered.
void ExchangeReader::add_share(std::vector<Part>& to, const Op& op, std::int64_t rank) const {
  std::int64_t begin = 0;  // of this operand among the shares
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Part p = whole(op, i);
    const std::int64_t share = p.elements / scattered_.shares;
    PLAIT_CHECK(share * scattered_.shares == p.elements, "a buffer without equal shares");
    const std::int64_t from = std::max(begin, scattered_.first);
    const std::int64_t to_end = std::min(begin + share, scattered_.end);
    if (from < to_end) to.push_back({i, rank * share + (from - begin), to_end - from});
    begin += share;
  }
}

bool ExchangeReader::continues_scattered(const Collective& c, const Op& op) const {
  if (scattered_.op == nullptr) return false;
  const Collective& before = std::get<Collective>(scattered_.op->body);
  const auto same_member = [](const Operand& a, const Operand& b) {
    return a.tensor == b.tensor && a.shift == b.shift;
  };
  return c.kind == CollectiveKind::kAllReduce && c.first == before.first &&
         c.elements == before.elements / scattered_.shares &&
         std::ranges::equal(op.operands, scattered_.op->operands, same_member);
}

CollectiveOf<Part> ExchangeReader::collective(const Collective& c, const Op& op) {
  CollectiveOf<Part> run;
  run.kind = c.kind, run.reduction = c.reduction;
  run.group = members(plan_, rank_.id, c.axes, c.stages);
  run.index = std::find(run.group.begin(), run.group.end(), rank_.id) - run.group.begin();
  run.in_place = op.operands[0].use == Use::kUpdate;
  run.channel = static_cast<int>(op.stream);
  run.tag = hash_of(name_of(op)) + static_cast<std::uint64_t>(c.axes.bits());
  run.bytes = c.bytes(), run.dtype = c.dtype;
  const bool scatters = c.kind == CollectiveKind::kReduceScatter;
  if (is_served(c.kind)) {
    const bool push = c.kind == CollectiveKind::kPush;
    run.servers = c.servers;
    if (push ? rank_.role.works : rank_.role.serves) run.in = {whole(op, 0)};
    if (push ? rank_.role.serves : rank_.role.works) run.out = {whole(op, 1)};
  } else if (!run.in_place) {
    run.in = {whole(op, 0)}, run.out = {whole(op, 1)};
  } else if (c.kind == CollectiveKind::kAllGather) {
    run.in = {whole(op, 0)};
  } else if (scatters) {
    const auto n = static_cast<std::int64_t>(run.group.size());
    scattered_ = {&op, n, run.index, c.first / n, (c.first + c.elements) / n};
    for (std::int64_t r = 0; r < n; ++r) add_share(run.in, op, r);
  } else if (continues_scattered(c, op)) {
    add_share(run.in, op, scattered_.own);
  } else {
    run.in = contiguous(op, c.first, c.elements);
  }
  if (run.in_place) run.out = run.in;
  if (!(scatters && run.in_place)) scattered_ = {};
  return run;
}

}  // namespace plait
