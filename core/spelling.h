#pragma once
// What a word that is no known name was meant to be: a slip of the fingers ("strtegy"), another
// case ("H100-SXM"), a part of the name ("h100", "a100-40") or more than it ("Llama-3.1-8B-Base").

#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// `text` with ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// Letters to be put in, taken away, exchanged or swapped with the next; exchanged in words that
/// have a number ("a100", "h100") they count twice.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The names that `word` may mean, the likeliest first; at most four.
std::vector<std::string> names_like(std::string_view word, const std::vector<std::string>& names);

/// The name that `word`, which may well be a name of something else, is a slip of: by a letter, or
/// by two where it has twelve or more; "" where none is.
std::string slip_of(std::string_view word, const std::vector<std::string>& names);

/// `did you mean "a" or "b"?`, or "" where no name is like it. `quote` stands around each name.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names,
                         std::string_view quote = "\"");

}  // namespace plait
