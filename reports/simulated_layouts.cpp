#include "reports/simulated_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "reports/csv.h"

namespace plait {
namespace {

class CsvWriter : public LayoutWriter {
 public:
  explicit CsvWriter(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) fail();
  }
  ~CsvWriter() override {
    if (file_ != nullptr) std::fclose(file_);
  }
  void add(std::span<const SimulatedLayout> layouts) override {
    std::string text;
    for (const SimulatedLayout& l : layouts) {
      if (!begun_) text += csv_row(header(l));
      begun_ = true;
      text += csv_row(values(l));
    }
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
    if (std::fflush(file_) != 0) fail();
  }
  void finish(bool) override {
    std::FILE* const file = file_;
    file_ = nullptr;
    if (std::fclose(file) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw EnvironmentError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }
  static std::vector<std::string> header(const SimulatedLayout& l) {
    std::vector<std::string> out = {"machine"};
    for (const Override& set : l.settings) out.push_back(column_of(set.path));
    out.insert(out.end(), {"bound_s", "step_time_s", "memory_bytes", "room_bytes", "outcome"});
    return out;
  }
  static std::vector<std::string> values(const SimulatedLayout& l) {
    std::vector<std::string> out = {machine_text(l.machine)};
    for (const Override& set : l.settings) out.push_back(set.value);
    if (l.planned) {
      out.insert(out.end(), {fmt::format("{}", l.bound_s), fmt::format("{}", l.step_time_s),
                             fmt::format("{}", l.memory_bytes), fmt::format("{}", l.room_bytes)});
    } else {
      out.insert(out.end(), {fmt::format("{}", l.bound_s), "", "", ""});
    }
    out.push_back(outcome_of(l));
    return out;
  }

  std::string path_;
  std::FILE* file_ = nullptr;
  bool begun_ = false;
};

}  // namespace

std::string column_of(const std::string& path) {
  std::string out = path.substr(path.find('.') + 1);
  std::ranges::replace(out, '.', '_');
  return out;
}

std::string machine_text(const Assignments& machine) {
  std::string out;
  for (const Override& set : machine) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", set.path, set.value);
  }
  return out;
}

std::string outcome_of(const SimulatedLayout& layout) {
  if (!layout.planned) return "cannot be planned";
  return layout.room_bytes >= 0 ? "fits" : "does not fit";
}

std::unique_ptr<LayoutWriter> write_layouts_csv(const std::string& path) {
  return std::make_unique<CsvWriter>(path);
}

}  // namespace plait
