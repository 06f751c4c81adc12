#include "cli/search_objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/spelling.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

/// What the objective makes small.
double score(const SearchCommand& o, const SearchRow& row) {
  const Report& r = row.report;
  const double gpu_seconds_per_token = static_cast<double>(r.world_size) / r.tokens_per_s;
  if (o.objective == "gpus") return static_cast<double>(r.world_size);
  if (o.objective == "energy") {
    return row.energy_kwh_per_billion_tokens > 0 ? row.energy_kwh_per_billion_tokens
                                                 : gpu_seconds_per_token;
  }
  if (o.objective == "cost") {
    return r.price_per_billion_tokens > 0 ? r.price_per_billion_tokens : gpu_seconds_per_token;
  }
  return 1 / r.tokens_per_s;
}

void require_price_of_known(const std::string& price, std::vector<std::string> devices) {
  const std::string device = price.substr(0, price.find('='));
  if (device.size() == price.size() || std::ranges::find(devices, device) != devices.end()) return;
  const std::string meant = did_you_mean(device, devices);
  throw InputError({.code = "G024",
                    .problem = "--price " + price + ": no device is called " + device,
                    .expected = "a device of the search or of the catalogue",
                    .cure = meant.empty() ? "see plait list devices" : meant});
}

/// `figure` of each machine: of all or of none of them.
template <class F>
void require_of_all(const std::vector<const Scenario*>& machines, F figure, const char* name,
                    const char* cure) {
  std::string with, without;
  for (const Scenario* s : machines) {
    (figure(*s) > 0 ? with : without) = s->cluster.device.name;
  }
  if (with.empty() || without.empty()) return;
  throw InputError({.code = "G024",
                    .problem = fmt::format("{} has a {} and {} has none", with, name, without),
                    .expected = "one of each machine that is searched, or they cannot be ranked",
                    .cure = fmt::format(fmt::runtime(cure), without)});
}

}  // namespace

void require_figures(const SearchCommand& o, const std::vector<const Scenario*>& machines) {
  std::vector<std::string> devices = device_names();
  for (const Scenario* s : machines) devices.push_back(s->cluster.device.name);
  for (const std::string& price : o.prices) require_price_of_known(price, devices);
  if (o.objective == "cost") {
    require_of_all(
        machines, [](const Scenario& s) { return s.price_per_device_hour; }, "price",
        "add its price: --price {}=PRICE");
  }
  if (o.objective == "energy") {
    require_of_all(
        machines, [](const Scenario& s) { return s.cluster.device.power.value; }, "rated power",
        "set cluster.device.power of {}");
  }
}

void Ranking::add(const SearchCommand& o, std::vector<SearchRow> rows) {
  for (SearchRow& row : rows) {
    const double days = days_of_training(row.report);
    if (o.days > 0 && days > o.days) {
      least_days_ = least_days_ > 0 ? std::min(least_days_, days) : days;
      continue;
    }
    const double value = score(o, row);
    rows_.emplace_back(value, std::move(row));
  }
}

std::vector<SearchRow> Ranking::best(const SearchCommand& o) {
  std::ranges::stable_sort(
      rows_, {}, [](const auto& r) { return std::pair(r.first, r.second.report.step_time_s); });
  std::vector<SearchRow> out;
  for (auto& [value, row] : rows_) {
    if (out.size() < o.best) out.push_back(std::move(row));
  }
  return out;
}

std::string Ranking::too_late(const SearchCommand& o) const {
  if (!rows_.empty() || least_days_ == 0) return "";
  return fmt::format("NOTHING IN TIME: the fastest that fits takes {:.3g} days, not {:.3g}",
                     least_days_, o.days);
}

double price_of(const std::vector<std::string>& prices, const std::string& device) {
  double out = 0;
  for (const std::string& text : prices) {
    const std::size_t equals = text.find('=');
    const bool named = equals != std::string::npos;
    const char* first = text.data() + (named ? equals + 1 : 0);
    const char* last = text.data() + text.size();
    double price = 0;
    const auto [end, error] = std::from_chars(first, last, price);
    if (error != std::errc() || end != last || !(price > 0)) {
      throw InputError({.code = "G024",
                        .problem = "--price " + text + " is no price",
                        .expected = "of a device for an hour: 2.5, or h100-sxm=2.5"});
    }
    if (!named || text.substr(0, equals) == device) out = price;
  }
  return out;
}

}  // namespace plait
