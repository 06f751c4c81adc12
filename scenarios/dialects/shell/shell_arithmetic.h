#pragma once
// What $((A * 2 + 1)) of a shell script comes to: integers, variables, + - * / %, comparisons, &&
// and
// ||, ! and brackets.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace plait {

/// What a variable holds; nothing where only a run knows.
using ShellVariable = std::function<std::optional<std::string>(std::string_view name)>;

/// Nothing where a variable in it is not known or holds no number, where it is none of these
/// expressions, and where its value has no place in 64 bits.
std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellVariable& variable);

}  // namespace plait
