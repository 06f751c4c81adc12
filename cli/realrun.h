#pragma once
// The options of `plait realrun` and its modes, one per file.

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "scenarios/scenario.h"

namespace plait {

struct RealrunOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  bool verify = false, matrix = false;
  std::string cases;  // of the matrix: those whose names contain it
  std::vector<std::string> precisions;
  int steps = 1;
  std::string transport = "threads";
  double patience_s = 60;
  std::string backend = "cpu";
  bool tf32 = false;
  std::string graphs = "off";
  // Of a timed run.
  std::string kernels = "real", calibration, trace, html;
  std::string collectives = "rounds";
  bool shaped = false;
  std::int64_t warmup = 2, repeats = 9;
  bool on_gpu() const { return backend != "cpu"; }
};

/// Whether this process, of all that take part in the run, prints warnings.
bool speaks_for_all(const RealrunOptions& options);

/// Throws InputError where the backend lacks kernels of the model.
void require_kernels(const Scenario& scenario, const RealrunOptions& options);

/// What makes a plan small enough to run, for G011's cure.
inline constexpr std::string_view kShrink =
    "keep the strategy and shrink the model: --set model.hidden, model.ffn_hidden and model.vocab "
    "to small multiples of tp, model.layers to pp x chunks, workload.sequence_length";
/// Throws InputError G011 for a step of more passes through layers than `most`, before it is
/// planned: its plan alone might not fit into memory. `replicas`: that divide the batch.
void require_few_passes(const Scenario& scenario, std::int64_t replicas, double steps, double most);

/// Times steps and compares them with the prediction. Returns the exit code.
int run_timed(const RealrunOptions& options, const Command& command);

/// The verified matrix: every case in every precision. Returns the exit code.
int run_matrix(const RealrunOptions& options);

}  // namespace plait
