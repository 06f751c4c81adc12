#pragma once
// Text of other programs, line by line.

#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// One line without its end, without terminal colours and the prefixes that launchers put before
/// lines ("[1,0]<stdout>:"), and without carriage return.
struct TextLine {
  std::string text;
  int number = 0;  // counted from 1
};
std::vector<TextLine> lines_of(std::string_view text);

/// Words between spaces and tabs.
std::vector<std::string> words_of(std::string_view line);
/// What stands between separators, without the spaces around it.
std::vector<std::string> cells_of(std::string_view line, char separator = '\t');

}  // namespace plait
