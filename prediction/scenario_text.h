#pragma once
// A scenario file, read once.

#include <string>

namespace plait {

struct ScenarioText {
  std::string file, text;
};

}  // namespace plait
