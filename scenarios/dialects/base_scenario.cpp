#include "scenarios/dialects/base_scenario.h"

#include <fmt/format.h>

#include "core/json.h"
#include "scenarios/fields.h"

namespace plait {
namespace {

/// What is missing in it, the file may say: a batch, or the model's sizes.
void refuse_wrong_scenario(const BaseScenario& base) {
  try {
    parse_scenario(base.text, base.file);
  } catch (const InputError& e) {
    if (e.text().code != "F002") throw;
  }
}

}  // namespace

void check_base(const BaseScenario& base) {
  const JsonDocument document = parse_json(base.text, base.file);
  const Json& root = document.root();
  const bool task = root.find("workload") != nullptr || root.find("serving") != nullptr;
  if (root.find("model") != nullptr && task && root.find("cluster") != nullptr) {
    refuse_wrong_scenario(base);
    return;
  }
  if (!root.is(Json::Kind::kObject)) refuse_type(root, "an object");
  std::vector<std::string> parts;
  for (const Property& p : scenario_shape().properties) parts.push_back(p.key);
  refuse_unknown_keys(root, parts);
}

ScenarioTree tree_of(const BaseScenario& base) {
  using Node = ScenarioTree::Node;
  return {base.text.empty() ? Node::object() : Node::parse(base.text, nullptr, true, true)};
}

Where place_in(const BaseScenario& base, const Where& otherwise) {
  if (base.text.empty() || otherwise.path.empty()) return otherwise;
  const JsonDocument document = parse_json(base.text, base.file);
  const Json* stated = document.root().find_path(otherwise.path);
  return stated == nullptr ? otherwise : stated->where();
}

void refuse_to_train(const std::string& file, const BaseScenario& base) {
  throw InputError({"D008",
                    "the file is of a program that trains, and the base is a scenario that serves",
                    {file, 0, 0, ""},
                    "a base with a section workload",
                    fmt::format("leave serving out of {}, or give another base", base.file)});
}

std::string said_at(const std::string& path, const InputError::Text& missing) {
  const std::size_t open = missing.problem.find('"'), close = missing.problem.find('"', open + 1);
  const bool is_share = missing.expected.starts_with("a number from 0 to 1");
  std::string out = "{...}";
  if (close != std::string::npos) {
    out = fmt::format(R"({{{}: {}}})", missing.problem.substr(open, close + 1 - open),
                      is_share ? "0.7" : "...");
  }
  std::vector<std::string> steps = split_path(path);
  for (; !steps.empty(); steps.pop_back()) out = fmt::format(R"({{"{}": {}}})", steps.back(), out);
  return out;
}

}  // namespace plait
