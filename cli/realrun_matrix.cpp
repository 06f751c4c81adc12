// plait realrun --matrix: strategy x ranks x precision x result.

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/realrun.h"
#include "core/error.h"

#if PLAIT_HAS_REALRUN
#include "cli/backend.h"
#include "cli/progress.h"
#include "cli/verified_rows.h"
#include "plan/refusal.h"
#include "realrun/matrix/matrix.h"
#endif

namespace plait {

#if PLAIT_HAS_REALRUN

namespace {

std::string memory_text(const Verification& v) {
  if (v.memory_as_planned()) return fmt::format("{} B", most_held(v).value);
  return "NOT AS PLANNED";
}

std::string to_text(const std::vector<MatrixRow>& rows, int steps) {
  std::size_t width = 8;
  for (const MatrixRow& r : rows) width = std::max(width, r.of->name.size());
  std::string out =
      fmt::format("{:<{}}  ranks  precision  {:>9}  worst tensor  {:>10}  {:>11}  result\n",
                  "strategy", width, "gradients", "cosine", "peak memory");
  std::size_t passed = 0;
  for (const MatrixRow& r : rows) {
    const Verification& v = r.result;
    passed += r.passed ? 1 : 0;
    out += fmt::format("{:<{}}  {:>5}  {:<9}  {:>9.1e}  {:>12.1e}  {:>10.7f}  {:>11}  {}\n",
                       r.of->name, width, v.ranks, name_of(r.precision), v.whole_error,
                       v.worst_error, v.worst_cosine, memory_text(v),
                       r.passed ? "same" : "DIFFERENT in " + v.worst_tensor);
  }
  return out + fmt::format(
                   "\n{} of {} the same as unsharded, in losses, gradients, first moments "
                   "and memory, after {} step{}\n",
                   passed, rows.size(), steps, steps == 1 ? "" : "s");
}

std::vector<VerifiedRow> named(const std::vector<MatrixRow>& rows) {
  std::vector<VerifiedRow> out;
  for (const MatrixRow& r : rows) {
    out.push_back({r.of->name, r.precision, r.result, r.allowed, r.passed});
  }
  return out;
}

std::vector<MatrixCase> cases_with(const std::string& text, bool on_gpu) {
  std::vector<MatrixCase> cases = on_gpu ? gpu_matrix_cases() : matrix_cases();
  std::erase_if(cases, [&](const MatrixCase& c) { return c.name.find(text) == std::string::npos; });
  if (cases.empty()) usage_error("--cases: no case of the list has \"" + text + "\" in its name");
  return cases;
}

}  // namespace

void require_kernels(const Scenario& scenario, const RealrunOptions& options) {
  if (!options.on_gpu()) return;
  const auto refuse = [&](const char* problem, const char* path, const char* expected) {
    throw locate(refusal("G025", problem, path, expected, "remove --backend"), scenario);
  };
  if (const LowRankAdapters& lora = scenario.workload.lora; !has_gpu_kernels(lora)) {
    const bool stored = lora.quantizes();
    refuse(stored ? "matrices in nf4 are restored on processors alone"
                  : "dropout of adapters runs on processors alone",
           stored ? "workload.lora.frozen" : "workload.lora.dropout",
           "--backend cpu, or plain matrices and no dropout");
  }
  if (const Precision& p = scenario.workload.precision; !has_gpu_kernels(p)) {
    refuse(p.autocast ? "sums of two types, as autocast has them, run on processors alone"
                      : "a loss of logits in 16 bits runs on processors alone",
           p.autocast ? "workload.precision.autocast" : "workload.precision.narrow_logits",
           "--backend cpu, or neither autocast nor narrow logits");
  }
  const Model& model = scenario.model;
  if (has_gpu_kernels(model)) return;
  const bool states = model.recurrent_layers() > 0;
  refuse(states ? "state-space mixers and gated delta nets run on processors alone"
                : "gates of attention and of shared experts run on processors alone",
         states                 ? "model.layer_pattern"
         : model.attention_gate ? "model.attention_gate"
                                : "model.shared_expert_gate",
         "--backend cpu, or a model without them");
}

void require_few_passes(const Scenario& scenario, std::int64_t replicas, double steps,
                        double most) {
  require_training(scenario);
  const Workload& w = scenario.workload;
  const double microbatches =
      static_cast<double>(w.global_batch) / static_cast<double>(replicas * w.micro_batch);
  const double passes = 2 * static_cast<double>(scenario.model.layers) * microbatches * steps;
  if (passes <= most) return;
  throw locate(
      refusal("G011",
              fmt::format("{:.1e} passes through layers are too much to run for real", passes),
              "workload.global_batch", fmt::format("at most {:.0e} passes", most),
              "set workload.global_batch to fewer sequences, or workload.micro_batch to "
              "more"),
      scenario);
}

int run_matrix(const RealrunOptions& options) {
  const std::vector<MatrixCase> cases = cases_with(options.cases, options.on_gpu());
  const Backend backend(options);
  std::vector<MatrixRow> rows;
  const std::size_t all = cases.size() * options.precisions.size();
  std::size_t done = 0;
  ProgressLine progress("running");
  for (const std::string& name : options.precisions) {
    MatrixRunner runner(run_precision(name), options.steps, backend.device());
    for (const MatrixCase& c : cases) {
      rows.push_back(runner.run(c));
      progress(++done, all, c.name);
    }
  }
  progress.finish();
  switch (options.output.kind()) {
    case Format::kText: print_result(options.output, to_text(rows, options.steps)); break;
    case Format::kJson: print_result(options.output, to_json(named(rows), options.steps)); break;
    case Format::kCsv: print_result(options.output, to_csv(named(rows), options.steps)); break;
  }
  return std::ranges::all_of(rows, &MatrixRow::passed) ? kYes : kNo;
}

#else

int run_matrix(const RealrunOptions&) {
  throw EnvironmentError(
      "this build has no real runs: install OpenBLAS (libopenblas-dev) and build again");
}

#endif

}  // namespace plait
