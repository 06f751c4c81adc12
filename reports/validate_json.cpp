#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "reports/csv.h"
#include "reports/json_tree.h"
#include "reports/validate.h"

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

Tree or_null(const std::optional<double>& value) { return value ? Tree(*value) : Tree(nullptr); }

Tree record_tree(const ValidationRecord& r) {
  Tree out = {{"id", r.id}, {"file", r.file}, {"tier", r.tier}, {"framework", r.framework}};
  out.update({{"model", r.model}, {"cluster", r.cluster}, {"layout", r.layout}});
  out["measured_s"] = or_null(r.measured_s);
  out["measured_as"] = r.measured_as;
  out["predicted_s"] = r.predicted_s;
  out["error"] = or_null(r.error());
  out["fits"] = r.fits;
  out["measured_oom"] = r.says_memory ? Tree(r.measured_oom) : Tree(nullptr);
  if (r.measured_memory_bytes) {
    out["measured_memory_bytes"] = *r.measured_memory_bytes;
    out["predicted_memory_bytes"] = r.predicted_memory_bytes;
    out["memory_statistic"] = r.memory_statistic;
    out["memory_error"] = or_null(r.memory_error());
  }
  out["bound_by"] = r.bound_by;
  const auto& p = r.provenance.share;
  out["provenance"] = {{"measured", p[0]},
                       {"fitted", p[1]},
                       {"datasheet", p[2]},
                       {"extrapolated", p[3]},
                       {"band", r.provenance.band}};
  out["assumed"] = r.assumed;
  return out;
}

Tree summary_tree(const ValidationSummary& s) {
  return {{"n", s.n},
          {"mape", or_null(s.mape)},
          {"median_ape", or_null(s.median_ape)},
          {"p90_ape", or_null(s.p90_ape)},
          {"max_ape", or_null(s.max_ape)},
          {"bias", or_null(s.bias)},
          {"kendall_tau", or_null(s.kendall_tau)},
          {"ranked_groups", s.ranked_groups},
          {"top1_regret", or_null(s.top1_regret)},
          {"worst_regret", or_null(s.worst_regret)},
          {"oom_accuracy", or_null(s.oom_accuracy)},
          {"oom_confusion",
           {{"ran_fits", s.ran_fits},
            {"ran_does_not_fit", s.ran_does_not_fit},
            {"oom_fits", s.oom_fits},
            {"oom_does_not_fit", s.oom_does_not_fit}}},
          {"memory_n", s.memory_n},
          {"memory_mape", or_null(s.memory_mape)},
          {"memory_median_ape", or_null(s.memory_median_ape)},
          {"memory_bias", or_null(s.memory_bias)},
          {"repeats", s.repeats},
          {"repeat_ape", or_null(s.repeat_ape)},
          {"in_band", or_null(s.in_band)},
          {"not_represented", s.not_represented}};
}

std::string or_empty(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

std::string validation_json(const Validation& v, int worst) {
  Tree records = Tree::array(), others = Tree::array(), files = Tree::array();
  for (const ValidationRecord* r : v.listed(worst)) {
    if (r->predicted()) records.push_back(record_tree(*r));
  }
  for (const ValidationRecord& r : v.records) {
    if (!r.predicted()) {
      others.push_back({{"id", r.id}, {"file", r.file}, {"reason", r.reason}});
    }
  }
  for (const std::string& file : v.files()) {
    files.push_back({{"file", file}, {"summary", summary_tree(summarize(v.of_file(file)))}});
  }
  const Tree out = {{"version", v.version},
                    {"command", v.command},
                    {"summary", summary_tree(summarize(v.of_file("")))},
                    {"files", std::move(files)},
                    {"records", std::move(records)},
                    {"not_represented", std::move(others)}};
  return json_text(out);
}

std::string validation_csv(const Validation& v, int worst) {
  std::string out =
      csv_row({"file", "id", "tier", "framework", "model", "cluster", "layout", "measured_s",
               "predicted_s", "error", "fits", "measured_oom", "measured_memory_bytes",
               "predicted_memory_bytes", "memory_statistic", "reason"});
  for (const ValidationRecord* listed : v.listed(worst)) {
    const ValidationRecord& r = *listed;
    const bool p = r.predicted();
    out += csv_row(
        {r.file, r.id, r.tier, r.framework, r.model, r.cluster, r.layout, or_empty(r.measured_s),
         p ? fmt::format("{}", r.predicted_s) : "", or_empty(r.error()), p ? json_bool(r.fits) : "",
         r.says_memory ? json_bool(r.measured_oom) : "", or_empty(r.measured_memory_bytes),
         p && r.measured_memory_bytes ? fmt::format("{}", r.predicted_memory_bytes) : "",
         r.memory_statistic, r.reason});
  }
  return out;
}

}  // namespace plait
