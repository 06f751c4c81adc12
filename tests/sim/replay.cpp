#include "tests/sim/replay.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/random.h"
#include "sim/network/flow_network.h"
#include "sim/network/link_capacity.h"

namespace plait {
namespace {

/// From one member to another: the links, what they can carry, and what is on its way.
struct Channel {
  std::vector<LinkUse> uses;
  FlowRate rate = 0;
  SimTime latency = 0;
  std::uint32_t sender = 0, receiver = 0;
  // Transfers whose send, or receive, has begun before the other: one kind at a time.
  std::int32_t sends_ahead = 0;
  std::vector<std::int64_t> waiting;  // bytes of the sends ahead, oldest first
};

/// A transfer of a member's round.
struct End {
  std::uint32_t channel = 0;
  bool sends = false;
  std::int64_t bytes = 0;
};

/// One behind the other.
struct RepeatedRounds {
  std::vector<End> ends;
  std::int32_t times = 1;
};

bool alike(const Transfer& a, const Transfer& b) {
  return a.direction == b.direction && a.peer == b.peer && a.range.elements == b.range.elements;
}

struct ReplayedMember {
  std::vector<RepeatedRounds> rounds;
  std::size_t at = 0;       // in rounds
  std::int32_t repeat = 0;  // of it
  std::int32_t open = 0;    // transfers of the round that have not ended
  std::int64_t round = 0;   // since the start
  std::uint32_t collective = 0;
};

enum class ReplayDue : std::uint8_t { kRound, kFlow };
struct ReplayEvent {
  ReplayDue due = ReplayDue::kRound;
  std::uint32_t id = 0;  // member, or channel
  std::int64_t bytes = 0;
};

}  // namespace

class Replayer::Engine {
 public:
  Engine(const Network& network, std::span<const ReplayedCollective> collectives,
         const ReplayOptions& options)
      : network_(network), options_(options), flows_(capacities(network)) {
    out_.end.resize(collectives.size());
    for (const ReplayedCollective& c : collectives) add(c);
  }

  Replay run() {
    for (std::uint32_t m = 0; m < members_.size(); ++m) rest(m);
    for (;;) {
      const SimTime event = events_.earliest([](const ReplayEvent&) { return true; });
      now_ = std::min(event, flows_.next());
      if (now_ == RadixHeap<ReplayEvent>::kEmpty) break;
      if (event == now_) {
        due_.clear();
        events_.take_earliest(due_);
        for (const ReplayEvent& e : due_) e.due == ReplayDue::kRound ? begin_round(e.id) : flow(e);
      }
      if (flows_.next() > now_) continue;
      ended_.clear();
      flows_.advance(now_, ended_);
      for (const std::uint32_t c : ended_) {
        end_transfer(channels_[c].sender);
        end_transfer(channels_[c].receiver);
      }
    }
    for (const ReplayedMember& m : members_) {
      PLAIT_CHECK(m.at == m.rounds.size(), "a collective that does not end");
    }
    return std::move(out_);
  }

 private:
  static std::vector<FlowRate> capacities(const Network& network) {
    std::vector<FlowRate> out;
    for (const NetworkLink& l : network.links()) out.push_back(capacity_of(l));
    return out;
  }

  // ---- set-up
  void add(const ReplayedCollective& c) {
    const auto n = static_cast<std::int64_t>(c.devices.size());
    const auto first = static_cast<std::uint32_t>(members_.size());
    std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> known;
    const auto channel = [&](std::int64_t from, std::int64_t to) {
      const auto [at, fresh] = known.emplace(std::pair(from, to), channels_.size());
      if (fresh) channels_.push_back(make_channel(c, first, from, to));
      return at->second;
    };
    const auto collective = static_cast<std::uint32_t>(added_++);
    for (std::int64_t i = 0; i < n; ++i) {
      ReplayedMember m;
      m.collective = collective;
      const std::vector<Round> rounds = rounds_of(c.arrangement, c.kind, n, i, c.bytes.value);
      const auto all = static_cast<std::int64_t>(rounds.size());
      const auto wanted = static_cast<std::size_t>(std::min(all, c.most_rounds));
      for (std::size_t r = 0; r < wanted; ++r) {
        if (r > 0 && std::ranges::equal(rounds[r], rounds[r - 1], alike)) {
          ++m.rounds.back().times;
          continue;
        }
        m.rounds.emplace_back();
        for (const Transfer& t : rounds[r]) {
          PLAIT_CHECK(t.peer != kSwitch, "switches take no part in a replay");
          const bool sends = t.direction == Direction::kSend;
          m.rounds.back().ends.push_back(
              {sends ? channel(i, t.peer) : channel(t.peer, i), sends, t.range.elements});
        }
      }
      members_.push_back(std::move(m));
    }
  }
  Channel make_channel(const ReplayedCollective& c, std::uint32_t first, std::int64_t from,
                       std::int64_t to) const {
    Channel out;
    out.sender = first + static_cast<std::uint32_t>(from);
    out.receiver = first + static_cast<std::uint32_t>(to);
    std::vector<LinkId> way;
    network_.route(c.devices[static_cast<std::size_t>(from)],
                   c.devices[static_cast<std::size_t>(to)], 0, way);
    out.rate = FlowRate{1} << 50;
    Seconds latency;
    for (const LinkId l : way) {
      const NetworkLink& link = network_.links()[l];
      out.uses.push_back({l, kWholeFlow});
      out.rate = std::min(out.rate, capacity_of(link));
      latency += link.latency;
    }
    out.latency = to_sim_time(latency);
    return out;
  }

