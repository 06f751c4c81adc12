#pragma once
// What one rank has of a model, by the names of the unsharded one: "layer.qkv.weight of layer 1".

#include <map>
#include <string>
#include <vector>

#include "realrun/verify_state.h"

namespace plait {

using Matrices = std::map<std::string, std::vector<double>>;

inline Matrices by_name(const std::vector<TensorPart>& parts) {
  Matrices out;
  for (const TensorPart& part : parts) {
    std::vector<double>& whole = out[part.name];
    whole.resize(static_cast<std::size_t>(part.size));
    for (std::size_t i = 0; i < part.index.size(); ++i)
      whole[static_cast<std::size_t>(part.index[i])] = part.value[i];
  }
  return out;
}

}  // namespace plait
