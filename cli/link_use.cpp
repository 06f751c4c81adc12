#include "cli/link_use.h"

#include <fmt/format.h>

#include <array>

#include "core/json.h"
#include "sim/link_traffic.h"

namespace plait {
namespace {

/// Of one class of links.
struct ClassUse {
  std::int64_t links = 0;
  LinkId busiest = 0;
  double most = 0, sum = 0;  // utilisations
};

std::string to_json(LinkClass link, const ClassUse& use, const Network& network,
                    const LinkTraffic& traffic) {
  const NetworkLink& busiest = network.links()[use.busiest];
  return fmt::format(
      R"({{"link":{},"links":{},"busiest":{},"bandwidth_bytes_per_s":{},"bytes":{:.0f},)"
      R"("message_bytes":{:.0f},"utilisation":{},"mean_utilisation":{}}})",
      json_quote(name_of(link)), use.links, json_quote(network.name_of(use.busiest)),
      busiest.bandwidth.value, traffic.bytes(use.busiest), traffic.messages[use.busiest], use.most,
      use.sum / static_cast<double>(use.links));
}

}  // namespace

std::string link_use_json(const Scenario& s, const Prediction& p) {
  const auto network = make_network(s.cluster, routing_of(s.cluster));
  const LinkTraffic traffic = link_traffic(p.plan, s.cluster, costs_of(s), s.placement, *network);
  const double step = p.report.step_time_s;
  std::array<ClassUse, kLinkClasses> uses;
  for (LinkId l = 0; l < network->links().size(); ++l) {
    const NetworkLink& link = network->links()[l];
    if (!(link.bandwidth.value > 0)) continue;  // a cable that failed
    ClassUse& use = uses[static_cast<std::size_t>(link.link)];
    const double utilisation = traffic.bytes(l) / link.bandwidth.value / step;
    ++use.links;
    use.sum += utilisation;
    if (utilisation > use.most) use.most = utilisation, use.busiest = l;
  }
  std::vector<std::string> out;
  for (std::size_t c = 0; c < uses.size(); ++c) {
    if (uses[c].most > 0) {
      out.push_back(to_json(static_cast<LinkClass>(c), uses[c], *network, traffic));
    }
  }
  return json_list(out);
}

}  // namespace plait
