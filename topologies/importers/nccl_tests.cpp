#include "topologies/importers/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/error.h"
#include "core/json.h"
#include "core/parse_number.h"
#include "core/split.h"
#include "topologies/importers/lines.h"

namespace plait {
namespace {

struct Program {
  std::string_view file, collective;
};
constexpr std::array<Program, 8> kPrograms = {{{"all_reduce_perf", "all_reduce"},
                                               {"all_gather_perf", "all_gather"},
                                               {"reduce_scatter_perf", "reduce_scatter"},
                                               {"alltoall_perf", "all_to_all"},
                                               {"broadcast_perf", "broadcast"},
                                               {"sendrecv_perf", "send_recv"},
                                               {"reduce_perf", "reduce"},
                                               {"hypercube_perf", "hypercube"}}};

std::string program_in(std::string_view text) {
  for (const Program& p : kPrograms) {
    const std::size_t at = text.find(p.file);
    if (at == std::string_view::npos) continue;
    // "all_reduce_perf" contains "reduce_perf".
    if (at == 0 || (text[at - 1] != '_' && text[at - 1] != '-')) return std::string(p.collective);
  }
  return "";
}

/// From out-of-place or in-place numbers; nothing when that half was not measured (time 0 or N/A).
bool take(CollectiveTiming& row, std::optional<double> time_us, std::optional<double> algbw,
          std::optional<double> busbw) {
  if (!time_us || !algbw || !busbw || *time_us <= 0 || *algbw < 0 || *busbw < 0) return false;
  row.time = Seconds(*time_us * 1e-6);
  row.algbw = BytesPerSecond(*algbw * 1e9);
  row.busbw = BytesPerSecond(*busbw * 1e9);
  return true;
}

/// "#  Rank  3 Group  0 Pid  77 on  host device  3 [0x..] NVIDIA H100 80GB HBM3"
void read_rank(const std::string& line, CollectiveTimings& run, std::set<std::string>& hosts) {
  const std::vector<std::string> words = words_of(line);
  const auto on = std::find(words.begin(), words.end(), "on");
  const auto device = std::find(words.begin(), words.end(), "device");
  if (on == words.end() || on + 1 == words.end() || device == words.end()) return;
  ++run.ranks;
  hosts.insert(*(on + 1));
  const std::size_t bracket = line.find(']');
  if (bracket != std::string::npos)
    run.device = trimmed(std::string_view(line).substr(bracket + 1));
}

/// `#wrong` counts elements; before 2.12 that column is an error, below 1 where the result is
/// right.
bool is_wrong(std::optional<double> wrong) { return wrong && *wrong >= 1; }

/// size count type redop [root] (time algbw busbw [#wrong]) twice; false: not a row of the table.
/// nccl-tests before 2.11 has no column for root.
bool read_row(const TextLine& line, const std::string& file, CollectiveTimings& run) {
  const std::vector<std::string> words = words_of(line.text);
  if (words.size() < 4) return false;
  const auto size = parse_number<std::int64_t>(words[0]);
  if (!size || !parse_number<std::int64_t>(words[1]) || parse_number<double>(words[2]))
    return false;
  const std::size_t at = words.size() == 12 ? 4 : 5;
  const auto value = [&](std::size_t i) {
    return i < words.size() ? parse_number<double>(words[i]) : std::nullopt;
  };
  CollectiveTiming row;
  row.size = Bytes(*size);
  row.type = words[2];
  row.redop = words[3];
  const bool taken = take(row, value(at), value(at + 1), value(at + 2)) ||
                     take(row, value(at + 4), value(at + 5), value(at + 6));
  if (!taken && words.size() < at + 3) {
    throw InputError({.code = "T012",
                      .problem = "a row of the table breaks off",
                      .where = {file, line.number, 0, ""},
                      .expected = "size count type redop root time algbw busbw #wrong ...",
                      .cure = "remove the row, or measure again"});
  }
  if (!taken || row.size.value <= 0) return true;
  if (is_wrong(value(at + 3)) || is_wrong(value(at + 7))) {
    ++run.wrong;
  } else {
    run.rows.push_back(row);
  }
  return true;
}

/// A line that stands once, above the rows.
bool begins_table(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  if (words.size() < 3 || words[0] != "#") return false;
  const std::string two = words[1] + " " + words[2];
  return two == "nccl-tests version" || two == "Collective test" || words[1] == "nThread" ||
         two == "Using devices" || two == "size count";
}

[[noreturn]] void refuse_second_table(const std::string& file, int line) {
  throw InputError({.code = "T019",
                    .problem = "a second table of nccl-tests begins here",
                    .where = {file, line, 0, ""},
                    .expected = "one run of one collective: a fit is of its sizes",
                    .cure = "write each run to a file of its own"});
}

CollectiveTimings read_table(std::string_view text, const std::string& file) {
  CollectiveTimings run;
  std::set<std::string> hosts;
  for (const TextLine& line : lines_of(text)) {
    const bool has_rows = !run.rows.empty() || run.wrong > 0;
    if (has_rows && begins_table(line.text)) refuse_second_table(file, line.number);
    if (run.collective.empty()) run.collective = program_in(line.text);
    const std::string_view words = trimmed(line.text);
    if (words.starts_with("#")) {
      if (words.find("Rank") != std::string_view::npos) read_rank(line.text, run, hosts);
    } else if (words.find("NCCL") == std::string_view::npos) {
      read_row(line, file, run);
    }
  }
  run.hosts = std::ssize(hosts);
  return run;
}

std::optional<double> member(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  const bool numeric =
      value != nullptr && (value->is(Json::Kind::kNumber) || value->is(Json::Kind::kInteger));
  return numeric ? std::optional<double>(value->number()) : std::nullopt;
}

std::string text_member(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value != nullptr && value->is(Json::Kind::kText) ? value->text() : "";
}

std::string program_of(const Json& root) {
  const Json* args = root.find("args");
  if (args == nullptr) return "";
  for (const Json* a : args->children()) {
    if (!a->is(Json::Kind::kText)) continue;
    if (std::string program = program_in(a->text()); !program.empty()) return program;
  }
  return "";
}

void read_devices(const Json& root, CollectiveTimings& run) {
  std::set<std::string> hosts;
  if (const Json* devices = root.find("devices")) {
    for (const Json* d : devices->children()) {
      ++run.ranks;
      hosts.insert(text_member(*d, "hostname"));
      run.device = text_member(*d, "device_info");
    }
  }
  run.hosts = std::ssize(hosts);
}

/// Out of place where it was timed so, else in place.
void read_result(const Json& result, CollectiveTimings& run) {
  const std::optional<double> size = member(result, "size");
  if (!size || *size <= 0 || *size > 1e18) return;
  CollectiveTiming row;
  row.size = Bytes(static_cast<std::int64_t>(*size));
  row.type = text_member(result, "type");
  row.redop = text_member(result, "redop");
  const Json* halves[] = {result.find("out_of_place"), result.find("in_place")};
  const bool wrong = std::ranges::any_of(
      halves, [](const Json* h) { return h != nullptr && is_wrong(member(*h, "nwrong")); });
  if (wrong) {
    ++run.wrong;
    return;
  }
  for (const Json* h : halves) {
    if (h == nullptr) continue;
    if (!take(row, member(*h, "time"), member(*h, "alg_bw"), member(*h, "bus_bw"))) continue;
    run.rows.push_back(row);
    return;
  }
}

CollectiveTimings read_json(std::string_view text, const std::string& file) {
  const JsonDocument document = parse_json(text, file);
  const Json& root = document.root();
  CollectiveTimings run;
  run.collective = program_of(root);
  read_devices(root, run);
  const Json* results = root.find("results");
  if (results == nullptr) return run;
  for (const Json* r : results->children()) read_result(*r, run);
  return run;
}

/// From the largest rows, whose two decimals say most.
double factor_of(const CollectiveTimings& run) {
  double algbw = 0, factor = 1;
  for (const CollectiveTiming& row : run.rows) {
    if (row.algbw.value <= algbw) continue;
    algbw = row.algbw.value;
    factor = row.busbw / row.algbw;
  }
  return factor;
}

/// By the factor and the reduction, where only one collective has both.
std::string collective_of(const CollectiveTimings& run) {
  const bool reduces = !run.rows.empty() && run.rows[0].redop != "none";
  const auto n = static_cast<double>(run.ranks);
  if (run.ranks < 2) return run.factor > 1.01 ? "all_reduce" : "";
  if (std::abs(run.factor - 2 * (n - 1) / n) < 0.02 && reduces) return "all_reduce";
  if (std::abs(run.factor - (n - 1) / n) < 0.01 && reduces) return "reduce_scatter";
  return "";
}

}  // namespace

CollectiveTimings read_nccl_tests(std::string_view text, const std::string& file) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool json = begin != std::string_view::npos && text[begin] == '{';
  CollectiveTimings run = json ? read_json(text, file) : read_table(text, file);
  if (run.rows.empty() && run.wrong > 0) {
    throw InputError(
        {.code = "T018",
         .problem = fmt::format("all {} rows computed wrong results", run.wrong),
         .where = {file, 0, 0, ""},
         .expected = "rows whose #wrong is 0, or N/A (-c 0)",
         .cure = "find what corrupts the data (a link, a driver, NCCL) and measure again"});
  }
  if (run.rows.empty()) {
    throw InputError({.code = "T010",
                      .problem = "there are no measurements of nccl-tests",
                      .where = {file, 0, 0, ""},
                      .expected = "rows of size, count, type, redop, root, time, algbw, busbw",
                      .cure = "pass the whole output, or the file that -J wrote"});
  }
  run.factor = factor_of(run);
  if (run.collective.empty()) run.collective = collective_of(run);
  return run;
}

std::string catalogue_name(const std::string& marketing_name) {
  // The first match counts; A100-SXM4-40GB is NVIDIA's own name in nvidia-smi.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kNames = {
      {{"GB200", "gb200"},
       {"B200", "b200"},
       {"H200", "h200-sxm"},
       {"H800", "h800-sxm"},
       {"H100", "h100-sxm"},
       {"A800", "a800-80-sxm"},
       {"A100-SXM4-40GB", "a100-40-sxm"},
       {"A100", "a100-80-sxm"},
       {"V100", "v100-sxm2-32"},
       {"L40S", "l40s"},
       {"RTX 4090", "rtx-4090"}}};
  for (const auto& [part, name] : kNames) {
    if (marketing_name.find(part) != std::string::npos) return std::string(name);
  }
  return "";
}

}  // namespace plait
