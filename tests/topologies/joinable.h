#pragma once
// Kinds of nodes that a fabric can join.

#include <string>
#include <vector>

#include "topologies/catalogue.h"

namespace plait {

/// Of the catalogue, those with NICs.
inline std::vector<std::string> joinable_names() {
  std::vector<std::string> out = cluster_names();
  std::erase_if(out, [](const std::string& name) { return find_node(name).nics == 0; });
  return out;
}

}  // namespace plait
