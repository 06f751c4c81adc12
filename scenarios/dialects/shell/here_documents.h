#pragma once
// Files that a script writes before it starts a program: cat > config.yaml <<EOF and the lines up
// to EOF.

#include <string>
#include <vector>

namespace plait {

struct HereDocument {
  std::string file;      // as it stands there, without quotes: config.yaml, $CONFIG
  int first = 0;         // its first line
  std::string contents;  // lines, each with its end
};

/// Those that are settings, by what the file is called (.json, .yaml, .yml, .toml) or begins with
/// ({ or [); others may be scripts that it runs.
std::vector<HereDocument> settings_written_by(const std::string& script);

/// The script with blank lines where these stand.
std::string without_settings(const std::string& script);
/// As many blank lines as are in front of it in its script, and the document.
std::string in_place(const HereDocument& document);

}  // namespace plait
