#pragma once
// Here-documents of a script: files that it writes before it starts a program (cat > config.yaml
// <<EOF and the lines up to EOF), and text that is no command of it.

#include <string>
#include <vector>

namespace plait {

struct HereDocument {
  std::string file;      // as it stands there, without quotes: config.yaml, $CONFIG
  int first = 0;         // its first line
  std::string contents;  // lines, each with its end
  bool expands = false;  // variables in it are the script's: no quotes around the mark
};

/// Those that are settings, by what the file is called (.json, .yaml, .yml, .toml) or holds (it
/// begins with { or [, or all of its lines are YAML's); others may be scripts that it runs.
std::vector<HereDocument> settings_written_by(const std::string& script);

/// The script with blank lines where these stand, and where text does: what it prints (cat <<EOF),
/// tells Python, or passes over (: <<EOF).
std::string without_documents(const std::string& script);
/// The same without comments: what of any text may be commands.
std::string commands_of(const std::string& text);
/// As many blank lines as are in front of it in its script, and the document.
std::string in_place(const HereDocument& document);

}  // namespace plait
