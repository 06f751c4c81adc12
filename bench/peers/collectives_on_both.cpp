// A collective message by message on Plait and on SimGrid: the same links, ways and transfers.
// Prints when it ends on each, how far that differs, and how many times faster Plait is. Usage:
// collectives_on_both CASE [SimGrid options]. Without a case: how many there are. Exit code 1 where
// the times differ by more than 1 %.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <simgrid/s4u.hpp>

#include "bench/peers/collectives.h"
#include "bench/stopwatch.h"
#include "core/time.h"

namespace {

namespace s4u = simgrid::s4u;
using plait::Direction;

constexpr double kMostDifference = 0.01;

struct Result {
  double end_s = 0;  // of the last collective
  double cpu_s = 0;
  std::int64_t transfers = 0;
};

Result on_plait(const plait::Network& network, const plait::CollectiveCase& c) {
  plait::Replayer replayer(network, c.collectives, {.longest_rest = c.longest_rest});
  plait::Replay run;
  const double cpu_s = plait::cpu_seconds_of([&] { run = replayer.run(); });
  return {plait::to_seconds(*std::ranges::max_element(run.end)).value, cpu_s, run.transfers};
}

/// The platform: one host per device, a SimGrid link per link, and the ways that the case uses.
class Platform {
 public:
  Platform(const plait::Network& network, std::int64_t hosts) : network_(network) {
    zone_ = s4u::create_full_zone("machine");
    for (std::int64_t h = 0; h < hosts; ++h) {
      hosts_.push_back(zone_->create_host("h" + std::to_string(h), 1e9)->seal());
    }
    for (std::size_t l = 0; l < network.links().size(); ++l) {
      links_.push_back(
          zone_->create_link("l" + std::to_string(l), network.links()[l].bandwidth.value)
              ->set_latency(0)
              ->seal());
    }
  }
  void connect(std::int64_t from, std::int64_t to) {
    if (!connected_.emplace(from, to).second) return;
    std::vector<plait::LinkId> way;
    network_.route(from, to, 0, way);
    std::vector<s4u::LinkInRoute> route;
    for (const plait::LinkId l : way) route.emplace_back(links_[l]);
    zone_->add_route(host(from)->get_netpoint(), host(to)->get_netpoint(), nullptr, nullptr, route,
                     false);
  }
  void seal() { zone_->seal(); }
  s4u::Host* host(std::int64_t h) const { return hosts_[static_cast<std::size_t>(h)]; }

 private:
  const plait::Network& network_;
  s4u::NetZone* zone_ = nullptr;
  std::vector<s4u::Host*> hosts_;
  std::vector<s4u::Link*> links_;
  std::set<std::pair<std::int64_t, std::int64_t>> connected_;
};

s4u::Mailbox* mailbox(std::size_t collective, std::int64_t from, std::int64_t to) {
  return s4u::Mailbox::by_name(std::to_string(collective) + " " + std::to_string(from) + " " +
                               std::to_string(to));
}

/// One member of one collective.
struct Member {
  std::size_t collective;
  std::int64_t place, number;  // in its group, through all collectives
  std::vector<plait::Round> rounds;
  plait::ReplayOptions rests;

  void operator()() const {
    int token = 0;
    int* received = nullptr;
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      const plait::SimTime rest = rests.rest(number, static_cast<std::int64_t>(r));
      if (rest > 0) s4u::this_actor::sleep_for(plait::to_seconds(rest).value);
      std::vector<s4u::CommPtr> open;
      for (const plait::Transfer& t : rounds[r]) {
        if (t.direction == Direction::kSend) {
          open.push_back(mailbox(collective, place, t.peer)
                             ->put_async(&token, static_cast<std::uint64_t>(t.range.elements)));
        } else {
          open.push_back(mailbox(collective, t.peer, place)->get_async<int>(&received));
        }
      }
      for (const s4u::CommPtr& c : open) c->wait();
    }
  }
};

Result on_simgrid(s4u::Engine& engine, const plait::Network& network,
                  const plait::CollectiveCase& c) {
  Platform platform(network, c.hosts);
  std::int64_t number = 0, transfers = 0;
  for (std::size_t k = 0; k < c.collectives.size(); ++k) {
    const plait::ReplayedCollective& one = c.collectives[k];
    const auto n = static_cast<std::int64_t>(one.devices.size());
    for (std::int64_t i = 0; i < n; ++i) {
      Member m{k,
               i,
               number++,
               rounds_of(one.arrangement, one.kind, n, i, one.bytes.value),
               {.longest_rest = c.longest_rest}};
      if (static_cast<std::int64_t>(m.rounds.size()) > one.most_rounds) {
        m.rounds.resize(static_cast<std::size_t>(one.most_rounds));
      }
      const auto device = [&](std::int64_t p) { return one.devices[static_cast<std::size_t>(p)]; };
      for (const plait::Round& r : m.rounds) {
        for (const plait::Transfer& t : r) {
          if (t.direction != Direction::kSend) continue;
          platform.connect(device(i), device(t.peer));
          ++transfers;
        }
      }
      s4u::Actor::create("member", platform.host(device(i)), m);
    }
  }
  platform.seal();
  const double cpu_s = plait::cpu_seconds_of([&] { engine.run(); });
  return {s4u::Engine::get_clock(), cpu_s, transfers};
}

/// False if the two differ too much.
bool compare(s4u::Engine& engine, const plait::CollectiveCase& c) {
  const std::shared_ptr<const plait::Network> network = plait::network_of(c.hosts);
  const Result plait = on_plait(*network, c);
  const Result peer = on_simgrid(engine, *network, c);
  const double difference = plait.end_s / peer.end_s - 1;
  fmt::print("{:<32} {:>6} {:>10} {:>12.6f} {:>12.6f} {:>9.3f} % {:>12.0f} {:>12.0f} {:>8.0f}\n",
             c.name, c.hosts, plait.transfers, plait.end_s, peer.end_s, 100 * difference,
             static_cast<double>(plait.transfers) / plait.cpu_s,
             static_cast<double>(peer.transfers) / peer.cpu_s, peer.cpu_s / plait.cpu_s);
  return std::abs(difference) <= kMostDifference;
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  const std::vector<plait::CollectiveCase> cases = plait::collective_cases();
  if (argc < 2) {
    fmt::print("{}\n", cases.size());
    return 0;
  }
  // Plain max-min sharing of the links' full rates, from the first byte on.
  for (const char* setting :
       {"network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1",
        "network/crosstraffic:0", "network/TCP-gamma:0", "network/weight-S:0"}) {
    s4u::Engine::set_config(setting);
  }
  return compare(engine, cases.at(static_cast<std::size_t>(std::atoi(argv[1])))) ? 0 : 1;
}
