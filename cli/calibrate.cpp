// plait calibrate RAW... -o FILE: fits the cost model to what plait bench measured.

#include "costmodel/fit/calibrate.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/sha256.h"
#include "costmodel/fit/measured_machine.h"

namespace plait {
namespace {

struct CalibrateOptions {
  std::vector<std::string> raw;
  std::string output, name, device;
};

/// With a device also how far its data sheet is off by itself.
std::string table_of(const CalibrationResult& result) {
  const std::string& device = result.calibration.device;
  const auto beside = [&](const std::string& text) {
    return device.empty() ? "" : fmt::format("{:>12}", text);
  };
  std::string text =
      fmt::format("{:<40}{:>6}{:>10}{:>8}{:>10}{:>8}{}  {}\n", "class", "fitted", "error", "judged",
                  "error", "worst", beside("data sheet"), "worst row");
  for (const FitQuality& q : result.quality) {
    const auto& sheet = q.data_sheet_error;
    const bool judged = q.held_out_rows > 0;
    const auto error = [&](double share, int digits) {
      return judged ? fmt::format("{:.{}f} %", 100 * share, digits) : std::string("-");
    };
    text += fmt::format("{:<40}{:>6}{:>8.1f} %{:>8}{:>10}{:>8}{}  {}\n", q.name, q.fitted_rows,
                        100 * q.fitted_error, q.held_out_rows, error(q.held_out_error, 1),
                        error(q.worst_error, 0),
                        beside(sheet ? fmt::format("{:.1f} %", 100 * *sheet) : ""), q.worst);
  }
  text += "\nerror: mean |log(predicted / measured)|; judged: shapes that were not fitted\n";
  if (!device.empty())
    text += fmt::format("data sheet: that error without a calibration, by {} of the catalogue\n",
                        device);
  return text;
}

/// A last line without an end counts where it is whole: an editor wrote it, and no bench that was
/// stopped.
std::string with_last_line(const std::string& text, const std::string& file) {
  const std::string last = text.substr(text.rfind('\n') + 1);
  if (last.empty()) return text;
  try {
    parse_json(last, file);
  } catch (const InputError&) {
    return text;
  }
  return text + "\n";
}

int run(const CalibrateOptions& options) {
  std::vector<Row> rows;
  std::string all;
  for (const std::string& path : options.raw) {
    const std::string text = read_text_file(path);
    for (Row& row : parse_rows(with_last_line(text, path), path)) rows.push_back(std::move(row));
    all += text;
  }
  const auto& first = std::get<RunRow>(rows.front());
  Warnings warnings;
  const std::optional<Device> gpu = measured_gpu(rows, options.device, warnings);
  warn_of_hosts(rows, warnings);
  ProgressLine progress("fitting");
  const CalibrationResult result = calibrate(rows, options.name.empty() ? first.host : options.name,
                                             sha256(all), gpu ? &*gpu : nullptr);
  progress.finish();
  print_warnings(warnings);
  print_warnings(result.warnings);
  print_result({.file = options.output, .format = ""}, to_json(result.calibration));
  // Standard output has the one or the other.
  if (options.output == "-") {
    std::fputs(table_of(result).c_str(), stderr);
  } else {
    print_result({}, table_of(result));
  }
  return kYes;
}

}  // namespace

void add_calibrate(Command& command) {
  auto options = std::make_shared<CalibrateOptions>();
  Subcommand sub = command.program.subcommand(
      "calibrate", "Fit the cost model to measurements of plait bench, and say how well it fits");
  sub.option("raw", options->raw, "Files of measurements, of one machine").takes("RAW").required();
  sub.option("-o,--output", options->output, "The calibration, which scenarios then name")
      .writes_file()
      .required();
  sub.option("--name", options->name, "Of the machine (default: its host name)");
  sub.option("--device", options->device,
             "Of the catalogue, the GPU that was measured (default: what its driver reports)");
  sub.runs([options] { return run(*options); });
}

}  // namespace plait