  // ---- members
  void rest(std::uint32_t m) {
    ReplayedMember& member = members_[m];
    if (member.at == member.rounds.size()) {
      SimTime& end = out_.end[member.collective];
      end = std::max(end, now_);
      return;
    }
    const SimTime rest = options_.rest(m, member.round++);
    if (rest == 0 && now_ > 0) return begin_round(m);
    events_.push(now_ + rest, {ReplayDue::kRound, m, 0});
  }
  void begin_round(std::uint32_t m) {
    ReplayedMember& member = members_[m];
    const RepeatedRounds& rounds = member.rounds[member.at];
    member.open = static_cast<std::int32_t>(rounds.ends.size());
    for (const End& e : rounds.ends) begin_end(e);
  }
  /// A transfer begins with the second of its ends.
  void begin_end(const End& e) {
    Channel& c = channels_[e.channel];
    const std::int32_t before = c.sends_ahead;
    c.sends_ahead += e.sends ? 1 : -1;
    if (before == 0 || (before > 0) == e.sends) {
      if (e.sends) c.waiting.push_back(e.bytes);
      return;
    }
    std::int64_t bytes = e.bytes;
    if (!e.sends) {
      PLAIT_CHECK(c.waiting.front() == bytes, "two ends of a transfer differ");
      c.waiting.erase(c.waiting.begin());
    }
    ++out_.transfers;
    if (c.latency == 0) return flow({ReplayDue::kFlow, e.channel, bytes});
    events_.push(now_ + c.latency, {ReplayDue::kFlow, e.channel, bytes});
  }
  void flow(const ReplayEvent& e) {
    const Channel& c = channels_[e.id];
    const double seconds = static_cast<double>(e.bytes) / static_cast<double>(c.rate);
    flows_.start(now_, e.id, c.uses, c.rate, to_sim_time(Seconds(seconds)));
  }
  void end_transfer(std::uint32_t m) {
    ReplayedMember& member = members_[m];
    if (--member.open > 0) return;
    if (++member.repeat == member.rounds[member.at].times) member.repeat = 0, ++member.at;
    rest(m);
  }

  const Network& network_;
  ReplayOptions options_;
  std::vector<Channel> channels_;
  std::vector<ReplayedMember> members_;
  FlowNetwork flows_;
  RadixHeap<ReplayEvent> events_;
  SimTime now_ = 0;
  std::size_t added_ = 0;
  std::vector<ReplayEvent> due_;
  std::vector<std::uint32_t> ended_;
  Replay out_;
};

SimTime ReplayOptions::rest(std::int64_t member, std::int64_t round) const {
  const auto at = static_cast<std::uint64_t>(member) << 32 | static_cast<std::uint64_t>(round);
  const double share = static_cast<double>(scramble(seed ^ scramble(at)) >> 11) * 0x1p-53;
  return static_cast<SimTime>(share * static_cast<double>(longest_rest));
}

Replayer::Replayer(const Network& network, std::span<const ReplayedCollective> collectives,
                   const ReplayOptions& options)
    : engine_(std::make_unique<Engine>(network, collectives, options)) {}
Replayer::~Replayer() = default;
Replay Replayer::run() { return engine_->run(); }

Replay replay(const Network& network, std::span<const ReplayedCollective> collectives,
              const ReplayOptions& options) {
  return Replayer(network, collectives, options).run();
}

}  // namespace plait
