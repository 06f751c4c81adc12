#include "prediction/search/figures.h"

#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "prediction/prices.h"

namespace plait {
namespace {

/// `figure` of each machine: of all or of none of them.
template <class F>
void require_of_all(const std::vector<const Scenario*>& machines, F figure, const char* name,
                    const char* cure) {
  std::string with, without;
  for (const Scenario* s : machines) {
    (figure(*s) > 0 ? with : without) = s->cluster.device.name;
  }
  if (!with.empty() && !without.empty()) refuse_lack(with, without, name, cure);
}

/// Where none has one, energies cannot be ranked.
void require_power(const Scenario& machine) {
  if (machine.cluster.rated_power().value > 0) return;
  const std::string& device = machine.cluster.device.name;
  throw InputError({.code = "G024",
                    .problem = fmt::format("{} has no rated power", device),
                    .expected = "a rated power of each device, which --objective energy adds up",
                    .cure = "set cluster.device.power"});
}

}  // namespace

void require_figures(const SearchQuestion& q, const std::vector<const Scenario*>& machines) {
  if (q.objective == Objective::kCost) {
    require_of_all(
        machines, [](const Scenario& s) { return s.price_per_device_hour; }, "price",
        "add its price: --price {}=PRICE");
  }
  if (q.objective == Objective::kEnergy) {
    const auto power = [](const Scenario& s) { return s.cluster.rated_power().value; };
    require_of_all(machines, power, "rated power", "set cluster.device.power of {}");
    require_power(*machines.front());
  }
}

}  // namespace plait
