#include "serving/kv_transfer.h"

#include <algorithm>
#include <array>
#include <map>

#include "costmodel/transfer.h"
#include "serving/replica_ranks.h"
#include "topologies/graph.h"

namespace plait {
namespace {

/// What a rank of tp holds of a layer: heads first .. last - 1 of `heads`.
struct Heads {
  std::int64_t first = 0, last = 0;
};

/// Latents count as one head, that all ranks have.
std::int64_t heads_of(const Model& m) { return m.latent_attention() ? 1 : m.kv_heads; }

Heads heads_on(std::int64_t rank, std::int64_t tp, std::int64_t heads) {
  if (tp <= heads) return {rank * heads / tp, (rank + 1) * heads / tp};
  const std::int64_t head = rank * heads / tp;
  return {head, head + 1};
}

/// The sending rank for a head of receiving rank `to`; of several that have it, another for each
/// receiver as far as they go.
std::int64_t sender(std::int64_t head, std::int64_t to, std::int64_t tp, std::int64_t heads) {
  if (tp <= heads) return head * tp / heads;
  const std::int64_t copies = tp / heads;
  return head * copies + to % copies;
}

/// Layers whose keys and values are on each stage.
std::vector<std::vector<std::int64_t>> layers_shared(const LayerMap& from, const LayerMap& to,
                                                     std::int64_t senders, std::int64_t receivers) {
  std::vector<std::vector<std::int64_t>> out(
      static_cast<std::size_t>(senders),
      std::vector<std::int64_t>(static_cast<std::size_t>(receivers)));
  for (std::size_t l = 0; l < from.layers.size(); ++l) {
    const auto s = static_cast<std::size_t>(from.layers[l].stage);
    ++out[s][static_cast<std::size_t>(to.layers[l].stage)];
  }
  return out;
}

/// Ports of devices, each in two directions: for their nodes, and NICs, which are those of the
/// first device that they serve.
class Ports {
 public:
  explicit Ports(const Cluster& cluster) : cluster_(cluster) {}
  std::size_t count() const { return static_cast<std::size_t>(4 * cluster_.world_size()); }
  bool within_node(std::int64_t from, std::int64_t to) const {
    return from / cluster_.devices_per_node == to / cluster_.devices_per_node;
  }
  std::size_t of_node(std::int64_t device, bool in) const {
    return static_cast<std::size_t>(2 * device + (in ? 1 : 0));
  }
  std::size_t of_fabric(std::int64_t device, bool in) const {
    const std::vector<std::size_t>& nic_of = island(device).island.nic_of;
    const std::size_t nic = nic_of[place(device)];
    const auto first = std::ranges::find(nic_of, nic) - nic_of.begin();
    const std::int64_t owner = device - static_cast<std::int64_t>(place(device)) + first;
    return static_cast<std::size_t>(2 * (cluster_.world_size() + owner) + (in ? 1 : 0));
  }
  /// Of a NIC, or of the way through the node.
  BytesPerSecond rate(std::int64_t from, std::int64_t to, const Path& path) const {
    BytesPerSecond out = path.carried() * message_share(path.outermost());
    if (within_node(from, to)) return out;
    const std::array<std::int64_t, 2> ends = {from, to};
    const Path share = place_group(cluster_, ends).inter;  // of one of those that share the NIC
    const std::int64_t sharers = std::min(sharing(from), sharing(to));
    return std::min(
        out, share.carried() * static_cast<double>(sharers) * message_share(share.outermost()));
  }

 private:
  const IslandKind& island(std::int64_t device) const {
    return cluster_.graph->kind(device / cluster_.devices_per_node);
  }
  std::size_t place(std::int64_t device) const {
    return static_cast<std::size_t>(device % cluster_.devices_per_node);
  }
  std::int64_t sharing(std::int64_t device) const {
    return island(device).devices_per_nic[place(device)];
  }
  const Cluster& cluster_;
};

class RouteFinder {
 public:
  RouteFinder(const ServedModel& prefill, const ServedModel& decode)
      : prefill_(prefill),
        decode_(decode),
        ports_(prefill.cluster),
        heads_(heads_of(prefill.model)),
        head_bytes_(kv_bytes_per_token(prefill.model, prefill.precision, heads_)),
        layers_(layers_shared(prefill.layout.map, decode.layout.map, prefill.layout.mesh[Axis::kPp],
                              decode.layout.mesh[Axis::kPp])) {}

