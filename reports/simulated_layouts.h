#pragma once
// Every layout that a search simulates, written while it runs: as CSV, or into an SQLite database
// where this build has SQLite.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/vary.h"
#include "reports/report.h"

namespace plait {

struct SimulatedLayout {
  Assignments machine;   // what was varied around the search, {"cluster.nodes", "8"}
  Assignments settings;  // of the layout, the same fields for each
  bool planned = true;   // otherwise the planner refuses it, and the figures below are 0
  double bound_s = 0;    // what was known of the step time before
  double step_time_s = 0;
  std::int64_t memory_bytes = 0;  // of the fullest rank
  std::int64_t room_bytes = 0;    // that the rank with least of it has left
};

/// Takes layouts as they come.
class LayoutWriter {
 public:
  virtual ~LayoutWriter() = default;
  /// After it returns, others can read them. Throws EnvironmentError.
  virtual void add(std::span<const SimulatedLayout> layouts) = 0;
  /// The search has ended; `complete`: not because somebody interrupted it.
  virtual void finish(bool complete) = 0;
};

/// A new file. Throws EnvironmentError.
std::unique_ptr<LayoutWriter> write_layouts_csv(const std::string& path);

/// Adds a row to `searches`, and one to `layouts` for each. Throws EnvironmentError, also where
/// this build has no SQLite.
std::unique_ptr<LayoutWriter> write_layouts_sqlite(const std::string& path,
                                                   const std::string& scenario,
                                                   const RunFacts& facts);

/// "strategy.recompute.kind" as a column: "recompute_kind".
std::string column_of(const std::string& path);
/// "cluster.nodes=8 cluster.preset=hgx-h100"
std::string machine_text(const Assignments& machine);
/// "fits", "does not fit", "cannot be planned".
std::string outcome_of(const SimulatedLayout& layout);

}  // namespace plait
