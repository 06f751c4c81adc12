// Where torchtitan's TOML is in a text: all of it, or what a script writes.
#include "core/split.h"
#include "scenarios/dialects/shell/here_documents.h"
#include "scenarios/dialects/torchtitan/torchtitan.h"

namespace plait::torchtitan {
namespace {

/// A table is the first that it says.
bool is_toml(const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    const std::string_view words = trimmed(line);
    if (!words.empty() && !words.starts_with('#')) return words.starts_with('[');
  }
  return false;
}

}  // namespace

std::string config_in(const std::string& text) {
  const auto is_of_titan = [](const std::string& toml) {
    return is_toml(toml) && ("\n" + toml).find("\n[training]") != std::string::npos;
  };
  if (is_of_titan(text)) return text;
  for (const HereDocument& document : settings_written_by(text))
    if (is_of_titan(document.contents)) return in_place(document);
  return "";
}

}  // namespace plait::torchtitan
