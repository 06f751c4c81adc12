#pragma once
// Predictions beside what others measured: how far each is off, and by which statistics a set of
// them is judged. A record without a prediction counts nowhere but in the list of reasons.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/report.h"
#include "reports/terminal.h"

namespace plait {

/// A published run and what was predicted for it.
struct ValidationRecord {
  std::string file, id, tier, framework;
  std::string model, cluster, layout;
  std::string group;     // runs of one model on one cluster: layouts that can be ranked
  std::string scenario;  // two records with the same text are repeats of one run
  std::vector<std::string> assumed;
  std::string reason;  // "": predicted
  std::optional<double> measured_s;
  double predicted_s = 0;
  double sequences = 1;     // per step: layouts are ranked by time per sequence
  std::string measured_as;  // "time", or the rate that the time was worked out from
  bool fits = true, measured_oom = false, says_memory = false;
  std::optional<double> measured_memory_bytes;
  double predicted_memory_bytes = 0;
  std::string memory_statistic;
  std::string bound_by;
  ProvenanceShares provenance;

  bool predicted() const { return reason.empty(); }
  /// Predicted over measured, minus 1.
  std::optional<double> error() const;
  std::optional<double> memory_error() const;
};

/// Of the records with a prediction. Fractions, not percent; absent where nothing can be counted.
struct ValidationSummary {
  std::int64_t n = 0;  // with a measured and a predicted time
  std::int64_t not_represented = 0;
  std::optional<double> mape, median_ape, p90_ape, max_ape;
  std::optional<double> bias;         // mean signed error
  std::optional<double> kendall_tau;  // tau-b over all pairs within groups
  std::int64_t ranked_groups = 0;
  std::optional<double> top1_regret, worst_regret;  // mean and worst over groups
  std::optional<double> oom_accuracy;
  std::int64_t ran_fits = 0, ran_does_not_fit = 0, oom_fits = 0, oom_does_not_fit = 0;
  std::optional<double> memory_mape, memory_median_ape, memory_bias;
  std::int64_t memory_n = 0;
  std::optional<double> repeat_ape;  // noise floor: repeats of one run against their median
  std::int64_t repeats = 0;
  std::optional<double> in_band;  // share of records whose error is within the 80 % band
};

ValidationSummary summarize(const std::vector<const ValidationRecord*>& records);

struct Validation {
  std::vector<ValidationRecord> records;
  std::string version, command;

  /// In order of appearance.
  std::vector<std::string> files() const;
  std::vector<const ValidationRecord*> of_file(const std::string& file) const;  // "": all
  /// The `worst` records with an error, the furthest off first; -1: all, in the order of the files.
  std::vector<const ValidationRecord*> listed(int worst) const;
};

/// Of all three, `worst` says which records are listed (Validation::listed); summaries are of all.
std::string validation_text(const Validation& v, int worst, const TerminalStyle& style);
/// {"records": [...], "not_represented": [...], "files": [...], "summary": {...}}
std::string validation_json(const Validation& v, int worst = -1);
/// One line per record.
std::string validation_csv(const Validation& v, int worst = -1);
/// Predicted over measured, logarithmic, a mark for each file.
std::string validation_svg(const Validation& v);

}  // namespace plait
