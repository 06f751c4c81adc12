#pragma once
// What to change about a layout, one decision at a time: so that it fits, or else so that its step
// is shorter.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/cures.h"
#include "cli/improvements.h"
#include "reports/terminal.h"

namespace plait {

class Changes {
 public:
  /// Of `scenario`, which is `text` with `sets`; `now` is its own prediction. `jobs`: threads.
  Changes(const ScenarioText& text, const std::vector<Override>& sets, const Scenario& scenario,
          const Report& now, int jobs);

  /// The key of documents that have them: "changes_that_fit" or "changes_that_help".
  const char* key() const;
  nlohmann::ordered_json json() const;  // cures_json or improvements_json
  std::vector<Line> lines() const;

 private:
  bool fits_;
  double step_time_s_;
  std::vector<Cure> cures_;
  Improvements improvements_;
};

}  // namespace plait
