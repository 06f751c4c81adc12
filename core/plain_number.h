#pragma once
// A number as people write it where JSON wants it plain.

#include <string>
#include <string_view>

namespace plait {

/// How a number that is written with a letter for its power, a currency or marks between digits is
/// written plainly: "15e12" of "15T", "2.5" of "$2.5", "15000000" of "15,000,000"; "" of what is no
/// such text.
std::string plain_number(std::string_view text);

/// The same of a count, whose k is 1,024 to some: "8192 (8 x 1024) or 8e3" of "8k".
std::string plain_count(std::string_view text);

}  // namespace plait
