#pragma once
// A number as people write it where JSON wants it plain.

#include <string>
#include <string_view>

namespace plait {

/// How a number that is written with a letter for its power, a currency or marks between digits is
/// written plainly: "15e12" of "15T", "2.5" of "$2.5", "15000000" of "15,000,000"; "" of what is no
/// such text.
std::string plain_number(std::string_view text);

}  // namespace plait
