// plait validate FILE...: published runs, predicted, beside what was measured.

#include "reports/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/new_file.h"
#include "core/parallel.h"
#include "plait_version.h"
#include "prediction/published.h"
#include "reports/human.h"
#include "scenarios/published/record_lines.h"

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

/// Its records would count twice.
void refuse_file_twice(const std::vector<std::string>& files) {
  std::set<std::filesystem::path> seen;
  for (const std::string& file : files) {
    if (seen.insert(std::filesystem::weakly_canonical(file)).second) continue;
    throw InputError({.code = "V004",
                      .problem = "the file is named twice, and its records would count twice",
                      .where = {.file = file, .path = {}},
                      .expected = "each file once",
                      .cure = "name it once"});
  }
}

JsonDocument read_records(const std::string& file) {
  return parse_records(read_text_file(file), input_name(file));
}

std::vector<ValidationTask> read_tasks(const ValidateOptions& o) {
  const std::regex filter = parse_filter(o.filter);
  refuse_file_twice(o.files);
  const std::vector<std::string> names = names_of_files(o.files);
  std::vector<ValidationTask> out;
  for (std::size_t i = 0; i < o.files.size(); ++i) {
    for (PublishedRun& run : read_published_runs(read_records(o.files[i]))) {
      if (matches(run, filter)) out.push_back({names[i], std::move(run)});
    }
  }
  if (out.empty() && o.filter.empty()) {
    throw InputError({.code = "V001",
                      .problem = "a list of no records",
                      .where = {.file = o.files.front(), .path = {}},
                      .expected = "a list of records",
                      .cure = "see docs/validate.md for the format of records"});
  }
  if (out.empty()) {
    throw InputError(
        {.code = "V003",
         .problem = fmt::format("--filter {}: no record of the files has it", o.filter),
         .expected = "what occurs in the id, source, model or GPU of a record",
         .cure = "leave --filter out to see all records"});
  }
  return out;
}

/// Of a file's name, in bytes; the number, ".json" and a suffix while it is written come on top, of
/// 255 that Linux has for all (limits.h, NAME_MAX).
constexpr std::size_t kLongestName = 200;

/// Of each record's scenario in `folder`, where one is asked for: its id, as the name of a file; of
/// those that are called alike all but the first with a number.
std::vector<std::string> scenario_files(const std::string& folder,
                                        const std::vector<ValidationTask>& tasks) {
  if (folder.empty()) return std::vector<std::string>(tasks.size());
  const std::regex unusual("[^\\w.-]");
  std::set<std::string> taken;
  std::vector<std::string> out;
  for (const ValidationTask& task : tasks) {
    const std::string name = std::regex_replace(task.run.id, unusual, "-").substr(0, kLongestName);
    std::string file = name;
    for (int n = 2; !taken.insert(file).second; ++n) file = fmt::format("{}-{}", name, n);
    out.push_back(fmt::format("{}/{}.json", folder, file));
  }
  return out;
}

void write_scenario(const std::string& path, const std::string& json) {
  if (path.empty()) return;
  write_file(path, json + "\n");
}

ValidationRecord validated(const ValidationTask& task, const std::string& scenario) {
  ValidationRecord out = published_prediction(
      task.run, [&](const std::string& json) { write_scenario(scenario, json); });
  out.file = task.file;
  return out;
}

std::string rendered(const Validation& v, const ValidateOptions& o) {
  switch (o.output.kind()) {
    case Format::kJson: return validation_json(v, o.worst);
    case Format::kCsv: return validation_csv(v, o.worst);
    case Format::kText: return validation_text(v, o.worst, o.output.style());
  }
  return "";
}

void save_page(const ValidateOptions& o, const Validation& v) {
  if (o.html.empty()) return;
  RunFacts facts;
  facts.version = v.version, facts.command = v.command;
  facts.scenario = human_plural(std::ssize(v.records), "published run");
  save_page(o.html, page_of("validate", facts, validation_json(v)));
}

int validate(const ValidateOptions& o, const std::string& command_line) {
  const std::vector<ValidationTask> tasks = read_tasks(o);
  if (!o.scenarios.empty()) new_folder(o.scenarios);
  Validation v{std::vector<ValidationRecord>(tasks.size()), std::string(kVersion), command_line};
  ProgressLine progress;
  const std::vector<std::string> files = scenario_files(o.scenarios, tasks);
  in_parallel(
      tasks.size(), o.jobs, [&](std::size_t i) { v.records[i] = validated(tasks[i], files[i]); },
      [&](std::size_t done) { progress(done, tasks.size(), "records"); });
  progress.finish();
  if (!o.svg.empty()) {
    write_file(o.svg, validation_svg(v));
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
