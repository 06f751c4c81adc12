#pragma once
// Which file of settings that a script writes is the one that its command names: by its words,
// whatever variables are in them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/dialects/shell/here_documents.h"
#include "scenarios/dialects/shell/shell_words.h"

namespace plait {

/// A word with the script's variables filled in as they are at its end, as far as it says.
std::string filled_in(const std::string& script, const std::string& word);

/// The last one that the script writes under that name, in whatever folder; nothing where it
/// writes none. Variables in it are filled in, as the shell does without quotes around the mark.
std::optional<HereDocument> written_as(const std::string& script, std::string_view named);

/// What stands behind the option, "--config FILE" or "--config=FILE"; "": it does not.
std::string value_behind(const std::vector<ShellWord>& words, std::string_view option);

}  // namespace plait
