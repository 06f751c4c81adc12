#include "scenarios/dialects/vllm/vllm_integers.h"

#include <charconv>
#include <cmath>

namespace plait::vllm {

bool is_automatic(Arguments& args, std::string_view option) {
  const Arguments::Option* given = args.find(option);
  const std::string text = given == nullptr || given->values.empty() ? "" : given->values[0].text;
  return text == "auto" || text == "-1";
}

std::optional<std::int64_t> readable_integer(Arguments& args, std::string_view option) {
  const std::optional<std::string> text = args.text(option);
  constexpr std::string_view kLetters = "kmgt";
  const char letter = text && !text->empty() ? text->back() : '0';
  const bool binary = letter >= 'A' && letter <= 'Z';
  const std::size_t power = kLetters.find(binary ? static_cast<char>(letter + 32) : letter);
  if (power == std::string_view::npos) return args.integer(option);
  double value = 0;
  const char* end = text->data() + text->size() - 1;
  const auto parsed = std::from_chars(text->data(), end, value, std::chars_format::fixed);
  for (std::size_t i = 0; i <= power; ++i) value *= binary ? 1024 : 1000;
  const bool decimal = text->find('.') != std::string::npos;
  if (parsed.ec != std::errc() || parsed.ptr != end || (binary && decimal) ||
      !(value >= 1 && value < 1e12)) {
    args.malformed(option, "an integer, 32768, 32k or 32K");
  }
  return std::llround(value);
}

}  // namespace plait::vllm
