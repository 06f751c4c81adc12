#pragma once
// The number that a whole text is: "8" and, where the type has fractions, "0.5" or "1e9".

#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <string_view>

namespace plait {

/// Nothing where the text is no number, or one that the type does not hold; "inf" and "nan" are
/// none.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  if constexpr (std::floating_point<T>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

}  // namespace plait
