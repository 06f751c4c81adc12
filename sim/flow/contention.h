#pragma once
// What contended with what, where and for how long.

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "topologies/cluster.h"

namespace plait {

/// Time that one kind of traffic lost on one class of links.
struct Contention {
  std::string link;  // the first of the class, "node 0: nic 2 -> pod 0 leaf 2"
  LinkClass link_class = LinkClass::kNvlink;
  std::int64_t links = 1;         // of the class
  BytesPerSecond bandwidth;       // of one
  std::string traffic;            // "all_gather over fsdp (ring)"
  std::vector<std::string> with;  // what else was on the link meanwhile; its own kind where several
                                  // groups of it met there
  Seconds time;                   // in which it was held up, mean over its flows
  Seconds lost;                   // of this, the delay
};

}  // namespace plait
