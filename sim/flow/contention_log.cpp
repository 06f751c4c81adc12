#include "sim/flow/contention_log.h"

#include <fmt/format.h>

#include <algorithm>

namespace plait {

std::string name_of(const FlowKind& kind, const Sites& sites) {
  switch (kind.what) {
    case FlowKind::What::kForward: return "send to the next stage";
    case FlowKind::What::kBackward: return "send to the previous stage";
    case FlowKind::What::kKernel: return "kernels";
    case FlowKind::What::kCollective: break;
  }
  return fmt::format("{} over {} ({})", name_of(kind.how.kind),
                     name_of(sites.axis_sets[kind.axis_set].axes), name_of(kind.how.algorithm));
}

void ContentionLog::add(const HoldUp& h, std::int64_t flows) {
  Sum& sum = sums_[{h.link, h.label}];
  sum.with |= h.with;
  sum.time += static_cast<double>(h.time) * static_cast<double>(flows);
  sum.lost += static_cast<double>(h.lost) * static_cast<double>(flows);
}

std::vector<Contention> ContentionLog::summary(const std::vector<FlowKind>& kinds,
                                               const Sites& sites, const LinkLoads& loads,
                                               const Network& network) const {
  std::vector<Contention> out;
  for (const auto& [key, sum] : sums_) {
    const auto& [link, label] = key;
    const LinkClassLoad& load = loads.links()[link];
    const NetworkLink& first = network.links()[load.representative];
    const double per_flow = 1e-12 / static_cast<double>(loads.flows(label));
    Contention c;
    c.link = network.name_of(load.representative);
    c.link_class = first.link;
    c.links = load.multiplicity;
    c.bandwidth = first.bandwidth;
    c.traffic = name_of(kinds[label], sites);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if ((sum.with >> k & 1U) != 0) c.with.push_back(name_of(kinds[k], sites));
    }
    c.time = Seconds(sum.time * per_flow);
    c.lost = Seconds(sum.lost * per_flow);
    out.push_back(std::move(c));
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &Contention::lost);
  return out;
}

}  // namespace plait
