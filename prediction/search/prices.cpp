#include "prediction/search/prices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/plain_number.h"
#include "core/spelling.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

void require_price_of_known(const std::string& price, std::vector<std::string> devices) {
  const std::string device = price.substr(0, price.find('='));
  if (device.size() == price.size() || std::ranges::find(devices, device) != devices.end()) return;
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  const std::string meant = did_you_mean(device, devices);
  throw InputError({.code = "G024",
                    .problem = "--price " + price + ": no device is called " + device,
                    .expected = "a device of the search or of the catalogue",
                    .cure = meant.empty() ? "see plait list devices" : meant});
}

[[noreturn]] void refuse_lack(const std::string& with, const std::string& without,
                              const char* figure, const char* cure) {
  throw InputError({.code = "G024",
                    .problem = fmt::format("{} has a {} and {} has none", with, figure, without),
                    .expected = "one of each machine that is searched, or they cannot be ranked",
                    .cure = fmt::format(fmt::runtime(cure), without)});
}

std::vector<std::string> devices_of(const Cluster& cluster) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) out.push_back(cluster.kind(k).device.name);
  return out;
}

/// As --price gives it.
std::optional<double> price_of_kind(const std::vector<std::string>& prices,
                                    const std::string& device) {
  std::optional<double> out;
  for (const std::string& text : prices) {
    const std::size_t equals = text.find('=');
    const bool named = equals != std::string::npos;
    const auto price = parse_number<double>(std::string_view(text).substr(named ? equals + 1 : 0));
    if (!price || *price <= 0) {
      const std::string plain = plain_number(std::string_view(text).substr(named ? equals + 1 : 0));
      throw InputError(
          {.code = "G024",
           .problem = "--price " + text + " is no price",
           .expected = "of a device for an hour: 2.5, or h100-sxm=2.5",
           .cure = "write a number above 0 alone" + (price || plain.empty() ? "" : ": " + plain)});
    }
    if (!named || text.substr(0, equals) == device) out = price;
  }
  return out;
}

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

/// "2,50" is two prices.
void require_one_price_of_all(const std::vector<std::string>& prices) {
  std::vector<std::string> of_all;
  std::ranges::copy_if(prices, std::back_inserter(of_all), [](const std::string& price) {
    return price.find('=') == std::string::npos;
  });
  if (of_all.size() < 2) return;
  throw InputError({.code = "G024",
                    .problem = fmt::format("--price has {} prices of any device: {}", of_all.size(),
                                           fmt::join(of_all, " and ")),
                    .expected = "one, with a point (2.50), or one of each kind of device",
                    .cure = "name the device of each: --price h100-sxm=2,h200-sxm=3"});
}

}  // namespace

double price_of(const std::vector<std::string>& prices, const Scenario& machine) {
  const Cluster& cluster = machine.cluster;
  double mean = 0;
  std::string with, without;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) {
    const std::string& device = cluster.kind(k).device.name;
    const double price = price_of_kind(prices, device).value_or(machine.price_per_device_hour);
    (price > 0 ? with : without) = device;
    mean += cluster.share(k) * price;
  }
  if (!with.empty() && !without.empty()) {
    refuse_lack(with, without, "price", "add its price: --price {}=PRICE");
  }
  return mean;
}

std::vector<std::string> idle_prices(const std::vector<std::string>& prices,
                                     const std::vector<const Scenario*>& machines) {
  std::vector<std::string> out;
  for (const std::string& text : prices) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const auto has = [device = text.substr(0, equals)](const Scenario* s) {
      const std::vector<std::string> own = devices_of(s->cluster);
      return std::ranges::find(own, device) != own.end();
    };
    if (std::ranges::any_of(machines, has)) continue;
    out.push_back(fmt::format("W001: --price {} has no effect: no machine has such devices", text));
  }
  return out;
}

void require_figures(const SearchQuestion& q, const std::vector<const Scenario*>& machines) {
  std::vector<std::string> devices = device_names();
  for (const Scenario* s : machines) {
    for (std::string& device : devices_of(s->cluster)) devices.push_back(std::move(device));
  }
  for (const std::string& price : q.prices) require_price_of_known(price, devices);
  require_one_price_of_all(q.prices);
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
