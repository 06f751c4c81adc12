#include "reports/html/link_use.h"

#include <fmt/format.h>

#include "core/json.h"

namespace plait {

std::string link_use_json(const std::vector<BusyLinks>& uses) {
  std::vector<std::string> out;
  for (const BusyLinks& use : uses) {
    out.push_back(fmt::format(
        R"({{"link":{},"links":{},"busiest":{},"bandwidth_bytes_per_s":{},"bytes":{:.0f},)"
        R"("message_bytes":{:.0f},"utilisation":{},"mean_utilisation":{}}})",
        json_quote(name_of(use.link)), use.links, json_quote(use.busiest), use.bandwidth, use.bytes,
        use.message_bytes, use.utilisation, use.mean_utilisation));
  }
  return json_list(out);
}

}  // namespace plait
