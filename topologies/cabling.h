#pragma once
// The fabric that joins the nodes: switches, and cables between NIC ports and switches. Nothing is
// stored: a family works out each cable from its number, so that a fabric of any size costs nothing
// until somebody asks for its cables.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/fabric.h"
#include "topologies/link_graph.h"

namespace plait {

/// Its ends are NIC ports, 0 <= port < ports (node * NICs of a node + NIC), and switches, ports +
/// number.
struct Cable {
  std::int64_t a = 0, b = 0;
  BytesPerSecond bandwidth;  // per direction, of all `count` together
  Seconds latency;           // of the wire, plus half of the time through each end
  std::int64_t count = 1;    // parallel ones that act as one
  /// What one message may take where it is spread over all cables of the trunk; 0: `bandwidth`.
  BytesPerSecond spread = {};
};

/// One direction of a cable: 2 c from its a to its b, 2 c + 1 back.
using Hop = std::int64_t;
constexpr Hop forth(std::int64_t cable) { return 2 * cable; }
constexpr Hop back(std::int64_t cable) { return 2 * cable + 1; }

/// The nodes of a group, ascending, and how many flows each of them sends.
struct Senders {
  std::span<const std::int64_t> nodes;
  std::int64_t own = 1;           // of this group
  std::int64_t own_per_rail = 1;  // of these, on the rail that has most
  std::int64_t all = 1;           // when every device of a node is in a group like this one
};

/// Where a flow goes: to the next node of the group in a ring over them, or to all others alike.
enum class Towards : std::uint8_t { kNext, kAll };

/// What the fabric, NICs apart, leaves to one flow: when every device of the machine is in a group
/// like this one, and when this group is alone.
struct Shares {
  BytesPerSecond all, alone;
};

class Cabling {
 public:
  Cabling(const Fabric& fabric, std::int64_t nodes, std::int64_t nics)
      : fabric_(fabric), nodes_(nodes), nics_(nics) {}
  virtual ~Cabling() = default;
  std::int64_t ports() const { return nodes_ * nics_; }
  virtual std::int64_t switches() const = 0;
  virtual Vertex vertex(std::int64_t number) const = 0;        // of a switch
  virtual std::string name_of(std::int64_t number) const = 0;  // "pod 0 leaf 2"
  virtual std::int64_t cables() const = 0;
  /// Cables 0 <= c < ports() are those of the ports, a = c.
  virtual Cable cable(std::int64_t number) const = 0;
  /// How many ways from port to port are equally good.
  virtual std::int64_t ways(std::int64_t from, std::int64_t to) const = 0;
  /// Appends the hops of one of them.
  virtual void way(std::int64_t from, std::int64_t to, std::int64_t which,
                   std::vector<Hop>& hops) const = 0;
  /// Hops that messages are spread over evenly make up a trunk; it is named by its first hop.
  virtual Hop trunk(Hop hop) const = 0;

  /// Ways between nodes that are equally close are equally long and wide.
  virtual std::int64_t closeness(std::int64_t node, std::int64_t other) const = 0;
  /// The fabric looks the same so many nodes later.
  virtual std::int64_t period() const = 0;
  /// So many nodes, from each multiple on, are all alike to one another and as close: what lies
  /// within looks the same from wherever in it.
  virtual std::int64_t run() const { return 1; }
  virtual Shares shares(const Senders& senders, Towards towards) const = 0;
  /// Levels of switches, and how much narrower it becomes from one to the next; where switches need
  /// more ports than they have, that too.
  std::string in_words() const;

  /// Ways that are equally good are dealt to the pairs of ports in turn: this modulo their number.
  std::int64_t turn(std::int64_t from, std::int64_t to) const {
    return from / nics_ + to / nics_ + from % nics_;
  }

 protected:
  /// `all`, and what the group has alone, where its flows are counted on each cable between
  /// switches: with all flows of its nodes no more than that, as with its own. An exchange among
  /// more than 64 nodes is not counted and has `all` alone too.
  Shares counted(const Senders& senders, Towards towards, BytesPerSecond all) const;
  /// Switches of a kind, and the ports that each of them needs.
  struct Ports {
    std::string_view switches;  // "spines"
    std::int64_t needed = 0;
  };
  virtual std::string shape() const = 0;
  virtual std::vector<Ports> ports_needed() const = 0;
  Cable port_cable(std::int64_t port, std::int64_t to) const {
    return {port, ports() + to, fabric_.bandwidth,
            fabric_.cable_latency + (fabric_.nic_latency + fabric_.switch_latency) * 0.5};
  }
  Cable switch_cable(std::int64_t a, std::int64_t b, BytesPerSecond bandwidth,
                     std::int64_t count = 1) const {
    return {ports() + a, ports() + b, bandwidth * static_cast<double>(count),
            fabric_.cable_latency + fabric_.switch_latency, count};
  }

  Fabric fabric_;
  std::int64_t nodes_, nics_;

 private:
  /// What a node sends to another one: the hops between switches of each way that its NICs take.
  struct NodeFlow {
    double share = 1;  // of what the node sends
    std::vector<std::vector<Hop>> ways;
  };
  std::vector<NodeFlow> flows_of(const Senders& senders, Towards towards) const;
  /// The least that is left to one of `flows` of each node, which its NICs from `first` on send.
  BytesPerSecond least_left(std::span<const NodeFlow> nodes, std::int64_t flows,
                            std::int64_t first) const;
};

/// The fabric of `nodes` nodes with `nics` NICs each.
std::unique_ptr<const Cabling> make_cabling(const Fabric& fabric, std::int64_t nodes,
                                            std::int64_t nics);

}  // namespace plait
