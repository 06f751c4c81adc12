// plait check SCENARIO: what a scenario means and whether it fits, without simulating it; and what
// would fit.

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/options.h"
#include "core/file.h"
#include "core/json.h"
#include "plan/places.h"
#include "prediction/cures.h"
#include "prediction/run_facts.h"
#include "prediction/serving.h"
#include "prediction/verdict.h"
#include "reports/csv.h"
#include "reports/human.h"
#include "reports/json_tree.h"
#include "reports/serving_room.h"
#include "reports/text.h"

namespace plait {
namespace {

struct CheckOptions {
  ScenarioOptions scenario;
  OutputOptions output;
};

/// "8", "3 to 6"
std::string members_text(const GroupPlacement& g) {
  return g.fewest_per_node == g.ranks_per_node
             ? fmt::format("{}", g.ranks_per_node)
             : fmt::format("{} to {}", g.fewest_per_node, g.ranks_per_node);
}

/// "tp: 8 ranks in one node over nvlink", for rank 0's group.
std::string group_text(const Scenario& s, const Plan& plan, AxisSet axes) {
  std::vector<std::int64_t> devices = members(plan, 0, axes, Stages::kAll);
  if (!s.placement.empty()) {
    for (std::int64_t& d : devices) d = s.placement[static_cast<std::size_t>(d)];
  }
  const GroupPlacement g = place_group(s.cluster, devices);
  const std::string where =
      g.nodes == 1 ? fmt::format("in one node over {}", name_of(g.intra.link))
                   : fmt::format("over {} nodes, {} in each, over {}", human_count(g.nodes),
                                 members_text(g), name_of(g.inter.link));
  return fmt::format("{}: {} ranks {}", name_of(axes), human_count(g.ranks), where);
}

/// "documents: packed, 7 in each sequence, the longest of 3,072 tokens; 1.6 % padding"
std::string documents_text(const Workload& w, const PlannedStep& step) {
  const DocumentLayout& layout = step.plan.documents;
  const DocumentSizes parts = layout.sizes();
  const double padding =
      1 - static_cast<double>(step.counts.tokens) / static_cast<double>(w.tokens());
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

std::vector<Line> meaning_lines(const Scenario& s, const PlannedStep& step, int width) {
  const StepCounts& counts = step.counts;
  std::vector<Line> out = {{{s.name, Ink::kBold}}};
  const auto add = [&](const std::string& label, const std::string& text) {
    append(out, labelled_lines(label, text, width));
  };
  append(out, model_lines(s, width));
  add("batch",
      fmt::format("{} sequences of {} tokens: {} tokens and {}FLOP per step; {} "
                  "{} of {} on each data-parallel rank",
                  human_count(s.workload.global_batch), human_count(s.workload.sequence_length),
                  human_rate(static_cast<double>(counts.tokens)),
                  human_rate(counts.model_flops.value), human_count(counts.microbatches),
                  counts.microbatches == 1 ? "microbatch" : "microbatches",
                  s.workload.micro_batch));
  if (step.plan.documents.any()) add("", documents_text(s.workload, step));
  add("cluster", cluster_text(s.cluster));
  add("layout", layout_text(s.strategy));
  if (const std::string fabric = fabric_text(s.cluster); !fabric.empty()) add("fabric", fabric);
  if (!s.placement_words.empty()) add("placed", s.placement_words);
  const Mesh& mesh = step.plan.mesh;
  const AxisSet tensor = mesh.present(kTensorAxes);
  for (const AxisSet axes :
       {AxisSet(Axis::kEtp), tensor, AxisSet(Axis::kUlysses), AxisSet(Axis::kCp),
        AxisSet(Axis::kEp), AxisSet(Axis::kPp), AxisSet(Axis::kFsdp), AxisSet(Axis::kDp)}) {
    if (mesh.size_of(axes) > 1) add("", group_text(s, step.plan, axes));
  }
  add("plan", fmt::format("{} ops on a rank of stage 0, {} on all ranks",
                          human_count(op_count(step.plan, counts, 0)),
                          human_rate(static_cast<double>(op_count(step.plan, counts)))));
  out.emplace_back();
  return out;
}

std::string text_of(const Scenario& s, const Verdict& v, const std::vector<Cure>& cures,
                    const TerminalStyle& style) {
  std::vector<Line> lines = meaning_lines(s, v.step, style.width);
  append(lines, verdict_lines(v.memory));
  append(lines, memory_lines(v.memory, style.width));
  if (!v.memory.fits) append(lines, cure_lines(cures));
  return render(lines, style);
}

std::string json_of(const Scenario& s, const Verdict& v, const std::vector<Cure>& cures,
                    const RunFacts& facts) {
  Report r;  // the parts of a report that need no simulation
  r.run = facts;
  r.model = s.model.name;
  r.cluster = cluster_text(s.cluster);
  r.layout = layout_text(s.strategy);
  r.fabric = fabric_text(s.cluster);
  r.placement = s.placement_words;
  r.mesh = v.step.plan.mesh;
  r.stage_tp = v.step.plan.stage_tp;
  r.world_size = rank_count(v.step.plan);
  r.memory = v.memory;
  const nlohmann::ordered_json full = json_tree(r);
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const char* key :
       {"scenario", "model", "cluster", "layout", "fabric", "placement", "world_size", "mesh",
        "stage_tp", "fits", "peak_memory_bytes", "memory"}) {
    if (full.contains(key)) out[key] = full.at(key);
  }
  out["changes_that_fit"] = cures_json(cures);
  out["run"] = full.at("run");
  return json_text(out);
}

/// "1,000 requests, 8 a second"
std::string arrivals_words(const Load& load) {
  switch (load.arrivals) {
    case Arrivals::kPoisson:
      return fmt::format("{} requests, {:g} a second", human_count(load.count), load.rate_per_s);
    case Arrivals::kClosed:
      return fmt::format("{} requests, of {} at a time each asks when answered",
                         human_count(load.count), human_count(load.concurrency));
    case Arrivals::kTrace: return "requests of " + load.trace;
  }
  return "";
}

/// "chat: prompts of 512 tokens, answers of 256"
std::string kind_words(const RequestKind& kind) {
  std::string out = fmt::format("{}: prompts of {} tokens", kind.name,
                                human_count(kind.prefix_tokens + kind.prompt_tokens));
  if (kind.prefix_tokens > 0) {
    out += fmt::format(", {} of them a prefix", human_count(kind.prefix_tokens));
  }
  out += fmt::format(", answers of {}", human_count(kind.output_tokens));
  if (kind.spread > 0)
    out += fmt::format(", each up to {} more or less", human_percent(kind.spread, 0));
  return kind.turns > 1 ? out + fmt::format(", {} turns", kind.turns) : out;
}

std::string text_of(const Scenario& s, const ServingReport& r, const TerminalStyle& style) {
  std::vector<Line> lines = {{{s.name, Ink::kBold}}};
  append(lines, model_lines(s, style.width));
  const auto add = [&](const std::string& label, const std::string& text) {
    append(lines, labelled_lines(label, text, style.width));
  };
  add("cluster", r.cluster);
  add("layout", r.layout);
  const Load& load = s.serving->load;
  add("asked", arrivals_words(load));
  const bool described = load.arrivals != Arrivals::kTrace && !load.kinds.empty();
  for (const RequestKind& kind : described ? load.kinds : std::vector<RequestKind>{}) {
    add("", kind_words(kind));
  }
  lines.emplace_back();
  append(lines, room_lines(r));
  return render(lines, style);
}

int check_serving(const CheckOptions& options, const Scenario& s, const std::string& command_line) {
  const ServingReport r = predict_room(s, run_facts(s, command_line));
  print_warnings(r.run.warnings);
  switch (options.output.kind()) {
    case Format::kJson: print_result(options.output, room_json(r)); break;
    case Format::kCsv: print_result(options.output, room_csv(r)); break;
    case Format::kText: print_result(options.output, text_of(s, r, options.output.style())); break;
  }
  return r.fits ? kYes : kNo;
}

int check(const CheckOptions& options, const std::string& command_line) {
  if (print_help_for_sets(options.scenario, options.output)) return kYes;
  const ScenarioText text = {input_name(options.scenario.file),
                             read_text_file(options.scenario.file)};
  const std::vector<Override> sets = options.scenario.overrides();
  const Scenario s = parse_scenario(text.text, text.file, sets);
  if (s.serving) return check_serving(options, s, command_line);
  const Verdict v = verdict_on(s);
  std::vector<Cure> found;  // a table of the memory has no place for them
  if (!v.memory.fits && options.output.kind() != Format::kCsv) {
    Evaluator evaluator(command_line);
    found = cures(text, sets, s, v.memory.peak_memory_bytes, evaluator, 1);
  }
  print_warnings(s.warnings);
  switch (options.output.kind()) {
    case Format::kJson:
      print_result(options.output, json_of(s, v, found, run_facts(s, command_line)));
      break;
    case Format::kCsv: print_result(options.output, to_csv(v.memory)); break;
    case Format::kText:
      print_result(options.output, text_of(s, v, found, options.output.style()));
      break;
  }
  return v.memory.fits ? kYes : kNo;
}

}  // namespace

void add_check(Command& command) {
  auto options = std::make_shared<CheckOptions>();
  Subcommand sub = command.program.subcommand(
      "check",
      "Say what a scenario means and if it fits, without simulating it (exit code 1: does not fit, "
      "and what would)");
  add_scenario_options(sub, options->scenario);
  add_output_options(sub, options->output);
  sub.runs([&command, options] { return check(*options, command.line); });
}

}  // namespace plait
