#pragma once
// A model on a node as large as its layout, as the tests serve it.
#include <cstdint>
#include <string>

#include "model/presets.h"
#include "serving/layer_maps.h"
#include "serving/step_costs.h"
#include "topologies/catalogue.h"

namespace plait {

struct ServedLayout {
  std::int64_t tp = 1, pp = 1;
  std::string model = "llama-3.1-8b";
  std::string cluster = ClusterSpec().preset;
};

inline ServedModel served(const ServedLayout& layout = {}) {
  ServedModel s;
  s.model = *find_preset(layout.model);
  s.layout.mesh[Axis::kTp] = layout.tp, s.layout.mesh[Axis::kPp] = layout.pp;
  s.layout.map = even_layers(s.model.layers, layout.pp);
  ClusterSpec spec;
  spec.preset = layout.cluster, spec.devices_per_node = layout.tp * layout.pp;
  s.cluster = make_cluster(spec);
  return s;
}

inline Step decode(std::int64_t sequences, std::int64_t context) {
  return {{}, {sequences, 1, context}, sequences};
}

}  // namespace plait
