// plait validate FILE...: published runs, predicted, beside what was measured.

#include "reports/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <regex>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "core/error.h"
#include "core/json.h"
#include "model/iteration_flops.h"
#include "plait_version.h"
#include "prediction/evaluate.h"
#include "reports/human.h"
#include "reports/new_file.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  OutputOptions output;
  std::string filter, svg, html, scenarios;
  int worst = -1;
  int jobs = 1;
};

/// A record of a file that passed the filter.
struct ValidationTask {
  std::string file;
  PublishedRun run;
};

std::regex parse_filter(const std::string& text) {
  try {
    return std::regex(text, std::regex::icase);
  } catch (const std::regex_error&) {
    throw InputError({.code = "V002",
                      .problem = fmt::format("--filter {}: not a regular expression", text),
                      .expected = "a regular expression (ECMAScript) that occurs in a record's id, "
                                  "source, model or GPU",
                      .cure = "for example --filter 'H100.*llama3'"});
  }
}

/// Any of its names, or all of them in a row.
bool matches(const PublishedRun& run, const std::regex& filter) {
  const std::string all = run.id + " " + run.source + " " + run.gpu + " " + run.model.name;
  return std::ranges::any_of(
      std::array{run.id, run.source, run.gpu, run.model.name, all},
      [&](const std::string& name) { return std::regex_search(name, filter); });
}

std::vector<ValidationTask> read_tasks(const ValidateOptions& o) {
  const std::regex filter = parse_filter(o.filter);
  std::vector<ValidationTask> out;
  for (const std::string& file : o.files) {
    const std::string name = std::filesystem::path(file).stem().string();
    for (PublishedRun& run : read_published_runs(read_json_file(file))) {
      if (matches(run, filter)) out.push_back({name, std::move(run)});
    }
  }
  if (out.empty() && !o.filter.empty()) {
    throw InputError(
        {.code = "V003",
         .problem = fmt::format("--filter {}: no record of the files has it", o.filter),
         .expected = "what occurs in the id, source, model or GPU of a record",
         .cure = "leave --filter out to see all records"});
  }
  return out;
}

/// PyTorch's allocator knows tensors and workspaces, and reserves more; the driver knows all.
bool counts(MemoryStatistic statistic, const MemoryItem& item) {
  switch (statistic) {
    case MemoryStatistic::kDevice: return true;
    case MemoryStatistic::kReserved:
      return item.name != "cuda_context" && item.name != "communicator_buffers";
    case MemoryStatistic::kAllocated:
      return item.name != "cuda_context" && item.name != "communicator_buffers" &&
             item.name != "allocator_reserve" && item.name != "stream_pools";
  }
  return false;
}

/// Bytes as the record's statistic counts them, on the stage that it was taken on.
double memory_bytes(const Reported& p, const Measured& measured) {
  double most = 0;
  for (const StageUse& use : p.memory) {
    auto bytes = static_cast<double>(use.live.peak.value);
    for (const MemoryItem& item : use.overheads) {
      if (counts(measured.memory_statistic, item)) bytes += static_cast<double>(item.bytes.value);
    }
    most = measured.memory_of_last_rank ? bytes : std::max(most, bytes);
  }
  return most;
}

/// Of the work that reports count, what the record's rates count.
double counted_work(const PublishedRun& run, const Scenario& s) {
  if (!run.measured.half_squares) return 1;
  const std::int64_t seq = s.workload.sequence_length, batch = s.workload.global_batch;
  return needed_flops_per_iteration(s.model, seq, batch) /
         megatron_flops_per_iteration(s.model, seq, batch);
}

void take_prediction(const PublishedRun& run, const Scenario& scenario, const Reported& p,
                     ValidationRecord& out) {
  const Report& r = p.report;
  out.layout = r.layout;
  out.predicted_s = r.step_time_s;
  out.fits = r.memory.fits;
  out.bound_by = r.bound_by;
  out.provenance = r.provenance;
  out.predicted_memory_bytes = memory_bytes(p, run.measured);
  if (out.measured_s) return;
  // Only a rate of work was published: the same work over that rate.
  const auto from_rate = [&](const std::optional<double>& rate, double predicted,
                             const char* name) {
    if (!rate || *rate <= 0 || out.measured_s) return;
    out.measured_s = r.step_time_s * predicted * counted_work(run, scenario) / *rate;
    out.measured_as = name;
  };
  from_rate(run.measured.hardware_tflops_per_gpu, r.hardware_tflops_per_gpu, "hardware TFLOP/s");
  from_rate(run.measured.model_tflops_per_gpu, r.model_tflops_per_gpu, "model TFLOP/s");
  from_rate(run.measured.mfu, r.mfu, "MFU");
  from_rate(run.measured.hfu, r.hfu, "HFU");
}

