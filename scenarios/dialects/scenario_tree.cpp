#include "scenarios/dialects/scenario_tree.h"

#include <algorithm>

#include "core/json.h"
#include "scenarios/fields.h"

namespace plait {
namespace {

/// The field's at a path; "": all of it.
const Shape& scenario_shape_at(const std::string& path) {
  const Shape* shape = &scenario_shape();
  if (path.empty()) return *shape;
  for (const std::string& step : split_path(path)) {
    const auto property = std::ranges::find(shape->properties, step, &Property::key);
    PLAIT_CHECK(property != shape->properties.end(), "no field " + path);
    shape = &property->shape;
  }
  return *shape;
}

}  // namespace

ScenarioTree::Node* ScenarioTree::find(const std::string& path) {
  Node* at = &root;
  for (const std::string& step : split_path(path)) {
    if (!at->is_object() || !at->contains(step)) return nullptr;
    at = &(*at)[step];
  }
  return at;
}

bool ScenarioTree::states(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const Node* above = dot == std::string::npos ? nullptr : find(path.substr(0, dot));
  if (above == nullptr || !above->is_string()) return find(path) != nullptr;
  return scenario_shape_at(path.substr(0, dot)).shorthand == path.substr(dot + 1);
}

void ScenarioTree::set(const std::string& path, Node value) {
  Node* at = &root;
  std::string walked;
  for (const std::string& step : split_path(path)) {
    if (at->is_string()) *at = Node{{scenario_shape_at(walked).shorthand, *at}};
    if (!at->is_object()) *at = Node::object();
    at = &(*at)[step];
    walked += (walked.empty() ? "" : ".") + step;
  }
  *at = std::move(value);
}

std::int64_t ScenarioTree::size(const std::string& axis) {
  const Node* at = find("strategy." + axis);
  const bool given = at != nullptr && at->is_number_integer();
  return given ? std::max<std::int64_t>(at->get<std::int64_t>(), 1) : 1;
}

}  // namespace plait
