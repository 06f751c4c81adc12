#include "model/preset_delta_nets.h"

#include <utility>

namespace plait {
namespace {

constexpr std::string_view kQwen3Next =
    "Qwen 2025 and config.json of Qwen/Qwen3-Next-80B-A3B-Instruct";
constexpr std::string_view kQwen35 =
    "Qwen 2026 and config.json of Qwen/Qwen3.5-35B-A3B, the text's part";

constexpr std::int64_t kMillionOfNets = 1'000'000;

/// Of four layers three have a gated delta net of 16 key and 32 value heads, one has attention of
/// 16 gated heads, a quarter of each of which is rotated; experts of 512 columns behind each,
/// beside one that every token sees through a gate.
Model gated_qwen(std::string name, std::int64_t layers, std::int64_t vocab) {
  Model m;
  m.name = std::move(name);
  m.layers = layers;
  for (std::int64_t l = 1; l <= layers; ++l) m.layer_pattern += l % 4 == 0 ? 'a' : 'g';
  m.hidden = 2048;
  m.heads = 16, m.kv_heads = 2, m.head_dim = 256, m.rope_head_dim = 64;
  m.vocab = vocab;
  m.max_positions = 262144;
  m.qk_norm = m.attention_gate = true;
  m.state_heads = 32, m.state_head_dim = 128, m.state_groups = 16, m.state_size = 128;
  m.conv_width = 4, m.scan_chunk = 64;
  m.expert_ffn_hidden = m.shared_ffn_hidden = 512;
  m.shared_expert_gate = true;
  return m;
}

}  // namespace

// Without the modules that predict further tokens.
void append_delta_nets(std::vector<Preset>& table) {
  Model next = gated_qwen("qwen3-next-80b-a3b", 48, 151936);
  next.ffn_hidden = 5120;  // of no layer
  next.experts = 512, next.experts_per_token = 10;
  Model qwen35 = gated_qwen("qwen3.5-35b-a3b", 40, 248320);
  qwen35.ffn_hidden = 512;  // of no layer
  qwen35.experts = 256, qwen35.experts_per_token = 8;
  constexpr std::int64_t half = 500 * kMillionOfNets;
  table.push_back({std::move(next), 80'000 * kMillionOfNets, half, kQwen3Next});
  table.push_back({std::move(qwen35), 35'000 * kMillionOfNets, half, kQwen35});
}

}  // namespace plait
