#pragma once
// Published measurements that are too large to keep here, read from $PLAIT_DATA/kernels.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plait {

using Record = std::map<std::string, std::string>;

/// Fields of a line; commas within double quotes belong to a field.
inline std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

/// Lines of a table, which may be compressed by gzip.
inline std::vector<Record> read_table(const std::filesystem::path& path) {
  FILE* pipe = popen(("gzip -dcf '" + path.string() + "'").c_str(), "r");
  if (pipe == nullptr) return {};
  std::vector<Record> records;
  std::vector<std::string> names;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::string text(line);
    text.erase(text.find_last_not_of("\r\n") + 1);
    const std::vector<std::string> fields = split(text);
    if (names.empty()) {
      names = fields;
      continue;
    }
    Record record;
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i)
      record[names[i]] = fields[i];
    records.push_back(record);
  }
  pclose(pipe);
  return records;
}

inline std::optional<std::filesystem::path> kernel_data() {
  const char* root = std::getenv("PLAIT_DATA");
  if (root == nullptr) return std::nullopt;
  const std::filesystem::path folder = std::filesystem::path(root) / "kernels";
  if (!std::filesystem::is_directory(folder / "aiconfigurator")) return std::nullopt;
  return folder;
}
inline constexpr const char* kSkip = "PLAIT_DATA does not lead to kernels/aiconfigurator: skipped";

inline std::vector<std::filesystem::path> tables(const std::filesystem::path& folder,
                                                 const std::string& prefix) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace plait
