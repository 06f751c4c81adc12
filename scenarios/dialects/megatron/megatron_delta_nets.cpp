// Gated delta nets as Megatron-LM has them: --experimental-attention-variant gated_delta_net, of
// every --linear-attention-freq layers all but the last, or as a list with 1 for each layer that
// has one (megatron/core/models/gpt/experimental_attention_variant_module_specs.py). Each layer has
// an MLP, or experts, behind it. Chunks of 64 tokens are those of the kernel that it calls,
// chunk_gated_delta_rule of flash-linear-attention.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/json.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kVariant = "--experimental-attention-variant",
                     *kNetFrequency = "--linear-attention-freq";
constexpr std::int64_t kNetChunk = 64;
constexpr Same kNetSizes[] = {
    {"--linear-key-head-dim", "model.state_size"},
    {"--linear-num-value-heads", "model.state_heads"},
    {"--linear-value-head-dim", "model.state_head_dim"},
    {"--linear-num-key-heads", "model.state_groups"},
    {"--linear-conv-kernel-dim", "model.conv_width"},
};

/// g and a of model.layer_pattern, by "4" or "[1,1,1,0]".
std::string pattern_of_nets(Arguments& args, std::int64_t layers) {
  const std::string text = args.text(kNetFrequency).value_or("");
  std::string out;
  if (text.starts_with('[')) {
    for (const char c : text) {
      if (c == '0' || c == '1') out += c == '1' ? 'g' : 'a';
    }
    const bool is_list = text.find_first_not_of("[01, ]") == std::string::npos;
    if (!is_list || std::ssize(out) != layers)
      args.unsupported(kNetFrequency, "a list that is not one of all layers");
    return out;
  }
  const std::int64_t every = args.integer(kNetFrequency).value_or(0);
  if (every == 0) args.unsupported(kVariant, "layers that it does not name");
  for (std::int64_t l = 1; l <= layers; ++l) out += l % every == 0 ? 'a' : 'g';
  return out;
}

}  // namespace

bool read_delta_nets(Arguments& args, Imported& out, std::int64_t layers) {
  const auto variant = args.text(kVariant);
  if (!variant) return false;
  if (*variant != "gated_delta_net") args.unsupported(kVariant, "attention by " + *variant);
  out.give("model.layer_pattern", json_quote(pattern_of_nets(args, layers)),
           args.line(kNetFrequency));
  for (const Same& size : kNetSizes) {
    const auto value = args.integer(size.argument);
    if (!value) args.unsupported(kVariant, fmt::format("sizes that {} says", size.argument));
    out.give(std::string(size.path), std::to_string(*value), args.line(size.argument));
  }
  out.give("model.scan_chunk", std::to_string(kNetChunk), args.line(kVariant));
  return true;
}

}  // namespace plait::megatron
