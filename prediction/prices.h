#pragma once
// What devices cost for an hour, as --price says beside what scenarios do: "2.5" of all of them,
// "h100-sxm=2.5" of one kind.

#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/scenario.h"

namespace plait {

/// Of all nodes of a cluster.
std::vector<std::string> kinds_of_devices(const Cluster& cluster);

/// What a device of the machine costs for an hour, the mean over all: as `prices` say, else as the
/// scenario does. 0: not said. Throws InputError G024, also where only some of its kinds have a
/// price.
double price_of(const std::vector<std::string>& prices, const Scenario& machine);

/// Throws InputError G024 for several prices of any device, and for the price of one that is
/// neither in the catalogue nor among `devices`, those of all machines.
void require_prices(const std::vector<std::string>& prices, std::vector<std::string> devices);

/// W001 for each price of a device that is not among `devices`.
Warnings idle_prices(const std::vector<std::string>& prices,
                     const std::vector<std::string>& devices);

/// A kind of device, and what its machine costs for an hour and device.
struct PricedDevice {
  double price = 0;
  std::string device;
  auto operator<=>(const PricedDevice&) const = default;
};
std::vector<PricedDevice> priced_devices(const Scenario& machine);

/// W026 where different devices have one price, and nothing says of which device it is. Their own
/// prices are known.
Warnings shared_prices(const std::vector<std::string>& prices,
                       const std::vector<PricedDevice>& devices);

/// Throws InputError G024 where one of `paths`, which -L varies, is what `prices` say of any
/// device.
void require_one_price(const std::vector<std::string>& prices,
                       const std::vector<std::string>& paths);

/// All of it, for a scenario alone: its price, and its warnings.
void set_price(const std::vector<std::string>& prices, Scenario& scenario);

/// Throws InputError G024: one machine, or kind of device, has a figure that the other lacks.
/// `cure`: with {} for the one without.
[[noreturn]] void refuse_lack(const std::string& with, const std::string& without,
                              const char* figure, const char* cure);

}  // namespace plait
