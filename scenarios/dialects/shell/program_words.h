#pragma once
// Which words of a launch script are a program's: those of the command that starts it and of the
// lists that it uses. Other commands of the script may have options of the same names.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/dialects/shell/shell_words.h"

namespace plait {

/// The word names the program, in whatever folder.
bool is_program(const ShellWord& word, std::string_view program);
/// The word, before `next`, starts the program.
using StartsProgram = std::function<bool(const ShellWord& word, const ShellWord& next)>;

struct StartedProgram {
  std::string_view name;             // "vLLM"
  std::vector<StartsProgram> known;  // the surest first: one is asked where none before finds any
};

/// A command with options does.
bool starts_program(const std::vector<ShellWord>& words, const StartedProgram& program);

/// The words of the command that starts the program; all where none does, or where it takes what a
/// caller has ("$@"). Throws InputError D004 where two do, with different words.
std::vector<ShellWord> words_of_program(std::vector<ShellWord> words, const StartedProgram& program,
                                        const std::string& file);
/// The same without what stands in front of the program in its command, which is its launcher's:
/// python's -m, options of docker run. Lists that the command uses stand behind it.
std::vector<ShellWord> words_behind_program(std::vector<ShellWord> words,
                                            const StartedProgram& program, const std::string& file);

}  // namespace plait
