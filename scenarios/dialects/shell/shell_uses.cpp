#include "scenarios/dialects/shell/shell_uses.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/dialects/dialects.h"

namespace plait {

void ShellUses::add(const std::string& of, int command, const std::vector<std::string>& names) {
  Names& has = of.empty() ? commands_[command] : lists_[of];
  has.insert(names.begin(), names.end());
}

void ShellUses::add_all(const ShellUses& part) {
  for (const auto& [of, names] : part.lists_) lists_[of].insert(names.begin(), names.end());
  for (const auto& [of, names] : part.commands_) commands_[of].insert(names.begin(), names.end());
}

/// Commands of each list that they have, directly or in what they have.
ShellUses::Users ShellUses::users() const {
  Users out;
  for (const auto& [command, names] : commands_) {
    std::vector<std::string> open(names.begin(), names.end());
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      std::vector<int>& users = out[name];
      if (!users.empty() && users.back() == command) continue;
      users.push_back(command);
      const auto has = lists_.find(name);
      if (has != lists_.end()) open.insert(open.end(), has->second.begin(), has->second.end());
    }
  }
  return out;
}

std::vector<ShellWord> ShellUses::used(std::vector<ShellWord> words, Warnings& notes) const {
  const Users users = this->users();
  const auto is_idle = [&](const ShellWord& w) { return !w.of.empty() && !users.contains(w.of); };
  const auto is_used = [&](const ShellWord& w) { return !w.of.empty() && users.contains(w.of); };
  if (std::ranges::none_of(words, is_used)) return words;
  std::vector<std::string> idle;
  for (const ShellWord& w : words) {
    if (!is_idle(w) || !w.text.starts_with('-')) continue;
    const std::string name = fmt::format("{}, which no command uses", w.of);
    if (std::ranges::count(idle, name) == 0) idle.push_back(name);
  }
  std::erase_if(words, is_idle);
  for (ShellWord& w : words) {
    if (is_used(w)) w.commands = users.find(w.of)->second;
  }
  warn_unread(idle, notes);
  return words;
}

}  // namespace plait
