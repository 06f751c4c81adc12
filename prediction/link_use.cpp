#include "prediction/link_use.h"

#include <array>

#include "prediction/costs.h"
#include "sim/link_traffic.h"

namespace plait {
namespace {

/// Of one class of links.
struct ClassUse {
  std::int64_t links = 0;
  LinkId busiest = 0;
  double most = 0, sum = 0;  // utilisations
};

using ClassUses = std::array<ClassUse, kLinkClasses>;

ClassUses class_uses(const Network& network, const LinkTraffic& traffic, double step) {
  ClassUses out;
  for (LinkId l = 0; l < network.links().size(); ++l) {
    const NetworkLink& link = network.links()[l];
    if (!(link.bandwidth.value > 0)) continue;  // a cable that failed
    ClassUse& use = out[static_cast<std::size_t>(link.link)];
    const double utilisation = traffic.bytes(l) / link.bandwidth.value / step;
    ++use.links;
    use.sum += utilisation;
    if (utilisation > use.most) use.most = utilisation, use.busiest = l;
  }
  return out;
}

}  // namespace

std::vector<BusyLinks> link_use(const Scenario& s, const Prediction& p) {
  const auto network = make_network(s.cluster, routing_of(s.cluster));
  const LinkTraffic traffic = link_traffic(p.plan, s.cluster, costs_of(s), s.placement, *network);
  const ClassUses uses = class_uses(*network, traffic, p.report.step_time_s);
  std::vector<BusyLinks> out;
  for (std::size_t c = 0; c < uses.size(); ++c) {
    const ClassUse& use = uses[c];
    if (!(use.most > 0)) continue;
    out.push_back({.link = static_cast<LinkClass>(c),
                   .links = use.links,
                   .busiest = network->name_of(use.busiest),
                   .bandwidth = network->links()[use.busiest].bandwidth.value,
                   .bytes = traffic.bytes(use.busiest),
                   .message_bytes = traffic.messages[use.busiest],
                   .utilisation = use.most,
                   .mean_utilisation = use.sum / static_cast<double>(use.links)});
  }
  return out;
}

}  // namespace plait
