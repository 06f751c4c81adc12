#pragma once
// How busy a step keeps the links of its machine, for the picture of a page.

#include <string>

#include "prediction/prediction.h"

namespace plait {

/// For each class of links that the step uses its busiest link, as a JSON list, NVLink first:
///   {"link": "nvlink", "links": 128, "busiest": "node 0: device 3 -> nvswitch 0",
///    "bandwidth_bytes_per_s": ..., "bytes": ..., "message_bytes": ..., "utilisation": ...,
///    "mean_utilisation": ...}
/// Bytes of one step in the link's own direction; `message_bytes`, those between pipeline stages,
/// are part of `bytes`. Utilisation = bytes / bandwidth / step time, of the data-sheet bandwidth;
/// the mean is over all links of the class.
std::string link_use_json(const Scenario& scenario, const Prediction& prediction);

}  // namespace plait
