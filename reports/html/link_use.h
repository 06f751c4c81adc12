#pragma once
// How busy a step keeps the links of its machine, for the picture of a page.

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/cluster.h"

namespace plait {

/// Of one class of links: its busiest link, by the bytes of one step in the link's own direction.
struct BusyLinks {
  LinkClass link = {};
  std::int64_t links = 0;
  std::string busiest;   // "node 0: device 3 -> nvswitch 0"
  double bandwidth = 0;  // of the data sheet, bytes/s
  double bytes = 0;
  double message_bytes = 0;     // part of `bytes`: between pipeline stages
  double utilisation = 0;       // bytes / bandwidth / step time
  double mean_utilisation = 0;  // over all links of the class
};

/// [{"link": "nvlink", "links": 128, "busiest": "node 0: device 3 -> nvswitch 0",
///   "bandwidth_bytes_per_s": ..., "bytes": ..., "message_bytes": ..., "utilisation": ...,
///   "mean_utilisation": ...}, ...]
std::string link_use_json(const std::vector<BusyLinks>& uses);

}  // namespace plait
