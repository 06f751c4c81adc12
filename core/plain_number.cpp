#include "core/plain_number.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/parse_number.h"
#include "core/split.h"

namespace plait {
namespace {

void drop_end(std::string_view& text, std::string_view end) {
  if (text.ends_with(end)) text.remove_suffix(end.size());
}

void drop_currency(std::string_view& text) {
  for (const std::string_view sign : {"$", "€", "£", "¥", "USD", "EUR"}) {
    if (text.starts_with(sign)) text.remove_prefix(sign.size());
    drop_end(text, sign);
    text = trimmed(text);
  }
}

/// The power of ten that stands behind the number, and what is left of the text.
std::string power_behind(std::string_view& text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kPowers = {
      {{"trillion", "12"},
       {"billion", "9"},
       {"million", "6"},
       {"T", "12"},
       {"B", "9"},
       {"G", "9"},
       {"M", "6"},
       {"k", "3"},
       {"K", "3"}}};
  for (const auto& [name, power] : kPowers) {
    if (!text.ends_with(name)) continue;
    text.remove_suffix(name.size());
    text = trimmed(text);
    return std::string(power);
  }
  return "";
}

/// Without "_" between digits, and "," where it stands between thousands.
std::string without_marks(std::string_view text) {
  const std::size_t first = text.find(',');
  const std::string_view whole = text.substr(0, text.find('.'));
  for (std::size_t at = first; at != std::string_view::npos; at = text.find(',', at + 1)) {
    if (at >= whole.size() || (whole.size() - at) % 4 != 0) return std::string(text);
  }
  std::string out(text);
  std::erase_if(out, [](char c) { return c == ',' || c == '_'; });
  return out;
}

}  // namespace

std::string plain_number(std::string_view text) {
  text = trimmed(text);
  drop_currency(text);
  const std::string power = power_behind(text);
  const std::string number = without_marks(text);
  const bool scaled_twice = !power.empty() && number.find_first_of("eE") != std::string::npos;
  if (scaled_twice || !parse_number<double>(number)) return "";
  return power.empty() ? number : number + "e" + power;
}

std::string plain_count(std::string_view text) {
  std::string plain = plain_number(text);
  constexpr std::string_view kThousands = "e3";
  constexpr std::int64_t kMost = 1'000'000;
  if (!plain.ends_with(kThousands)) return plain;
  const std::string number = plain.substr(0, plain.size() - kThousands.size());
  const auto whole = parse_number<std::int64_t>(number);
  if (!whole || *whole < 1 || *whole > kMost) return plain;
  return std::to_string(*whole * 1024) + " (" + number + " x 1024) or " + plain;
}

}  // namespace plait
