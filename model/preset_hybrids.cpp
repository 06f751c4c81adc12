#include "model/preset_hybrids.h"

#include <utility>

namespace plait {
namespace {

constexpr std::string_view kMamba2 =
    "Dao and Gu 2024 (arXiv 2405.21060), appendix D, and config.json of state-spaces, its "
    "vocabulary "
    "padded to a multiple of 16";
constexpr std::string_view kNemotronH =
    "NVIDIA 2025 (arXiv 2504.03624), table 1, and config.json of nvidia/Nemotron-H-8B-Base-8K; its "
    "squared ReLU as ReLU";
constexpr std::string_view kNemotronHLarge =
    "NVIDIA 2025 (arXiv 2504.03624), table 1, and Megatron-Bridge, nemotron_h_provider.py; its "
    "squared ReLU as ReLU";
constexpr std::string_view kNemotronNano2 =
    "NVIDIA 2025 (arXiv 2508.14444) and config.json of nvidia/NVIDIA-Nemotron-Nano-9B-v2; its "
    "squared ReLU as ReLU";
constexpr std::string_view kNemotronNano2Base =
    "NVIDIA 2025 (arXiv 2508.14444) and Megatron-Bridge, nemotron_h_provider.py; its squared ReLU "
    "as ReLU";
constexpr std::string_view kNemotron3 =
    "NVIDIA 2025, Nemotron 3 Nano, and config.json of nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B; its "
    "squared ReLU as ReLU";

constexpr std::int64_t kMillions = 1'000'000;

/// One mixer in each layer, heads of 64 columns with 128 states, one group; tied embeddings.
Model mamba2(std::string name, std::int64_t layers, std::int64_t hidden) {
  Model m;
  m.name = std::move(name);
  m.layers = layers;
  m.hidden = m.head_dim = m.ffn_hidden = hidden;
  m.heads = m.kv_heads = 1;  // no layer has attention
  m.vocab = 50288;
  m.max_positions = 2048;
  m.positions = PositionKind::kNone;
  m.tied_embeddings = true;
  m.layer_pattern = std::string(static_cast<std::size_t>(layers), 'M');
  m.state_size = 128;
  m.state_head_dim = 64;
  m.state_heads = 2 * hidden / m.state_head_dim;
  return m;
}

/// One part in each layer, no positions, an MLP without a gate; 8 groups, 128 states, chunks of
/// 128.
Model nemotron(std::string name, std::string pattern, std::int64_t hidden, std::int64_t ffn) {
  Model m;
  m.name = std::move(name);
  m.layers = static_cast<std::int64_t>(pattern.size());
  m.layer_pattern = std::move(pattern);
  m.hidden = hidden;
  m.ffn_hidden = ffn;
  m.heads = 32, m.kv_heads = 8, m.head_dim = 128;
  m.vocab = 131072;
  m.max_positions = 131072;
  m.activation = ActivationKind::kRelu;
  m.gated_mlp = false;
  m.positions = PositionKind::kNone;
  m.state_size = 128, m.state_heads = 128, m.state_head_dim = 64, m.state_groups = 8;
  m.scan_chunk = 128;
  return m;
}

Model nemotron_h(std::string name, std::string pattern, std::int64_t hidden, std::int64_t ffn) {
  Model m = nemotron(std::move(name), std::move(pattern), hidden, ffn);
  m.max_positions = 8192;
  return m;
}

/// 64 heads of attention, 256 of the mixer, with 256 states.
Model large_nemotron_h(std::string name, std::string pattern, std::int64_t ffn) {
  Model m = nemotron_h(std::move(name), std::move(pattern), 8192, ffn);
  m.heads = 64, m.state_heads = 256, m.state_size = 256;
  return m;
}

Model nemotron_nano_2(std::string name, std::string pattern, std::int64_t hidden,
                      std::int64_t ffn) {
  Model m = nemotron(std::move(name), std::move(pattern), hidden, ffn);
  m.heads = 40, m.state_head_dim = 80;
  return m;
}

Model nemotron_3_nano() {
  Model m = nemotron("nemotron-3-nano-30b", "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
                     2688, 1856);
  m.kv_heads = 2, m.state_heads = 64;
  m.experts = 128, m.experts_per_token = 6, m.expert_ffn_hidden = 1856;
  m.shared_ffn_hidden = 3712;
  return m;
}

}  // namespace

void append_hybrids(std::vector<Preset>& table) {
  Model nemotron_h_8b = nemotron_h(
      "nemotron-h-8b", "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", 4096, 21504);
  Model nemotron_h_47b = large_nemotron_h("nemotron-h-47b",
                                          "M-M-M-M-M-M-M-M-M*-M-M-M-M-M-M-M-M-M-M*-M-M-M-M-M*-"
                                          "M-M-M-M-M*-M-M-M-M-M-M-M---MM---M-M*-M-M-M-M-M-",
                                          30720);
  Model nemotron_h_56b =
      large_nemotron_h("nemotron-h-56b",
                       "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-"
                       "M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
                       32768);
  Model nano_9b =
      nemotron_nano_2("nemotron-nano-9b-v2",
                      "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-", 4480, 15680);
  Model nano_12b = nemotron_nano_2("nemotron-nano-12b-v2",
                                   "M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-"
                                   "M-M-M-M*-M-M-M-M*-M-M-M-M-",
                                   5120, 20480);
  constexpr std::int64_t whole = 500 * kMillions, tenth = 50 * kMillions, hundredth = 5 * kMillions;
  table.push_back({mamba2("mamba2-1.3b", 48, 2048), 1'300 * kMillions, tenth, kMamba2});
  table.push_back({mamba2("mamba2-2.7b", 64, 2560), 2'700 * kMillions, tenth, kMamba2});
  table.push_back({std::move(nemotron_h_8b), 8'100 * kMillions, tenth, kNemotronH});
  table.push_back({std::move(nemotron_h_47b), 47'000 * kMillions, whole, kNemotronHLarge});
  table.push_back({std::move(nemotron_h_56b), 56'000 * kMillions, whole, kNemotronHLarge});
  table.push_back({std::move(nano_9b), 8'890 * kMillions, hundredth, kNemotronNano2});
  table.push_back({std::move(nano_12b), 12'000 * kMillions, whole, kNemotronNano2Base});
  table.push_back({nemotron_3_nano(), 31'600 * kMillions, tenth, kNemotron3});
}

}  // namespace plait
