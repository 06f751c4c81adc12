#include "topologies/paths.h"

#include <algorithm>

namespace plait {

void worsen(Path& worst, const Path& path) {
  if (worst.hops == 0) {
    worst = path;
    return;
  }
  const Seconds latency = std::max(worst.latency, path.latency);
  const int hops = std::max(worst.hops, path.hops);
  if (path.carried() < worst.carried()) worst = path;
  worst.latency = latency;
  worst.hops = hops;
}

void narrow(Path& path, LinkClass link, BytesPerSecond bandwidth) {
  const LinkClass outermost = path.outermost();
  Path other = path;
  other.link = link, other.bandwidth = bandwidth;
  other.beyond = link == outermost ? std::nullopt : std::optional(outermost);
  constexpr double kTie = 1 + 1e-9;  // names the fabric
  if (other.carried() * (link == LinkClass::kPcie ? kTie : 1) < path.carried()) path = other;
}

}  // namespace plait
