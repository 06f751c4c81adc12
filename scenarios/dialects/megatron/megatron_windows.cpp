// Sliding windows as Megatron-LM has them: --window-size L,R, the keys before and behind a query's
// own (Transformer Engine's window_size; under a causal mask R is 0, and L of -1 is all), and
// --window-attn-skip-freq, each so-many-th layer counted from 1 that sees all keys, or a list with
// 1 for each layer with a window (megatron/core/transformer/utils.py, is_layer_window_attention).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "model/window_layers.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kSize = "--window-size", *kFrequency = "--window-attn-skip-freq";

/// "4095,0" or "(4095, 0)", and nothing else.
std::optional<std::vector<std::int64_t>> numbers_of(std::string text, char open, char close) {
  std::erase(text, ' ');
  if (text.size() > 1 && text.front() == open && text.back() == close) {
    text = text.substr(1, text.size() - 2);
  }
  std::vector<std::int64_t> out;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    const auto [next, error] = std::from_chars(at, end, out.emplace_back());
    if (error != std::errc() || (next < end && (*next != ',' || next + 1 == end))) return {};
    at = next < end ? next + 1 : end;
  }
  return out;
}

}  // namespace

void write_windows(ExportDraft& d) {
  const Model& m = d.scenario.model;
  d.say({"model.attention_window"});
  if (m.attention_window == 0) return;
  d.set(kSize, fmt::format("{},0", m.attention_window - 1));
  std::vector<bool> windowed;
  for (std::int64_t l = 0; l < m.layers; ++l) windowed.push_back(m.has_window(l));
  if (m.full_attention_first > 0) {
    d.set(kFrequency, fmt::format("'[{:d}]'", fmt::join(windowed, ",")));
  } else if (m.full_attention_every > 0) {
    d.set(kFrequency, m.full_attention_every);
  }
  // Two rules may say the same of all layers, of which a list is read as one.
  const auto read = full_attention_of(windowed);
  if (m.full_attention_first == 0 ||
      (read && read->first == m.full_attention_first && read->every == m.full_attention_every)) {
    d.say({"model.full_attention_first", "model.full_attention_every"});
  }
}

void read_windows(Arguments& args, Imported& out, std::int64_t layers) {
  std::int64_t window = 0;
  FullAttention full;
  if (const auto text = args.text(kSize)) {
    const auto size = numbers_of(*text, '(', ')');
    if (!size || size->size() != 2) args.unsupported(kSize, "a window that is not \"L,R\"");
    if (size->at(1) > 0) args.unsupported(kSize, "a window behind the query");
    window = size->at(0) < 0 ? 0 : size->at(0) + 1;
  }
  if (const auto text = args.text(kFrequency)) {
    const auto list = numbers_of(*text, '[', ']');
    if (!list) args.unsupported(kFrequency, "a pattern that is neither a number nor a list");
    if (list->size() == 1 && text->find('[') == std::string::npos) {
      full.every = list->front();
    } else {
      std::vector<bool> windowed;
      for (const std::int64_t layer : *list) windowed.push_back(layer != 0);
      const auto rule = full_attention_of(windowed);
      if (static_cast<std::int64_t>(windowed.size()) != layers || !rule) {
        args.unsupported(kFrequency, "a list that is not one of all layers, or follows no rule");
      }
      full = *rule;
    }
  }
  out.give("model.attention_window", std::to_string(window), args.line(kSize));
  out.give("model.full_attention_first", std::to_string(full.first), args.line(kFrequency));
  out.give("model.full_attention_every", std::to_string(full.every), args.line(kFrequency));
}

}  // namespace plait::megatron
