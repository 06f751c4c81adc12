#pragma once
// A scenario while it is put together: fields by path, "strategy.tp", where a text may stand for an
// object.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace plait {

struct ScenarioTree {
  using Node = nlohmann::ordered_json;
  Node root;

  /// nullptr where nothing is said of it.
  Node* find(const std::string& path);
  /// It says the field itself, or by a text that stands for the object around it.
  bool states(const std::string& path);
  /// A text on the way stands for an object with one key: "bf16" for {"weights": "bf16"}.
  void set(const std::string& path, Node value);
  /// Of an axis; 1 where it is none: parse_scenario says so.
  std::int64_t size(const std::string& axis);
};

}  // namespace plait
