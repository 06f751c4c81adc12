// plait check SCENARIO: what a scenario means and whether it fits, without simulating.

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/options.h"
#include "costmodel/stage_use.h"
#include "plan/places.h"
#include "prediction/cures.h"
#include "prediction/prediction.h"
#include "prediction/run_facts.h"
#include "reports/csv.h"
#include "reports/human.h"
#include "reports/json_tree.h"
#include "reports/text.h"
#include "search/few_microbatches.h"

namespace plait {
namespace {

struct CheckOptions {
  ScenarioOptions scenario;
  OutputOptions output;
};

/// Everything that check knows.
struct Verdict {
  Scenario scenario;
  Plan plan;  // or one of fewer microbatches, where it says as much
  std::int64_t ops_of_first = 0, ops_of_all = 0;  // of a rank of stage 0, and of all ranks
  MemoryReport memory;
  std::vector<Cure> cures;
};

/// "tp: 8 ranks in one node over nvlink", for rank 0's group.
std::string group_text(const Verdict& v, AxisSet axes) {
  std::vector<std::int64_t> devices = members(v.plan, 0, axes, Stages::kAll);
  if (!v.scenario.placement.empty()) {
    for (std::int64_t& d : devices) d = v.scenario.placement[static_cast<std::size_t>(d)];
  }
  const GroupPlacement g = place_group(v.scenario.cluster, devices);
  const std::string where =
      g.nodes == 1 ? fmt::format("in one node over {}", name_of(g.intra.link))
                   : fmt::format("over {} nodes, {} in each, over {}", human_count(g.nodes),
                                 g.ranks_per_node, name_of(g.inter.link));
  return fmt::format("{}: {} ranks {}", name_of(axes), human_count(g.ranks), where);
}

/// "documents: packed, 7 in each sequence, the longest of 3,072 tokens; 1.6 % padding"
std::string documents_text(const Verdict& v) {
  const Workload& w = v.scenario.workload;
  const DocumentLayout& layout = v.plan.documents;
  const DocumentSizes parts = layout.sizes();
  const double padding =
      1 - static_cast<double>(v.plan.tokens_per_step) / static_cast<double>(w.tokens());
  std::string out = fmt::format("documents: {}", name_of(w.documents.packing));
  if (parts.count > 0) {
    out += fmt::format(", {} in each sequence, the longest of {} tokens",
                       human_count(parts.count - (layout.filled.empty() ? 0 : 1)),
                       human_count(parts.longest));
  }
  return out + fmt::format("; {:.1f} % padding", 100 * padding);
}

std::vector<Line> model_lines(const Scenario& s, int width) {
  const std::int64_t parameters = count_parameters(s.model).total(s.model);
  std::vector<Line> out =
      labelled_lines("model",
                     fmt::format("{}: {} layers, hidden {}, {} heads, vocabulary {}; {} parameters",
                                 s.model.name, s.model.layers, s.model.hidden, s.model.heads,
                                 human_count(s.model.vocab), human_parameters(parameters)),
                     width);
  const auto add = [&](const std::string& text) { append(out, labelled_lines("", text, width)); };
  if (const std::int64_t n = s.model.windowed_layers(); n > 0) {
    add(fmt::format("windows: {} of {} layers see {} tokens", n, s.model.layers,
                    human_count(s.model.attention_window)));
  }
  if (const LowRankAdapters& lora = s.workload.lora; lora.any()) {
    const std::int64_t trained = count_adapter_parameters(s.model, lora);
    const double share = static_cast<double>(trained) / static_cast<double>(trained + parameters);
    add(fmt::format("low-rank adapters: {} parameters are trained, {:.2f} % of all{}",
                    human_count(trained), 100 * share,
                    lora.quantizes() ? "; frozen matrices are stored in 4 bits" : ""));
  }
  return out;
}

std::vector<Line> meaning_lines(const Verdict& v, int width) {
  const Scenario& s = v.scenario;
  std::vector<Line> out = {{{s.name, Ink::kBold}}};
  const auto add = [&](const std::string& label, const std::string& text) {
    append(out, labelled_lines(label, text, width));
  };
  append(out, model_lines(s, width));
  add("batch",
      fmt::format("{} sequences of {} tokens: {} tokens and {}FLOP per step; {} "
                  "{} of {} on each data-parallel rank",
                  human_count(s.workload.global_batch), human_count(s.workload.sequence_length),
                  human_rate(static_cast<double>(v.plan.tokens_per_step)),
                  human_rate(v.plan.model_flops.value), human_count(v.plan.microbatches),
                  v.plan.microbatches == 1 ? "microbatch" : "microbatches",
                  s.workload.micro_batch));
  if (v.plan.documents.any()) add("", documents_text(v));
  add("cluster", cluster_text(s.cluster));
  add("layout", layout_text(s.strategy));
  if (!s.placement_words.empty()) add("placed", s.placement_words);
  const AxisSet tensor = v.plan.mesh.present(kTensorAxes);
  for (const AxisSet axes :
       {AxisSet(Axis::kEtp), tensor, AxisSet(Axis::kUlysses), AxisSet(Axis::kCp),
        AxisSet(Axis::kEp), AxisSet(Axis::kPp), AxisSet(Axis::kFsdp), AxisSet(Axis::kDp)}) {
    if (v.plan.mesh.size_of(axes) > 1) add("", group_text(v, axes));
  }
  add("plan",
      fmt::format("{} ops on a rank of stage 0, {} on all ranks", human_count(v.ops_of_first),
                  human_rate(static_cast<double>(v.ops_of_all))));
  out.emplace_back();
  return out;
}

std::string text_of(const Verdict& v, const TerminalStyle& style) {
  std::vector<Line> lines = meaning_lines(v, style.width);
  append(lines, verdict_lines(v.memory));
  append(lines, memory_lines(v.memory, style.width));
  if (!v.memory.fits) append(lines, cure_lines(v.cures));
  return render(lines, style);
}

std::string json_of(const Verdict& v, const RunFacts& facts) {
  Report r;  // the parts of a report that need no simulation
  r.run = facts;
  r.model = v.scenario.model.name;
  r.cluster = cluster_text(v.scenario.cluster);
  r.layout = layout_text(v.scenario.strategy);
  r.placement = v.scenario.placement_words;
  r.mesh = v.plan.mesh;
  r.stage_tp = v.plan.stage_tp;
  r.world_size = rank_count(v.plan);
  r.memory = v.memory;
  const nlohmann::ordered_json full = json_tree(r);
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const char* key : {"scenario", "model", "cluster", "layout", "placement", "world_size",
                          "mesh", "stage_tp", "fits", "peak_memory_bytes", "memory"}) {
    if (full.contains(key)) out[key] = full.at(key);
  }
  out["changes_that_fit"] = cures_json(v.cures);
  out["run"] = full.at("run");
  return json_text(out);
}

void examine_all(Verdict& v) {
  const Scenario& s = v.scenario;
  v.plan = sound_plan(s);
  require_machine(v.plan, s);
  v.ops_of_first = op_count(v.plan, 0), v.ops_of_all = op_count(v.plan);
  v.memory = summarize_memory(v.plan, s.cluster, memory_of(v.plan, s), node_of(v.plan, s));
}

Plan plan_of(Scenario s, std::int64_t microbatches) {
  s.workload = with_microbatches(s, microbatches);
  return sound_plan(s);
}

/// Of very many microbatches all is known from few and from one period more: memory, and how many
/// ops a period has. False where it is not.
bool examine_few(Verdict& v) {
  constexpr std::int64_t kPeriods = 64, kMany = 16;  // times as many are worth it
  const Scenario& s = v.scenario;
  require_training(s);
  const std::int64_t period = period_of(s.strategy);
  const std::int64_t per_pass = s.strategy.replicas() * s.workload.micro_batch;
  if (period == 0 || s.strategy.offload.any() || s.workload.global_batch % per_pass != 0)
    return false;
  const std::int64_t all = s.workload.global_batch / per_pass;
  const std::int64_t few = kPeriods * period + all % period;
  if (all < kMany * few) return false;
  v.plan = plan_of(s, few);
  require_machine(v.plan, s);
  const auto memory =
      stage_uses_of_longer(v.plan, s.cluster, s.placement, s.memory, s.kernels, all - few);
  if (!memory) return false;
  v.memory = summarize_memory(v.plan, s.cluster, *memory, node_of(v.plan, s));
  const Plan more = plan_of(s, few + period);
  const auto of_all = [&](std::int64_t ops, std::int64_t with_a_period) {
    return ops + (all - few) / period * (with_a_period - ops);
  };
  v.ops_of_first = of_all(op_count(v.plan, 0), op_count(more, 0));
  v.ops_of_all = of_all(op_count(v.plan), op_count(more));
  v.plan.tokens_per_step = v.plan.tokens_per_step / few * all;
  v.plan.model_flops *= static_cast<double>(all) / static_cast<double>(few);
  v.plan.microbatches = all;
  return true;
}

Verdict examine(const CheckOptions& options) {
  Verdict v;
  v.scenario = load_scenario(options.scenario.file, options.scenario.overrides());
  if (!examine_few(v)) examine_all(v);
  if (!v.memory.fits) v.cures = cures(v.scenario);
  return v;
}

int check(const CheckOptions& options, const std::string& command_line) {
  if (print_help_for_sets(options.scenario, options.output)) return kYes;
  const Verdict v = examine(options);
  print_warnings(v.scenario.warnings);
  switch (options.output.kind()) {
    case Format::kJson:
      print_result(options.output, json_of(v, run_facts(v.scenario, command_line)));
      break;
    case Format::kCsv: print_result(options.output, to_csv(v.memory)); break;
    case Format::kText: print_result(options.output, text_of(v, options.output.style())); break;
  }
  return v.memory.fits ? kYes : kNo;
}

}  // namespace

void add_check(Command& command) {
  auto options = std::make_shared<CheckOptions>();
  Subcommand sub = command.program.subcommand(
      "check",
      "Say what a scenario means and if it fits, without simulating (exit code 1: does not fit)");
  add_scenario_options(sub, options->scenario);
  add_output_options(sub, options->output);
  sub.runs([&command, options] { return check(*options, command.line); });
}

}  // namespace plait
