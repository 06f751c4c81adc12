#include "prediction/evaluate.h"

#include <fmt/format.h>

#include "prediction/costs.h"
#include "prediction/fill_axis.h"
#include "prediction/prediction.h"
#include "prediction/prices.h"
#include "prediction/run_facts.h"
#include "reports/html/timeline.h"
#include "topologies/placement.h"

namespace plait {
namespace {

constexpr std::int64_t kSpansOfOneOfMany = 60'000;

Outcome refused(const InputError& error, std::optional<Override> filled) {
  if (!is_of_one_row(error)) throw InputError(error);
  return {std::nullopt, fmt::format("{}: {}", error.text().code, error.text().problem),
          std::move(filled), "", ""};
}

}  // namespace

bool is_of_one_row(const InputError& error) {
  const std::string& code = error.text().code;
  if (code == "C001" || code == "C002" || code == "C003") return false;  // unknown names
  return code.starts_with('S') || code.starts_with('C');
}

CostModel Evaluator::costs(const Scenario& scenario) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Calibration>& read = calibrations_[scenario.calibration];
  if (read == nullptr) read = calibration_of(scenario);
  return costs_of(scenario, read);
}

void Evaluator::price(Scenario& s) {
  if (!prices_.empty()) s.price_per_device_hour = price_of(prices_, s);
  if (!(s.price_per_device_hour > 0)) return;
  const std::lock_guard lock(mutex_);
  for (PricedDevice& d : priced_devices(s)) devices_.insert(std::move(d));
}

Warnings Evaluator::warnings_of_prices() const {
  const std::lock_guard lock(mutex_);
  const std::vector<PricedDevice> priced(devices_.begin(), devices_.end());
  std::vector<std::string> devices;
  for (const PricedDevice& d : priced) devices.push_back(d.device);
  require_prices(prices_, devices);
  Warnings out = idle_prices(prices_, devices);
  append(out, shared_prices(prices_, priced));
  return out;
}

Outcome Evaluator::predicted(const Variant& variant, Scenario s) {
  price(s);
  const RunFacts facts = run_facts(s, command_line_);
  if (variant.timeline_label.empty()) {
    return {report_of(s, costs(s), facts).report, "", std::nullopt, "", ""};
  }
  Prediction p = predict(s, costs(s), {.memory_curve = true}, facts);
  const std::vector<std::string> devices = devices_of_ranks(s.cluster, s.placement);
  const TimelineInputs in = {p.plan, p.simulation.timeline, variant.timeline_label,
                             {},     kSpansOfOneOfMany,     p.report.memory.stage,
                             devices};
  return {std::move(p.report), "", std::nullopt, timeline_json(in), memory_json(in, p.memory)};
}

Outcome Evaluator::operator()(const Variant& variant) {
  const ScenarioText& text = *variant.scenario;
  std::optional<Override> filled;
  try {
    Scenario s = variant.may_fill ? parse_filled(text, variant.sets, filled)
                                  : parse_scenario(text.text, text.file, variant.sets);
    Outcome out = predicted(variant, std::move(s));
    out.filled = filled;
    return out;
  } catch (const InputError& error) {
    return refused(error, filled);
  }
}

}  // namespace plait
