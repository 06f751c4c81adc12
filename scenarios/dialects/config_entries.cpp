#include "scenarios/dialects/config_entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/spelling.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/grouped_number.h"

namespace plait {

void ConfigEntries::add(std::string path, std::string text, int line) {
  if (std::ranges::count(list_, path, &ConfigEntry::path) != 0) {
    throw InputError({"D004",
                      fmt::format("{} stands twice", path),
                      {file_, line, 0, path},
                      "each key once",
                      "remove one of the two"});
  }
  list_.push_back({std::move(path), std::move(text), line});
  asked_.push_back(0);
}

void ConfigEntries::say(std::string_view path, std::string text) {
  std::ranges::find(list_, path, &ConfigEntry::path)->text = std::move(text);
}

const ConfigEntry* ConfigEntries::find(std::string_view path) {
  const auto found = std::ranges::find(list_, path, &ConfigEntry::path);
  if (found == list_.end()) return nullptr;
  asked_[static_cast<std::size_t>(found - list_.begin())] = 1;
  return found->text.empty() ? nullptr : &*found;
}

const ConfigEntry* ConfigEntries::find(std::initializer_list<std::string_view> paths) {
  const ConfigEntry* out = nullptr;
  for (const std::string_view path : paths) {
    const ConfigEntry* entry = find(path);
    if (out == nullptr) out = entry;
  }
  return out;
}

void ConfigEntries::report_unread(Warnings& warnings) const {
  std::vector<std::string> unread;
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (asked_[i] == 0) unread.push_back(list_[i].path);
  }
  warn_unread(unread, warnings);
}

std::int64_t ConfigEntries::integer(const ConfigEntry* entry, std::int64_t otherwise,
                                    std::int64_t least, std::int64_t most) const {
  if (entry == nullptr) return otherwise;
  const auto value = parse_grouped_number<std::int64_t>(entry->text);
  if (!value || *value < least || *value > most) {
    malformed(*entry, value && *value > most ? fmt::format("an integer up to {}", most)
                                             : fmt::format("an integer of at least {}", least));
  }
  return *value;
}

bool ConfigEntries::flag(const ConfigEntry* entry, bool otherwise) const {
  if (entry == nullptr) return otherwise;
  const std::string word = lower_case(entry->text);
  if (word == "true" || word == "yes") return true;
  if (word == "false" || word == "no") return false;
  malformed(*entry, "true or false");
}

std::string ConfigEntries::one_of(const ConfigEntry* entry, const std::vector<std::string>& names,
                                  const std::string& otherwise) const {
  if (entry == nullptr) return otherwise;
  if (std::ranges::count(names, entry->text) == 0) {
    malformed(*entry, fmt::format("one of {}", fmt::join(names, ", ")));
  }
  return entry->text;
}

double ConfigEntries::number(const ConfigEntry* entry, double otherwise) const {
  if (entry == nullptr) return otherwise;
  const auto value = parse_grouped_number<double>(entry->text);
  if (!value || *value < 0 || *value >= 1e9) malformed(*entry, "a number from 0");
  return *value;
}

void ConfigEntries::malformed(const ConfigEntry& entry, const std::string& expected) const {
  throw InputError({"D003", fmt::format("{} is \"{}\"", entry.path, entry.text), at(entry),
                    expected, "correct the value"});
}

void ConfigEntries::unsupported(const ConfigEntry& entry, const std::string& what) const {
  throw InputError(
      {"D006", fmt::format("{} asks for {}, which a scenario cannot say", entry.path, what),
       at(entry), "settings that a scenario has fields for", "remove it, or import another run"});
}

std::string_view strip_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                      text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace plait
