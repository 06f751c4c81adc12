#include "prediction/prices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/plain_number.h"
#include "core/spelling.h"
#include "scenarios/highest_price.h"
#include "scenarios/overrides.h"
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
                    .expected = "a device of the machines or of the catalogue",
                    .cure = meant.empty() ? "see plait list devices" : meant});
}

/// As --price gives it.
std::optional<double> price_of_kind(const std::vector<std::string>& prices,
                                    const std::string& device) {
  std::optional<double> out;
  for (const std::string& text : prices) {
    const std::size_t equals = text.find('=');
    const bool named = equals != std::string::npos;
    const auto price = parse_number<double>(std::string_view(text).substr(named ? equals + 1 : 0));
    if (!price || *price <= 0 || *price > kHighestPrice) {
      const std::string plain = plain_number(std::string_view(text).substr(named ? equals + 1 : 0));
      throw InputError({.code = "G024",
                        .problem = "--price " + text + " is no price",
                        .expected = "of a device for an hour: 2.5, or h100-sxm=2.5",
                        .cure = "write a number above 0, up to 1e9, alone" +
                                (price || plain.empty() ? "" : ": " + plain)});
    }
    if (!named || text.substr(0, equals) == device) out = price;
  }
  return out;
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

void refuse_lack(const std::string& with, const std::string& without, const char* figure,
                 const char* cure) {
  throw InputError({.code = "G024",
                    .problem = fmt::format("{} has a {} and {} has none", with, figure, without),
                    .expected = "one of each machine, or they cannot be compared",
                    .cure = fmt::format(fmt::runtime(cure), without)});
}

std::vector<std::string> kinds_of_devices(const Cluster& cluster) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) out.push_back(cluster.kind(k).device.name);
  return out;
}

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

void require_prices(const std::vector<std::string>& prices, std::vector<std::string> devices) {
  if (prices.empty()) return;
  std::ranges::copy(device_names(), std::back_inserter(devices));
  for (const std::string& price : prices) require_price_of_known(price, devices);
  require_one_price_of_all(prices);
}

Warnings idle_prices(const std::vector<std::string>& prices,
                     const std::vector<std::string>& devices) {
  Warnings out;
  for (const std::string& text : prices) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    if (std::ranges::find(devices, text.substr(0, equals)) != devices.end()) continue;
    out.push_back(
        {"W001", fmt::format("--price {} has no effect: no machine has such devices", text)});
  }
  return out;
}

std::vector<PricedDevice> priced_devices(const Scenario& machine) {
  std::vector<PricedDevice> out;
  for (std::string& device : kinds_of_devices(machine.cluster)) {
    out.push_back({machine.price_per_device_hour, std::move(device)});
  }
  return out;
}

void require_one_price(const std::vector<std::string>& prices,
                       const std::vector<std::string>& paths) {
  constexpr std::string_view kPrice = "cluster.price_per_device_hour";
  const auto of_any = std::ranges::find_if(
      prices, [](const std::string& p) { return p.find('=') == std::string::npos; });
  const bool twice = std::ranges::any_of(
      paths, [&](const std::string& path) { return canonical_path(path) == kPrice; });
  if (of_any == prices.end() || !twice) return;
  throw InputError({.code = "G024",
                    .problem = fmt::format("--price {} and -L {} both say what any device costs",
                                           *of_any, kPrice),
                    .expected = "one of the two",
                    .cure = "leave out one of them, or name a device: --price h100-sxm=2"});
}

Warnings shared_prices(const std::vector<std::string>& prices,
                       const std::vector<PricedDevice>& all) {
  std::map<double, std::vector<std::string>> devices;  // by the price that does not name them
  for (const auto& [price, device] : all) {
    const auto names = [&device = device](const std::string& p) {
      return p.starts_with(device + "=");
    };
    std::vector<std::string>& same = devices[price];
    const bool told = std::ranges::count(same, device) > 0;
    if (!told && std::ranges::none_of(prices, names)) same.push_back(device);
  }
  Warnings out;
  for (const auto& [price, same] : devices) {
    if (price <= 0 || same.size() < 2) continue;
    out.push_back(
        {"W026", fmt::format("{} have one price, {:g} an hour: --price {}=PRICE gives each its own",
                             fmt::join(same, " and "), price, fmt::join(same, "=PRICE,"))});
  }
  return out;
}

void set_price(const std::vector<std::string>& prices, Scenario& s) {
  if (prices.empty()) return;
  const std::vector<std::string> devices = kinds_of_devices(s.cluster);
  require_prices(prices, devices);
  s.price_per_device_hour = price_of(prices, s);
  append(s.warnings, idle_prices(prices, devices));
}

}  // namespace plait
