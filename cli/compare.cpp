// plait compare: several scenarios, or one with its knobs varied, side by side.

#include "reports/compare.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/fill_axis.h"
#include "cli/options.h"
#include "cli/prediction.h"
#include "core/json.h"
#include "reports/json.h"
#include "reports/vary.h"

namespace plait {
namespace {

struct CompareOptions {
  std::vector<std::string> files, sets, variations;
  OutputOptions output;
  std::string fail_over;
  int jobs = 1;
};

/// True for what load_scenario throws when the axes do not multiply to the number of devices.
bool is_world_mismatch(const InputError& error) {
  return error.text().code == "S001" || error.text().code == "S002";
}

/// One file of the command line.
struct Source {
  std::string file, name, text;
  std::optional<Report> stored;  // when it is a report and not a scenario
};

/// One row of the table to be.
struct Task {
  std::string label;
  ScenarioOptions scenario;
  const Source* source = nullptr;
  bool varied = false;  // by -L
};

/// "tp=4", the last word of the path.
std::string short_name(const Override& set) {
  return set.first.substr(set.first.rfind('.') + 1) + "=" + set.second;
}

/// File names without folder and suffix, where that tells the files apart.
std::vector<std::string> names_of(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& f : files) names.push_back(std::filesystem::path(f).stem().string());
  const std::set<std::string> distinct(names.begin(), names.end());
  return distinct.size() == files.size() ? names : files;
}

std::vector<Source> read_sources(const std::vector<std::string>& files) {
  const std::vector<std::string> names = names_of(files);
  std::vector<Source> out;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::string text = read_text_file(files[i]);
    std::optional<Report> stored = report_from_json(text);
    out.push_back({files[i], names[i], std::move(text), std::move(stored)});
  }
  return out;
}

std::string label_of(const Source& source, bool many_files, const Assignments& sets) {
  std::vector<std::string> parts;
  if (many_files || sets.empty()) parts.push_back(source.name);
  for (const Override& s : sets) parts.push_back(short_name(s));
  return fmt::format("{}", fmt::join(parts, " "));
}

/// A stored report stands as it is; a scenario stands for all combinations of the variations.
std::vector<Task> tasks_of(const CompareOptions& o, const std::vector<Source>& sources) {
  std::vector<Variation> variations;
  for (const std::string& v : o.variations) variations.push_back(parse_variation(v));
  const std::vector<Assignments> all = combinations(variations);
  std::vector<Task> tasks;
  for (const Source& source : sources) {
    for (const Assignments& sets : source.stored ? std::vector<Assignments>(1) : all) {
      Task task{label_of(source, sources.size() > 1, sets),
                {source.file, o.sets},
                &source,
                !sets.empty()};
      for (const auto& [path, value] : sets) task.scenario.sets.push_back(path + "=" + value);
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

/// Layouts that do not divide or combine fill a row with the reason; any other error is one of the
/// input as a whole.
bool is_about_the_layout(const InputError& error) { return error.text().code.starts_with('S'); }

Report predicted(const Task& task, const std::string& command_line) {
  if (task.source->stored) return *task.source->stored;
  const Scenario s =
      parse_scenario(task.source->text, task.scenario.file, task.scenario.overrides());
  return predict(s, {}, run_facts(s, command_line)).report;
}

Candidate refused(const Task& task, const InputError& error) {
  if (!is_about_the_layout(error)) throw InputError(error);
  return {task.label, std::nullopt, fmt::format("{}: {}", error.text().code, error.text().problem)};
}

/// When a variation leaves devices over or needs too many, the data-parallel axis gives way.
std::optional<Task> filled(const Task& task) {
  const auto axis = filling_axis(task.source->text, task.scenario.file, task.scenario.overrides());
  if (!axis) return std::nullopt;
  Task out = task;
  out.scenario.sets.push_back(axis->first + "=" + axis->second);
  out.label += " " + short_name(*axis);
  return out;
}

Candidate evaluate(const Task& task, const std::string& command_line) {
  std::optional<Task> second;
  try {
    return {task.label, predicted(task, command_line), ""};
  } catch (const InputError& error) {
    if (is_world_mismatch(error) && task.varied) second = filled(task);
    if (!second) return refused(task, error);
  }
  try {
    return {second->label, predicted(*second, command_line), ""};
  } catch (const InputError& error) {
    return refused(*second, error);
  }
}

/// Evaluates all tasks with `jobs` threads. Each result has its own place, so their order does not
/// depend on the threads; of several errors the first task's is thrown.
std::vector<Candidate> evaluate_all(const std::vector<Task>& tasks, int jobs,
                                    const std::string& command_line) {
  std::vector<Candidate> out(tasks.size());
  std::vector<std::exception_ptr> errors(tasks.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      try {
        out[i] = evaluate(tasks[i], command_line);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int j = 1; j < jobs; ++j) helpers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
  return out;
}

std::string rendered(const std::vector<Candidate>& candidates, const OutputOptions& output) {
  switch (output.kind()) {
    case Format::kJson: return comparison_json(candidates);
    case Format::kCsv: return comparison_csv(candidates);
    case Format::kText: return comparison_text(candidates, output.style());
  }
  return "";
}

int compare(const CompareOptions& options, const std::string& command_line) {
  const double limit = options.fail_over.empty() ? 0 : parse_limit(options.fail_over);
  const std::vector<Source> sources = read_sources(options.files);
  const std::vector<Candidate> candidates =
      evaluate_all(tasks_of(options, sources), options.jobs, command_line);
  print_result(options.output, rendered(candidates, options.output));
  if (!reference_of(candidates)) {
    std::fprintf(stderr, "error[G009]: none of these can be planned\n");
    return kUsage;
  }
  if (options.fail_over.empty()) return kYes;
  const std::vector<std::string> over = over_limit(candidates, limit);
  for (const std::string& label : over) {
    std::fprintf(stderr, "over the limit of %s: %s\n", options.fail_over.c_str(), label.c_str());
  }
  return over.empty() ? kYes : kNo;
}

}  // namespace

void add_compare(Command& command) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* sub = command.app.add_subcommand(
      "compare", "Predict several scenarios, or one with its knobs varied, side by side");
  sub->add_option("files", options->files, "Scenarios, or reports that run --format json wrote")
      ->type_name("FILE")
      ->required();
  sub->add_option("-L,--vary", options->variations,
                  "Vary a field: path=a,b,c or path=lo-hi*factor; several make all combinations")
      ->type_name("PATH=VALUES")
      ->expected(1)
      ->take_all();
  sub->add_option("--set", options->sets, "Change a field of every scenario")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all();
  add_output_options(*sub, options->output);
  sub->add_option("--fail-over", options->fail_over,
                  "Exit code 1 when a step time differs from the first by more than this (5%)")
      ->type_name("LIMIT");
  sub->add_option("-j,--jobs", options->jobs, "Threads; the result does not depend on them")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  sub->callback([&command, options] {
    command.action = [&command, options] { return compare(*options, command.line); };
  });
}

}  // namespace plait