ValidationRecord described(const ValidationTask& task) {
  const PublishedRun& run = task.run;
  ValidationRecord out;
  out.file = task.file;
  out.id = run.id;
  out.tier = run.tier;
  out.model = run.model.name;
  out.cluster = fmt::format("{} x {}", run.gpus, run.gpu);
  out.group = fmt::format("{} {} {} {} {}", run.model.name, run.model.sequence_length, run.gpu,
                          run.gpus, run.global_batch);
  out.sequences = static_cast<double>(std::max<std::int64_t>(1, run.global_batch));
  out.measured_s = run.measured.step_s;
  out.measured_as = "time";
  out.measured_oom = run.measured.out_of_memory;
  out.says_memory = run.measured.says_memory;
  out.measured_memory_bytes = run.measured.memory_bytes;
  if (run.measured.memory_bytes) out.memory_statistic = name_of(run.measured.memory_statistic);
  return out;
}

/// A scenario's name is its record's id: repeats of one run are equal but for it.
std::string without_name(std::string scenario, const std::string& id) {
  const std::string name = json_quote(id);
  if (const std::size_t at = scenario.find(name); at != std::string::npos) {
    scenario.erase(at, name.size());
  }
  return scenario;
}

ValidationRecord validated(const ValidationTask& task, const std::string& scenarios) {
  ValidationRecord out = described(task);
  try {
    RecordScenario made = scenario_of(task.run);
    out.framework = made.framework;
    out.assumed = std::move(made.assumed);
    out.scenario = without_name(made.json, out.id);
    if (!scenarios.empty()) {
      NewFile file(fmt::format("{}/{}.json", scenarios,
                               std::regex_replace(out.id, std::regex("[^\\w.-]"), "-")));
      file.write(made.json + "\n");
      file.finish();
    }
    const Scenario scenario = parse_scenario(made.json, out.id);
    take_prediction(task.run, scenario, report_of(scenario, costs_of(scenario), {}), out);
  } catch (const NotRepresentable& why) {
    out.reason = why.what();
  } catch (const InputError& error) {
    out.reason = fmt::format("{}: {}", error.text().code, error.text().problem);
  } catch (const std::exception& bug) {  // the other records can be predicted all the same
    out.reason = fmt::format("a bug in plait, please report it: {}", bug.what());
  }
  return out;
}

std::string rendered(const Validation& v, const ValidateOptions& o) {
  switch (o.output.kind()) {
    case Format::kJson: return validation_json(v);
    case Format::kCsv: return validation_csv(v);
    case Format::kText: return validation_text(v, o.worst, o.output.style());
  }
  return "";
}

void save_page(const ValidateOptions& o, const Validation& v) {
  if (o.html.empty()) return;
  RunFacts facts;
  facts.version = v.version, facts.command = v.command;
  facts.scenario = fmt::format("{} published runs", human_count(std::ssize(v.records)));
  save_page(o.html, page_of("validate", facts, validation_json(v)));
}

int validate(const ValidateOptions& o, const std::string& command_line) {
  const std::vector<ValidationTask> tasks = read_tasks(o);
  if (!o.scenarios.empty()) new_folder(o.scenarios);
  Validation v{std::vector<ValidationRecord>(tasks.size()), std::string(kVersion), command_line};
  ProgressLine progress;
  in_parallel(
      tasks.size(), o.jobs, [&](std::size_t i) { v.records[i] = validated(tasks[i], o.scenarios); },
      [&](std::size_t done) { progress(done, tasks.size(), "records"); });
  progress.finish();
  if (!o.svg.empty()) {
    NewFile file(o.svg);
    file.write(validation_svg(v));
    file.finish();
  }
  save_page(o, v);
  print_result(o.output, rendered(v, o));
  return kYes;
}

}  // namespace

void add_validate(Command& command) {
  auto options = std::make_shared<ValidateOptions>();
  Subcommand sub = command.program.subcommand(
      "validate", "Predict published training runs and compare with what was measured");
  sub.option("files", options->files, "Lists of records (docs/validate.md)")
      .takes("FILE")
      .required();
  sub.option("--filter", options->filter,
             "Only records whose id, source, model or GPU contains this regular expression")
      .takes("REGEX");
  sub.option("--worst", options->worst, "List only the N records with the largest error")
      .takes("N")
      .not_negative();
  sub.option("--svg", options->svg, "Also draw predicted over measured").writes_file();
  add_html_option(sub, options->html);
  sub.option("--write-scenarios", options->scenarios,
             "Also write each record's scenario, to run and change")
      .takes("FOLDER");
  add_output_options(sub, options->output);
  add_jobs_option(sub, options->jobs);
  sub.runs([&command, options] { return validate(*options, command.line); });
}

}  // namespace plait
