#include "scenarios/dialects/grouped_number.h"

#include <cctype>

namespace plait {

std::string without_groups(std::string_view text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool groups = text[i] == '_' && i > 0 && is_digit(i - 1) && is_digit(i + 1);
    if (!groups) out += text[i];
  }
  return out;
}

}  // namespace plait