  KvRoutes all() {
    KvRoutes out;
    out.ports = ports_.count();
    out.bytes_per_token =
        kv_bytes_per_token(decode_.model, decode_.precision, decode_.layout.mesh[Axis::kTp]) *
        (decode_.model.layers * decode_.layout.mesh[Axis::kTp]);
    for (std::int64_t i = 0; i < prefill_.layout.mesh[Axis::kDp]; ++i) {
      out.routes.emplace_back();
      for (std::int64_t j = 0; j < decode_.layout.mesh[Axis::kDp]; ++j) {
        out.routes.back().push_back(route(i, j));
      }
    }
    return out;
  }

 private:
  KvRoute route(std::int64_t i, std::int64_t j) {
    KvRoute out;
    std::map<std::size_t, Seconds> loads;
    for (std::size_t s = 0; s < layers_.size(); ++s) {
      for (std::size_t d = 0; d < layers_[s].size(); ++d) {
        if (layers_[s][d] > 0) add_stage(i, j, s, d, out, loads);
      }
    }
    for (const auto& [port, time] : loads) out.loads.push_back({port, time});
    return out;
  }
  void add_stage(std::int64_t i, std::int64_t j, std::size_t s, std::size_t d, KvRoute& out,
                 std::map<std::size_t, Seconds>& loads) {
    const std::int64_t senders = prefill_.layout.mesh[Axis::kTp];
    const std::int64_t receivers = decode_.layout.mesh[Axis::kTp];
    for (std::int64_t to = 0; to < receivers; ++to) {
      const Heads heads = heads_on(to, receivers, heads_);
      for (std::int64_t h = heads.first; h < heads.last; ++h) {
        add_message(replica_device(prefill_, static_cast<std::int64_t>(s), i,
                                   sender(h, to, senders, heads_)),
                    replica_device(decode_, static_cast<std::int64_t>(d), j, to),
                    head_bytes_ * layers_[s][d], out, loads);
      }
    }
  }
  void add_message(std::int64_t from, std::int64_t to, Bytes bytes, KvRoute& out,
                   std::map<std::size_t, Seconds>& loads) {
    const Path path = plait::route(prefill_.cluster, from, to);
    out.start = std::max(out.start, to_sim_time(message_start(path)));
    const Seconds time = bytes / ports_.rate(from, to, path);
    const bool near = ports_.within_node(from, to);
    loads[near ? ports_.of_node(from, false) : ports_.of_fabric(from, false)] += time;
    loads[near ? ports_.of_node(to, true) : ports_.of_fabric(to, true)] += time;
  }

  const ServedModel &prefill_, &decode_;
  Ports ports_;
  std::int64_t heads_;
  Bytes head_bytes_;
  std::vector<std::vector<std::int64_t>> layers_;  // on both of a sending and a receiving stage
};

}  // namespace

KvRoutes kv_routes(const ServedModel& prefill, const ServedModel& decode) {
  return RouteFinder(prefill, decode).all();
}

SimTime KvPorts::send(std::size_t from, std::size_t to, std::int64_t tokens, SimTime now) {
  if (tokens == 0) return now;
  const KvRoute& route = routes_.routes[from][to];
  SimTime begin = now;
  for (const KvRoute::Load& l : route.loads) begin = std::max(begin, free_[l.port]);
  SimTime longest = 0;
  for (const KvRoute::Load& l : route.loads) {
    const SimTime time = to_sim_time(l.per_token * static_cast<double>(tokens));
    free_[l.port] = counted_sum(begin, time);
    longest = std::max(longest, time);
  }
  return counted_sum(counted_sum(begin, route.start), longest);
}

}  // namespace plait
