#pragma once
// Regular expressions that are made at run time: each is compiled once in a thread, as that takes
// longer than most searches.

#include <regex>
#include <string>

namespace plait {

/// The expression of `pattern` (ECMAScript), for as long as the thread lives. For patterns of the
/// program, of which there are few; those of users are not to be kept.
/// Throws std::regex_error where the pattern is none.
const std::regex& compiled(const std::string& pattern);

}  // namespace plait
