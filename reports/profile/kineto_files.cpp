#include "reports/profile/kineto_files.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"

namespace plait {
namespace {

constexpr const char* kWanted =
    "a trace of torch.profiler: JSON of prof.export_chrome_trace or of "
    "tensorboard_trace_handler, also as .gz";

[[noreturn]] void refuse_kind(const std::string& file, const std::string& what,
                              const std::string& cure) {
  throw InputError({.code = "K010",
                    .problem = fmt::format("the file holds {}", what),
                    .where = {file, 0, 0, ""},
                    .expected = kWanted,
                    .cure = cure});
}

struct FileSign {
  std::string_view sign;  // first bytes, or a key at the top
  const char* what;
  const char* cure;
};
constexpr const char* kProfileWithTorch =
    "profile the same steps with torch.profiler, activities CPU and CUDA";

constexpr std::array kFirstBytes = {
    FileSign{"SQLite format 3", "a database, as nsys export writes it", kProfileWithTorch},
    FileSign{"NVIDIA Tegra Profiler", "a report of Nsight Systems", kProfileWithTorch},
    FileSign{"PK\x03\x04", "a zip archive", "unzip it"},
    FileSign{"BZh", "a bzip2 file", "bunzip2 it"},
    FileSign{"\x28\xb5\x2f\xfd", "a zstd file", "unzstd it"},
    FileSign{"\xfd"
             "7zXZ",
             "an xz file", "unxz it"},
};

// "nodes" is the list of an execution trace of PyTorch's and of Chakra's.
constexpr std::array kTopKeys = {
    FileSign{"otherData.scenario_sha256", "a timeline that plait run --trace wrote",
             "this is the prediction: give a trace of the run itself"},
    FileSign{"nodes", "an execution trace, which has no times of kernels",
             "give the trace that the profiler's export_chrome_trace writes"},
    FileSign{"steps_s", "a measurement of plait realrun",
             "this compares traces of torch.profiler: plait realrun --calibration FILE compares "
             "its own steps"},
    FileSign{"step_time_s", "a result of plait run", "give a trace of the run itself"},
    FileSign{"model", "a scenario", "plait profile SCENARIO TRACE: the scenario comes first"},
};

const FileSign* sign_of(const TopLevel& top) {
  for (const FileSign& s : kTopKeys) {
    if (top.has(std::string(s.sign))) return &s;
  }
  return nullptr;
}

}  // namespace

void refuse_by_first_bytes(std::string_view first, const std::string& file) {
  for (const FileSign& s : kFirstBytes) {
    if (first.starts_with(s.sign)) refuse_kind(file, s.what, s.cure);
  }
  const std::size_t begin = first.find_first_not_of(" \t\r\n");
  if (first.empty() || begin == std::string_view::npos) {
    refuse_kind(file, "nothing",
                "give the whole file: the job may have ended before it was written");
  }
  constexpr std::string_view kByteOrder = "\xef\xbb\xbf";
  if (first[begin] == '{' || first[begin] == '[' || first.starts_with(kByteOrder)) return;
  refuse_kind(file, "no JSON",
              file.ends_with(".nsys-rep") || file.ends_with(".qdrep") ? kProfileWithTorch
                                                                      : "check the path");
}

void refuse_text(const TopLevel& top, const std::string& file, std::size_t position, bool ends) {
  if (!top.has("traceEvents")) {
    if (const FileSign* s = sign_of(top)) refuse_kind(file, s->what, s->cure);
  }
  throw InputError(
      {.code = "K011",
       .problem = ends ? fmt::format("the trace ends after {} bytes, in the middle", position)
                       : fmt::format("no JSON any more at byte {}", position),
       .where = {file, 0, 0, ""},
       .expected = "the file as torch.profiler wrote it, whole",
       .cure = ends
                   ? "copy it again, or profile again: the job may have ended before the trace was "
                     "written"
                   : "export it again; what else wrote into this file spoilt it"});
}

void refuse_event(const KinetoTrace& trace, const std::string& name, const std::string& key,
                  const std::string& expected) {
  throw InputError(
      {.code = "K011",
       .problem = fmt::format("event {} (\"{}\") has no time in \"{}\"", trace.read, name, key),
       .where = {trace.file, 0, 0, ""},
       .expected = expected,
       .cure = "give the file as torch.profiler wrote it"});
}

void refuse_other_traces(const TopLevel& top, const KinetoTrace& trace) {
  if (!trace.events.empty()) return;
  if (const FileSign* s = sign_of(top)) refuse_kind(trace.file, s->what, s->cure);
  if (trace.read == 0 && top.has("traceEvents")) {
    refuse_kind(trace.file, "a trace without any event, as its list of traceEvents is empty",
                "profile one step or more: the profiler's schedule may have ended before its "
                "active steps");
  }
  if (trace.read == 0) {
    refuse_kind(trace.file, "JSON without a list of traceEvents",
                "give the file that the profiler's export_chrome_trace writes");
  }
  throw InputError(
      {.code = "K012",
       .problem = fmt::format("{} events, and none of them ran on a GPU", trace.read),
       .where = {trace.file, 0, 0, ""},
       .expected = "events of category kernel",
       .cure = "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], where the "
               "process may use CUPTI"});
}

}  // namespace plait
