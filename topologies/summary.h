#pragma once
// What a machine is made of and what it can carry: vertices and links by class, what flows between
// its halves, how far its ends are apart, and how many ways lead from one to the other. Worked out
// on the machine written out (topologies/graph.h, `expand`).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/watch.h"
#include "topologies/cut.h"
#include "topologies/graph.h"
#include "topologies/shortest_ways.h"

namespace plait {

/// Machines of more devices are not written out.
inline constexpr std::int64_t kMostDevicesShown = 1 << 17;

struct VertexCount {
  VertexKind kind = VertexKind::kDevice;
  std::int64_t count = 0;
};

/// Links that are alike.
struct LinkCount {
  LinkClass link = LinkClass::kNvlink;
  VertexKind from = VertexKind::kDevice, to = VertexKind::kDevice;
  std::int64_t count = 0;
  BytesPerSecond bandwidth;  // of one, per direction
  Seconds latency;           // of the wire and half of both ends
  BytesPerSecond total() const { return bandwidth * static_cast<double>(count); }
};

/// The longest route between two devices, by hops and by latency.
struct Diameter {
  int hops = 0;
  Seconds latency;
  std::int64_t from = 0, to = 0;  // devices of the longest latency
};

struct Diversity {
  std::string scope;  // "in a node", "in a pod, same place", "in a pod", "across pods"
  std::int64_t from = 0, to = 0;
  ShortestWays ways;
};

/// Bandwidth of a level of switches towards the nodes over that away from them.
struct LevelRatio {
  VertexKind level = VertexKind::kLeaf;
  double ratio = 1;
  double full = 1;  // where all ports towards the nodes are taken
};

struct TopologySummary {
  std::string name, device;
  std::string fabric;  // in words; "": one node
  /// Of several kinds of devices how many of each.
  std::vector<std::pair<std::string, std::int64_t>> kinds;
  std::int64_t devices = 0, nodes = 0, devices_per_node = 0;
  std::vector<VertexCount> vertices;  // kinds that are there
  std::vector<LinkCount> links;       // by class, then by the kinds of their ends
  std::vector<Cut> cuts;
  Diameter diameter;
  std::vector<Diversity> diversity;
  std::vector<LevelRatio> oversubscription;
};

/// Throws InputError T001 for a machine of more than kMostDevicesShown devices.
/// `watch` is told of the devices whose longest route is known.
TopologySummary summarize(const Cluster& cluster, const Watch& watch = {});

/// Names, vertices and links only: what a picture needs. Any size.
TopologySummary inventory(const Cluster& cluster, const Machine& machine);

// Its parts.
std::vector<VertexCount> count_vertices(const LinkGraph& graph);
std::vector<LinkCount> count_links(const LinkGraph& graph);
Diameter diameter_of(const Cluster& cluster, const Watch& watch = {});

}  // namespace plait
