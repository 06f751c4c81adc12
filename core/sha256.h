#pragma once
// SHA-256 (FIPS 180-4), so that a report can quote exactly which input it answers.

#include <string>
#include <string_view>

namespace plait {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace plait
