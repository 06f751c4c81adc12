// plait calibrate RAW... -o FILE: fits the cost model to what plait bench measured.

#include "costmodel/fit/calibrate.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/file.h"
#include "core/sha256.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

struct CalibrateOptions {
  std::vector<std::string> raw;
  std::string output, name, device;
};

std::string table_of(const CalibrationResult& result) {
  std::string text = fmt::format("{:<30}{:>6}{:>10}{:>8}{:>10}{:>8}  {}\n", "class", "fitted",
                                 "error", "judged", "error", "worst", "worst row");
  for (const FitQuality& q : result.quality) {
    text += fmt::format("{:<30}{:>6}{:>8.1f} %{:>8}{:>8.1f} %{:>6.0f} %  {}\n", q.name,
                        q.fitted_rows, 100 * q.fitted_error, q.held_out_rows,
                        100 * q.held_out_error, 100 * q.worst_error, q.worst);
  }
  return text + "\nerror: mean |log(predicted / measured)|; judged: shapes that were not fitted\n";
}

int run(const CalibrateOptions& options) {
  std::vector<Row> rows;
  std::string all;
  for (const std::string& path : options.raw) {
    const std::string text = read_text_file(path);
    for (Row& row : parse_rows(text, path)) rows.push_back(std::move(row));
    all += text;
  }
  const auto& first = std::get<RunRow>(rows.front());
  std::optional<Device> gpu;
  if (!options.device.empty()) gpu = find_device(options.device);
  ProgressLine progress("fitting");
  const CalibrationResult result = calibrate(rows, options.name.empty() ? first.host : options.name,
                                             sha256(all), gpu ? &*gpu : nullptr);
  progress.finish();
  print_warnings(result.warnings);
  write_file(options.output, to_json(result.calibration));
  print_result({}, table_of(result));
  return kYes;
}

}  // namespace

void add_calibrate(Command& command) {
  auto options = std::make_shared<CalibrateOptions>();
  Subcommand sub = command.program.subcommand(
      "calibrate", "Fit the cost model to measurements of plait bench, and say how well it fits");
  sub.option("raw", options->raw, "Files of measurements, of one machine").takes("RAW").required();
  sub.option("-o,--output", options->output, "The calibration, which scenarios then name")
      .takes("FILE")
      .required();
  sub.option("--name", options->name, "Of the machine (default: its host name)");
  sub.option("--device", options->device,
             "Of the catalogue, the GPU that was measured: products become a factor of its model's "
             "time, not a sum of features");
  sub.runs([options] { return run(*options); });
}

}  // namespace plait
