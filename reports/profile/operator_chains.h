#pragma once
// Operators whose own names say little, told by those that run before and behind them: the product
// between a negation and a sum that is a rotary embedding's.

#include <string>
#include <string_view>
#include <vector>

#include "reports/profile/kernel_kind.h"

namespace plait {

/// The letter of an operator in chains (operator_patterns.h); '.' for others.
char letter_of(std::string_view operator_name);

/// Whether it counts in a chain even where it launches nothing.
bool is_view_of_chains(char letter);

/// What each of a sequence of letters belongs to; kUnknown for what no chain has.
std::vector<KernelKind> kinds_of_chain(std::string_view letters);

}  // namespace plait
