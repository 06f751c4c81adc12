#pragma once
// The fabric that joins the nodes: switches, and cables between NIC ports and switches. Nothing is
// stored: a family works out each cable from its number, so that a fabric of any size costs nothing
// until somebody asks for its cables.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "topologies/fabric.h"
#include "topologies/link_graph.h"

namespace plait {

/// Its ends are NIC ports, 0 <= port < ports (node * NICs of a node + NIC), and switches, ports +
/// number.
struct Cable {
  std::int64_t a = 0, b = 0;
  BytesPerSecond bandwidth;  // per direction
  Seconds latency;           // of the wire, plus half of the time through each end
};

/// One direction of a cable: 2 c from its a to its b, 2 c + 1 back.
using Hop = std::int64_t;
constexpr Hop forth(std::int64_t cable) { return 2 * cable; }
constexpr Hop back(std::int64_t cable) { return 2 * cable + 1; }

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

 protected:
  Fabric fabric_;
  std::int64_t nodes_, nics_;
};

/// The fabric of `nodes` nodes with `nics` NICs each.
std::unique_ptr<const Cabling> make_cabling(const Fabric& fabric, std::int64_t nodes,
                                            std::int64_t nics);

}  // namespace plait
