#if PLAIT_HAS_REALRUN

#include "cli/verified_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/csv.h"
#include "reports/json_tree.h"

namespace plait {

Bytes most_held(const Verification& v) { return std::ranges::max(v.held); }

std::string to_json(const std::vector<VerifiedRow>& rows, int steps) {
  nlohmann::ordered_json tree;
  tree["steps"] = steps;
  nlohmann::ordered_json& list = tree["cases"] = nlohmann::ordered_json::array();
  for (const VerifiedRow& r : rows) {
    const Verification& v = r.result;
    list.push_back({{"strategy", r.strategy},
                    {"ranks", v.ranks},
                    {"precision", name_of(r.precision)},
                    {"gradient_error", v.whole_error},
                    {"allowed_gradient_error", r.allowed.whole},
                    {"worst_error", v.worst_error},
                    {"allowed_error", r.allowed.error},
                    {"worst_tensor", v.worst_tensor},
                    {"worst_cosine", v.worst_cosine},
                    {"worst_along", v.worst_along},
                    {"loss_error", v.loss_error},
                    {"allowed_loss_error", r.allowed.loss},
                    {"weight_error", v.weight_error},
                    {"peak_memory_bytes", most_held(v).value},
                    {"memory_as_planned", v.memory_as_planned()},
                    {"replicas_agree", v.replicas_agree},
                    {"passed", r.passed}});
  }
  return json_text(tree);
}

std::string to_csv(const std::vector<VerifiedRow>& rows, int steps) {
  std::string out =
      csv_row({"strategy", "ranks", "precision", "steps", "gradient_error", "worst_error",
               "worst_cosine", "loss_error", "peak_memory_bytes", "memory_as_planned", "passed"});
  for (const VerifiedRow& r : rows) {
    const Verification& v = r.result;
    out += csv_row({r.strategy, fmt::format("{}", v.ranks), std::string(name_of(r.precision)),
                    fmt::format("{}", steps), fmt::format("{}", v.whole_error),
                    fmt::format("{}", v.worst_error), fmt::format("{}", v.worst_cosine),
                    fmt::format("{}", v.loss_error), fmt::format("{}", most_held(v).value),
                    fmt::format("{}", v.memory_as_planned()), fmt::format("{}", r.passed)});
  }
  return out;
}

}  // namespace plait

#endif
