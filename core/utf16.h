#pragma once
// Texts of two bytes for each letter, which nothing here reads.

#include <string_view>

namespace plait {

/// By the mark that such a text begins with.
inline bool is_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

}  // namespace plait
