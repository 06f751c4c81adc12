#include "realrun/unit_buffers.h"

#include <algorithm>
#include <string_view>

#include "plan/unit_names.h"

namespace plait {

namespace {

/// Where a unit keeps the buffer of that name; null: it is none of a unit's.
TensorId* named(UnitBuffers& unit, std::string_view buffer) {
  if (buffer == "weights") return &unit.weights;
  if (buffer == "gradients") return &unit.gradients;
  if (buffer == "weight_shard") return &unit.weight_shard;
  if (buffer == "gradient_shard") return &unit.gradient_shard;
  if (buffer == "master") return &unit.master;
  if (buffer == "moment1") return &unit.moment;
  if (buffer == "gradients.host" || buffer == "gradient_shard.host") return &unit.gradient_host;
  if (buffer == "weights.host" || buffer == "weight_shard.host") return &unit.weight_host;
  return nullptr;
}

}  // namespace

std::vector<UnitBuffers> unit_buffers(const Plan& plan) {
  std::vector<UnitBuffers> units;
  for (const std::string_view name : kUnitNames) units.emplace_back().name = name;
  units.emplace_back().name = kRootName;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const std::string_view name = plan.tensors[i].name;
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) continue;
    const auto unit = std::ranges::find(units, name.substr(0, dot), &UnitBuffers::name);
    if (unit == units.end()) continue;
    if (TensorId* buffer = named(*unit, name.substr(dot + 1))) *buffer = static_cast<TensorId>(i);
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
