#pragma once
// A text taken apart at a character, and without what stands around it.

#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// The parts between, empty ones too: "a,,b" is "a", "" and "b", and "" is one empty part.
std::vector<std::string> split(std::string_view text, char at);

/// Without these characters at its begin and its end.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r");

}  // namespace plait
