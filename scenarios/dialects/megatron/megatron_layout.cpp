// The text of --pipeline-model-parallel-layout (megatron/core/transformer/
// pipeline_parallel_layer_layout.py): E the embedding, t a layer, m a module of multi-token
// prediction, L the loss, with | between pieces. (...)*n repeats what is in parentheses and x*n a
// letter or a |, in this order; commas mean nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr std::size_t kLongest = 100'000;  // letters of a layout

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// What repeats in front of text[star], which is a '*': of "(tt|)*4" its "tt|", or one character.
std::string repeated_before(const std::string& text, std::size_t star, bool group) {
  if (star == 0 || (text[star - 1] == ')') != group) return "";
  if (!group) return text.substr(star - 1, 1);
  const std::size_t open = text.rfind('(', star);
  return open == std::string::npos ? "" : text.substr(open + 1, star - open - 2);
}

/// Repeats written out: groups, or else single characters. Nothing where they are too many.
std::optional<std::string> written_out(std::string text, bool group) {
  std::size_t star = 0;
  while ((star = text.find('*', star)) != std::string::npos) {
    const std::string part = repeated_before(text, star, group);
    std::size_t end = star + 1, times = 0;
    while (end < text.size() && is_digit(text[end])) ++end;
    std::from_chars(text.data() + star + 1, text.data() + end, times);
    if (part.empty() || end == star + 1) {
      ++star;
      continue;
    }
    if (times * part.size() > kLongest) return std::nullopt;
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += part;
    const std::size_t from = star - part.size() - (group ? 2 : 0);
    text.replace(from, end - from, all);
    star = from;
    if (text.size() > kLongest) return std::nullopt;
  }
  return text;
}

}  // namespace

std::string layout_of(const std::vector<std::int64_t>& layers, std::int64_t mtp_layers) {
  std::string out = "E";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) out += '|';
    if (layers[i] == 1) out += 't';
    if (layers[i] > 1) out += fmt::format("t*{}", layers[i]);
  }
  return out + std::string(static_cast<std::size_t>(mtp_layers), 'm') + "L";
}

std::optional<Layout> read_layout(std::string text) {
  std::erase(text, ',');
  const auto groups = written_out(std::move(text), true);
  const auto letters = groups ? written_out(*groups, false) : std::nullopt;
  if (!letters || letters->empty() || letters->front() != 'E' || letters->back() != 'L') return {};
  Layout out{.layers = {0}};
  for (const char c : letters->substr(1, letters->size() - 2)) {
    if (c != 't' && c != 'm' && c != '|') return std::nullopt;
    if (c == 't') ++out.layers.back();
    if (c == 'm') ++out.mtp_layers;
    if (c == '|') out.layers.push_back(0), out.mtp_is_last = out.mtp_layers == 0;
  }
  return out;
}

bool fill_empty(std::vector<std::int64_t>& layers) {
  bool moved = false;
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    if (layers[i] > 0 || layers[i - 1] < 2) continue;
    --layers[i - 1], ++layers[i];
    moved = true;
  }
  return moved;
}

}  // namespace plait::megatron
