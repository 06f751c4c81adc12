#include "realrun/unit_buffers.h"

#include <string_view>

#include "plan/unit_names.h"

namespace plait {

std::vector<UnitBuffers> unit_buffers(const Plan& plan) {
  std::vector<UnitBuffers> units;
  for (const std::string_view name : kUnitNames) units.emplace_back().name = name;
  units.emplace_back().name = kRootName;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const std::string& name = plan.tensors[i].name;
    const auto id = static_cast<TensorId>(i);
    for (UnitBuffers& u : units) {
      if (name == u.name + ".weights") u.weights = id;
      if (name == u.name + ".gradients") u.gradients = id;
      if (name == u.name + ".weight_shard") u.weight_shard = id;
      if (name == u.name + ".gradient_shard") u.gradient_shard = id;
      if (name == u.name + ".master") u.master = id;
      if (name == u.name + ".moment1") u.moment = id;
      if (name == u.name + ".gradients.host" || name == u.name + ".gradient_shard.host")
        u.gradient_host = id;
      if (name == u.name + ".weights.host" || name == u.name + ".weight_shard.host")
        u.weight_host = id;
    }
  }
  std::erase_if(units, [](const UnitBuffers& u) { return u.weights == kNoTensor; });
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (!plan.tensors[i].is_view()) continue;
    for (UnitBuffers& u : units) {
      if (plan.tensors[i].storage == u.weights) u.weight_views.push_back(static_cast<TensorId>(i));
      if (plan.tensors[i].storage == u.gradients)
        u.gradient_views.push_back(static_cast<TensorId>(i));
    }
  }
  return units;
}

std::string canonical_weight(const std::string& name, const Model& model) {
  constexpr std::string_view kSecondForm = ".fp8_transposed";
  if (name.ends_with(kSecondForm)) return name.substr(0, name.size() - kSecondForm.size());
  return model.tied_embeddings && name == "output.weight" ? "embedding.weight" : name;
}

}  // namespace plait
