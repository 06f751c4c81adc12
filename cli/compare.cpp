// plait compare: several scenarios, or one with its knobs varied, side by side.

#include "reports/compare.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

#include "cli/commands.h"
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

/// One row of the table to be.
struct Task {
  std::string label;
  ScenarioOptions scenario;
  const std::string* text = nullptr;  // content of the file
};

/// "tp=4", the last word of the path.
std::string short_name(const Override& set) {
  return set.first.substr(set.first.rfind('.') + 1) + "=" + set.second;
}

std::string label_of(const std::string& file, bool many_files, const Assignments& sets) {
  std::vector<std::string> parts;
  if (many_files || sets.empty()) parts.push_back(file);
  for (const Override& s : sets) parts.push_back(short_name(s));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::vector<Task> tasks_of(const CompareOptions& o, const std::vector<std::string>& texts) {
  std::vector<Variation> variations;
  for (const std::string& v : o.variations) variations.push_back(parse_variation(v));
  const std::vector<Assignments> all = combinations(variations);
  std::vector<Task> tasks;
  for (std::size_t f = 0; f < o.files.size(); ++f) {
    for (const Assignments& sets : all) {
      Task task{label_of(o.files[f], o.files.size() > 1, sets), {o.files[f], o.sets}, &texts[f]};
      for (const auto& [path, value] : sets) task.scenario.sets.push_back(path + "=" + value);
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

/// Layouts that do not divide or combine fill a row with the reason; any other error is one of the
/// input as a whole.
bool is_about_the_layout(const InputError& error) { return error.text().code.starts_with('S'); }

Candidate evaluate(const Task& task, const std::string& command_line) {
  Candidate out{task.label, std::nullopt, ""};
  try {
    const Scenario s = parse_scenario(*task.text, task.scenario.file, task.scenario.overrides());
    out.report = predict(s, {}, run_facts(s, command_line)).report;
  } catch (const InputError& error) {
    if (!is_about_the_layout(error)) throw;
    out.reason = fmt::format("{}: {}", error.text().code, error.text().problem);
  }
  return out;
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

/// "5%", "5 %" or "0.05" as a fraction. Throws InputError G008.
double parse_limit(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  std::string rest = end;
  rest.erase(0, rest.find_first_not_of(' ') == std::string::npos ? rest.size()
                                                                 : rest.find_first_not_of(' '));
  if (rest == "%") value /= 100;
  if (end == text.c_str() || !(rest.empty() || rest == "%") || !(value >= 0 && value < 1e6)) {
    throw InputError({.code = "G008",
                      .problem = fmt::format("--fail-over {}: not a limit", text),
                      .expected = "a percentage like 5% or a fraction like 0.05",
                      .cure = "for example --fail-over 5%"});
  }
  return value;
}

std::string rendered(const std::vector<Candidate>& candidates, const OutputOptions& output) {
  switch (output.kind()) {
    case Format::kJson: return comparison_json(candidates);
    case Format::kCsv: return comparison_csv(candidates);
    case Format::kText: return comparison_text(candidates, output.style());
  }
  return "";
}

/// Reports stored by `run --format json` stand as they are; scenarios are evaluated.
std::vector<Candidate> candidates_of(const CompareOptions& options, const std::string& line) {
  std::vector<std::string> texts;
  std::vector<std::optional<Report>> stored;
  CompareOptions scenarios = options;
  scenarios.files.clear();
  std::vector<std::string> scenario_texts;
  for (const std::string& file : options.files) {
    texts.push_back(read_text_file(file));
    stored.push_back(report_from_json(texts.back()));
    if (stored.back()) continue;
    scenarios.files.push_back(file);
    scenario_texts.push_back(texts.back());
  }
  std::vector<Task> tasks = tasks_of(scenarios, scenario_texts);
  std::vector<Candidate> fresh = evaluate_all(tasks, options.jobs, line);
  // Back into the order of the command line.
  const std::size_t per_file = scenarios.files.empty() ? 0 : fresh.size() / scenarios.files.size();
  std::vector<Candidate> out;
  std::size_t taken = 0;
  for (std::size_t f = 0; f < options.files.size(); ++f) {
    if (stored[f]) {
      out.push_back({options.files[f], std::move(stored[f]), ""});
      continue;
    }
    for (std::size_t i = 0; i < per_file; ++i) out.push_back(std::move(fresh[taken++]));
  }
  return out;
}

int compare(const CompareOptions& options, const std::string& command_line) {
  const double limit = options.fail_over.empty() ? 0 : parse_limit(options.fail_over);
  const std::vector<Candidate> candidates = candidates_of(options, command_line);
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
