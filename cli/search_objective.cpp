#include "cli/search_objective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/sha256.h"
#include "core/spelling.h"
#include "reports/human.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

/// What the objective makes small, of all layouts of one machine.
struct Score {
  double fixed = 0, per_second = 0;  // of the step
  double time_of_token = 0;          // of a step of one second

  double of(SimTime step) const { return fixed + per_second * to_seconds(step).value; }
};

Score score_on(const SearchCommand& o, const Scenario& s) {
  const auto gpus = static_cast<double>(s.cluster.world_size());
  const Workload& w = s.workload;
  const DocumentLayout documents = lay_out(w.documents, w.sequence_length);
  const double time_of_token =
      1 / trained_on(s.model, documents, w.sequence_length, w.global_batch).tokens;
  const auto of_each_gpu = [&](double rate) {
    return Score{.per_second = gpus * (rate > 0 ? rate : 1) * time_of_token,
                 .time_of_token = time_of_token};
  };
  if (o.objective == "gpus") return {.fixed = gpus, .time_of_token = time_of_token};
  if (o.objective == "energy") return of_each_gpu(s.cluster.rated_power().value);
  if (o.objective == "cost") return of_each_gpu(s.price_per_device_hour);
  return {.per_second = time_of_token, .time_of_token = time_of_token};
}

/// Of a row, in the same order as of its score.
std::pair<double, double> figures_of(const SearchCommand& o, const SearchRow& row) {
  const Report& r = row.report;
  const double time = 1 / r.tokens_per_s;
  const auto gpus = static_cast<double>(r.world_size);
  if (o.objective == "gpus") return {gpus, time};
  if (o.objective == "energy") return {row.energy_kwh_per_billion_tokens, time};
  if (o.objective != "cost") return {time, time};
  return {r.price_per_billion_tokens > 0 ? r.price_per_billion_tokens : gpus * time, time};
}

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
      throw InputError({.code = "G024",
                        .problem = "--price " + text + " is no price",
                        .expected = "of a device for an hour: 2.5, or h100-sxm=2.5"});
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

void require_figures(const SearchCommand& o, const std::vector<const Scenario*>& machines) {
  std::vector<std::string> devices = device_names();
  for (const Scenario* s : machines) {
    for (std::string& device : devices_of(s->cluster)) devices.push_back(std::move(device));
  }
  for (const std::string& price : o.prices) require_price_of_known(price, devices);
  require_one_price_of_all(o.prices);
  if (o.objective == "cost") {
    require_of_all(
        machines, [](const Scenario& s) { return s.price_per_device_hour; }, "price",
        "add its price: --price {}=PRICE");
  }
  if (o.objective == "energy") {
    const auto power = [](const Scenario& s) { return s.cluster.rated_power().value; };
    require_of_all(machines, power, "rated power", "set cluster.device.power of {}");
    require_power(*machines.front());
  }
}

void Ranking::add(const Scenario& machine, std::size_t study, const std::vector<Found>& found) {
  const Score score = score_on(options_, machine);
  for (const Found& f : found) {
    if (!is_new(machine, f.layout)) continue;
    const double time = score.time_of_token * to_seconds(f.result.step).value;
    all_.push_back({study, f, score.of(f.result.step), time});
  }
  std::ranges::stable_sort(all_, {},
                           [](const Ranked& c) { return std::pair(c.score, c.time_per_token); });
}

bool Ranking::is_new(const Scenario& machine, const Layout& layout) {
  if (!machine.placement_rule.any()) return true;
  const std::vector<std::int64_t> devices = with_layout(machine, layout).placement;
  return placed_
      .insert(sha256(fmt::format("{} {} {}", machine.canonical_json, settings_of(layout),
                                 fmt::join(devices, ","))))
      .second;
}

SimTime Ranking::slowest(const Scenario& machine) const {
  constexpr SimTime kAny = std::numeric_limits<SimTime>::max();
  // Too late, what is best may have to make room; the front asks for more than the objective.
  const bool all_count = options_.days > 0 || options_.wants_front();
  if (all_count || all_.size() < options_.best) return kAny;
  const Ranked& last = all_[options_.best - 1];
  const Score score = score_on(options_, machine);
  const auto limit = [](double seconds) {
    constexpr double kRounding = 1e-12, kLongestLimit = 1e6;
    return seconds < kLongestLimit ? to_sim_time(Seconds(seconds * (1 + kRounding))) + 1 : kAny;
  };
  if (score.per_second > 0) return limit((last.score - score.fixed) / score.per_second);
  if (score.fixed != last.score) return score.fixed < last.score ? kAny : 0;
  return limit(last.time_per_token / score.time_of_token);
}

std::vector<Ranked> Ranking::reported() const {
  const std::size_t n = options_.days > 0 ? all_.size() : std::min(all_.size(), options_.best);
  return {all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(n)};
}

bool is_better(const SearchCommand& o, const SearchRow& row, const SearchRow& other) {
  if (o.days > 0 && days_of_training(row.report) > o.days) return false;
  constexpr double kRounding = 1e-9;
  const auto [score, time] = figures_of(o, row);
  const auto [other_score, other_time] = figures_of(o, other);
  if (score < other_score * (1 - kRounding)) return true;
  return score <= other_score && time < other_time * (1 - kRounding);
}

std::string leave_the_best(const SearchCommand& o, std::vector<SearchRow>& rows) {
  const auto days = [](const SearchRow& row) { return days_of_training(row.report); };
  const auto soonest = std::ranges::min_element(rows, {}, days);
  const double least = soonest == rows.end() ? 0 : days(*soonest);
  if (o.days > 0) {
    std::erase_if(rows, [&](const SearchRow& row) { return days(row) > o.days; });
  }
  if (rows.size() > o.best) rows.resize(o.best);
  if (!rows.empty() || least == 0) return "";
  return fmt::format("NOTHING IN TIME: the fastest that fits takes {} days, not {}",
                     human_number(least), human_number(o.days));
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

}  // namespace plait
