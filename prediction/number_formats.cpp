#include "prediction/number_formats.h"

#include <optional>
#include <set>

namespace plait {
namespace {

std::set<std::size_t> kinds_that_serve(const Scenario& s, const Serving& serving) {
  const Disaggregation& d = serving.disaggregation;
  const bool placed = !d.any() && !s.placement.empty();
  const std::int64_t ranks =
      d.any() ? d.prefill.devices() + d.decode.devices() : s.strategy.mesh.world_size();
  std::set<std::size_t> out;
  for (std::int64_t r = 0; r < ranks; ++r) {
    out.insert(s.cluster.kind_of(placed ? s.placement[static_cast<std::size_t>(r)] : r));
  }
  return out;
}

}  // namespace

void require_formats(const Scenario& s, const Serving& serving) {
  const ServingPrecision& p = serving.precision;
  std::set<DType> formats;
  if (p.products) formats.insert(*p.products);
  if (p.expert_products && s.model.experts > 0) formats.insert(*p.expert_products);
  if (serving.layers.dealing == Dealing::kEven) formats.insert(p.activations);
  for (const std::size_t kind : kinds_that_serve(s, serving)) {
    for (const DType format : formats) s.cluster.kind(kind).device.peak(format);
  }
}

}  // namespace plait
