#pragma once
// What to change about a layout, one decision at a time: so that it fits, or else so that its step
// is shorter.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/vary.h"
#include "reports/report.h"
#include "reports/terminal.h"

namespace plait {

/// Changes of the scenario that go together, with which it fits.
struct Cure {
  Assignments sets;                    // as --set takes them, with the size that gave way
  double step_time_s = 0;              // with the change
  std::int64_t peak_memory_bytes = 0;  // of the fullest rank, likewise
};

/// A scenario with one decision changed, which fits and is faster.
struct Improvement {
  Assignments sets;  // as --set takes them, with the size of the axis that gave way
  Report report;
};

struct Improvements {
  std::size_t tried = 0, planned = 0, fit = 0;  // neighbours; those that can be planned; that fit
  std::vector<Improvement> best;                // the fastest of each decision, fastest first
};

struct Changes {
  bool fits = true;           // the scenario as it is
  double step_time_s = 0;     // its own
  std::vector<Cure> cures;    // where it does not fit
  Improvements improvements;  // where it does
};

/// [{"set": {"strategy.zero_stage": "3"}, "step_time_s": ..., "peak_memory_bytes": ...}, ...]
nlohmann::ordered_json cures_json(const std::vector<Cure>& cures);
std::vector<Line> cure_lines(const std::vector<Cure>& cures);

/// The key of documents that have them: "changes_that_fit" or "changes_that_help".
const char* key_of(const Changes& changes);
/// Those that fit as cures_json has them; those that help:
/// {"tried": 30, "planned": 24, "fit": 12, "step_time_s": ..., "best": [{"set": {...},
///  "step_time_s": ..., "step_time_change": ..., "peak_memory_bytes": ..., "bound_by": ...}]}
/// The outer step time is that of the scenario itself.
nlohmann::ordered_json changes_json(const Changes& changes);
std::vector<Line> change_lines(const Changes& changes);

}  // namespace plait
