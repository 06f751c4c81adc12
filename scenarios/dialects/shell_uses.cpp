#include "scenarios/dialects/shell_uses.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/dialects/dialects.h"

namespace plait {

void ShellUses::add(const std::string& of, const std::vector<std::string>& names) {
  names_[of].insert(names.begin(), names.end());
}

void ShellUses::add_all(const ShellUses& part) {
  for (const auto& [of, names] : part.names_) names_[of].insert(names.begin(), names.end());
}

/// All that commands have, directly or in what they have.
std::set<std::string> ShellUses::reached() const {
  std::set<std::string> out;
  std::vector<std::string> open = {""};
  while (!open.empty()) {
    const auto found = names_.find(open.back());
    open.pop_back();
    if (found == names_.end()) continue;
    for (const std::string& name : found->second) {
      if (out.insert(name).second) open.push_back(name);
    }
  }
  return out;
}

std::vector<ShellWord> ShellUses::used(std::vector<ShellWord> words,
                                       std::vector<std::string>& notes) const {
  const std::set<std::string> reached = this->reached();
  const auto is_idle = [&](const ShellWord& w) { return !w.of.empty() && !reached.contains(w.of); };
  const auto is_used = [&](const ShellWord& w) { return !w.of.empty() && reached.contains(w.of); };
  if (std::ranges::none_of(words, is_used)) return words;
  std::vector<std::string> idle;
  for (const ShellWord& w : words) {
    if (!is_idle(w) || !w.text.starts_with('-')) continue;
    const std::string name = fmt::format("{}, which no command uses", w.of);
    if (std::ranges::count(idle, name) == 0) idle.push_back(name);
  }
  std::erase_if(words, is_idle);
  warn_unread(idle, notes);
  return words;
}

}  // namespace plait
