#pragma once
// The machine written out: every link of every node and of the fabric, one entry per direction, and
// the links that a message between two devices crosses. What the flow network shares out.
//
// Where several cables lead on equally well, a fabric either spreads each message over all of them
// (adaptive routing, packet spraying) or picks one by a hash of the connection (ECMP). Cables that
// messages are spread over evenly are one *trunk*: a link of their summed bandwidth.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "topologies/cluster.h"
#include "topologies/fabric.h"

namespace plait {

using LinkId = std::uint32_t;

struct RoutingOptions {
  Spreading spreading = Spreading::kEven;
  std::uint64_t seed = 1;  // of the hash
  /// A message to another rail first goes over NVLink to the device whose NIC is on that rail, as
  /// NCCL does (PXN), so that it crosses one leaf switch only. Where there is no NVLink: ignored.
  bool rail_forwarding = true;
};

/// One direction of a cable, or of a trunk of parallel ones.
struct NetworkLink {
  LinkClass link = LinkClass::kNvlink;
  BytesPerSecond bandwidth;  // of all its cables that work
  Seconds latency;
  std::int64_t cables = 1;
};

class Network {
 public:
  virtual ~Network() = default;
  /// Ascending by id; ids are the same for the same cluster and options, always.
  const std::vector<NetworkLink>& links() const { return links_; }
  /// "node 3: nic 2 -> pod 0 leaf 2".
  virtual std::string name_of(LinkId link) const = 0;
  /// Appends the links from one device to another, in order; none from a device to itself.
  /// `connection` tells parallel connections of the same two devices apart, for the hash.
  /// Throws InputError C009 where failures leave no way.
  virtual void route(std::int64_t from, std::int64_t to, std::uint64_t connection,
                     std::vector<LinkId>& links) const = 0;
  /// The memory that the device shares with others; none where it has its own. A message from part
  /// to part of a GPU crosses it twice.
  virtual std::optional<LinkId> memory_of(std::int64_t /*device*/) const { return std::nullopt; }

 protected:
  std::vector<NetworkLink> links_;
};

/// As the cluster's fabric says; the hash's seed is the cluster's.
RoutingOptions routing_of(const Cluster& cluster);

std::shared_ptr<const Network> make_network(const Cluster& cluster, const RoutingOptions& = {});

}  // namespace plait
