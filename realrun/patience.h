#pragma once
// What a rank that gives up waiting adds to its message.

#include <array>
#include <cstdio>
#include <string>

namespace plait {

/// " (for 2 s; --patience gives it longer)"
inline std::string after_patience(double seconds) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), " (for %g s; --patience gives it longer)", seconds);
  return text.data();
}

}  // namespace plait
