#include "model/preset_mixtures.h"

#include <utility>

#include "model/preset_dense.h"

namespace plait {
namespace {

constexpr std::string_view kGptOss =
    "OpenAI 2025 (arXiv 2508.10925), section 2, and its config.json; without the biases of router "
    "and experts and what heads add to the softmax's denominator";
constexpr std::string_view kMixtral =
    "Jiang et al. 2024 (arXiv 2401.04088), Table 1, and its config.json";
constexpr std::string_view kMixtral22 = "config.json of mistralai/Mixtral-8x22B-v0.1";
constexpr std::string_view kQwen3Mixture =
    "Yang et al. 2025 (arXiv 2505.09388), Table 2, and its config.json";
constexpr std::string_view kQwen3Coder = "config.json of Qwen/Qwen3-Coder-480B-A35B-Instruct";
constexpr std::string_view kDeepseekV2 =
    "DeepSeek-AI 2024 (arXiv 2405.04434), section 3.1.2 and appendix B, and its config.json";
constexpr std::string_view kDeepseekV3 =
    "DeepSeek-AI 2024 (arXiv 2412.19437), section 4.2, and its config.json; without the module "
    "that predicts a second token (model.mtp_layers = 1) and the experts' balancing biases";
constexpr std::string_view kDeepseekR1 =
    "config.json of deepseek-ai/DeepSeek-R1, which has DeepSeek-V3's shape; likewise without the "
    "module that predicts a second token and the balancing biases";
constexpr std::string_view kKimi =
    "Kimi Team 2025 (arXiv 2507.20534), Table 2, and config.json of moonshotai/Kimi-K2-Base; "
    "without the experts' balancing biases";
constexpr std::string_view kGlm =
    "GLM-4.5 Team 2025 (arXiv 2508.06471), Table 1, and config.json of zai-org; without the module "
    "that predicts a second token (model.mtp_layers = 1) and the experts' balancing biases";

constexpr std::string_view kOlmoe =
    "Muennighoff et al. 2024 (arXiv 2409.02060), Table 1, and config.json of "
    "allenai/OLMoE-1B-7B-0924";
constexpr std::string_view kLlama4 =
    "config.json and model.safetensors.index.json of meta-llama/Llama-4-Scout-17B-16E and "
    "Llama-4-Maverick-17B-128E, the text's part; chunks as windows, and layers that see all tokens "
    "rotated too";
constexpr std::string_view kMinimax =
    "config.json of MiniMaxAI/MiniMax-M2; without modules that predict further tokens, which its "
    "weights lack, and the experts' balancing biases";

Model with_experts(Model m, std::int64_t experts, std::int64_t per_token, std::int64_t width) {
  m.experts = experts;
  m.experts_per_token = per_token;
  m.expert_ffn_hidden = width;
  return m;
}
Model with_shared_experts(Model m, std::int64_t shared) {
  m.shared_ffn_hidden = shared * m.expert_ffn_hidden;
  return m;
}

Model qwen_3_moe(std::string name, const LlamaShape& shape, std::int64_t experts,
                 std::int64_t width) {
  return with_experts(qwen_3(std::move(name), shape), experts, 8, width);
}

/// Experts in every layer, biases of attention, and windows of 128 tokens in every other layer.
Model gpt_oss(std::string name, std::int64_t layers, std::int64_t experts) {
  Model m = llama(std::move(name), {layers, 2880, 2880, 64, 8, 201088, 131072});
  m.head_dim = 64, m.qkv_bias = m.attention_output_bias = true;
  m.attention_window = 128, m.full_attention_every = 2;
  return with_experts(std::move(m), experts, 4, 2880);
}

struct DeepseekShape {
  std::int64_t layers, hidden, ffn_hidden, heads, vocab, max_positions, dense;
};

/// Multi-head latent attention with heads of 128 + 64 and 128, and experts behind the first layers
/// beside some that every token sees.
Model deepseek(std::string name, const DeepseekShape& s, std::int64_t q_lora_rank) {
  Model m = llama(std::move(name),
                  {s.layers, s.hidden, s.ffn_hidden, s.heads, s.heads, s.vocab, s.max_positions});
  m.head_dim = 128 + 64, m.rope_head_dim = 64, m.v_head_dim = 128;
  m.kv_lora_rank = 512, m.q_lora_rank = q_lora_rank;
  m.first_dense_layers = s.dense;
  return m;
}
Model deepseek_v3(std::string name) {
  return with_shared_experts(
      with_experts(deepseek(std::move(name), {61, 7168, 18432, 128, 129280, 163840, 3}, 1536), 256,
                   8, 2048),
      1);
}

/// Heads of 128 that are rotated by half, queries, keys and values with biases, an expert for all
/// tokens.
Model glm_4_5(std::string name, const LlamaShape& shape, std::int64_t dense, std::int64_t experts,
              std::int64_t width) {
  Model m = llama(std::move(name), shape);
  m.head_dim = 128, m.rope_head_dim = 64, m.qkv_bias = true;
  m.first_dense_layers = dense;
  return with_shared_experts(with_experts(std::move(m), experts, 8, width), 1);
}

/// Norms of the queries and keys of all heads, and experts in every layer.
Model with_norms_across_heads(Model m, std::int64_t experts) {
  m.qk_norm = m.qk_norm_across_heads = true;
  const std::int64_t width = m.ffn_hidden;
  return with_experts(std::move(m), experts, 8, width);
}
/// Heads of 128 that are rotated by half.
Model minimax_m2() {
  Model m = llama("minimax-m2", {62, 3072, 1536, 48, 8, 200064, 196608});
  m.head_dim = 128, m.rope_head_dim = 64;
  return with_norms_across_heads(std::move(m), 256);
}

/// An expert for each token beside the one for all, in each n-th layer, and attention within 8,192
/// tokens in three of four.
Model llama_4(std::string name, std::int64_t experts, std::int64_t every) {
  Model m = llama(std::move(name), {48, 5120, 16384, 40, 8, 202048, 262144});
  m.attention_window = 8192, m.full_attention_every = 4;
  m.moe_every = every, m.first_dense_layers = every - 1;
  return with_shared_experts(with_experts(std::move(m), experts, 1, 8192), 1);
}

/// A bias of each expert in each layer that has them.
std::int64_t balancing(const Model& m) { return (m.layers - m.first_dense_layers) * m.experts; }

/// Counts are the sums of the tensors of the published checkpoints, less what sources name.
class MixtureTable {
 public:
  explicit MixtureTable(std::vector<Preset>& table) : table_(table) {}
  void add(Model model, std::int64_t parameters, std::string_view source,
           std::int64_t rounding = 0) {
    table_.push_back({std::move(model), parameters, rounding, source});
  }
  void add_balanced(const Model& model, std::int64_t parameters, std::string_view source) {
    add(model, parameters, source, balancing(model));
  }

  void mixtrals_and_qwens() {
    add(with_experts(llama("mixtral-8x7b", {32, 4096, 14336, 32, 8, 32000, 32768}), 8, 2, 14336),
        46'702'792'704, kMixtral);
    add(with_experts(llama("mixtral-8x22b", {56, 6144, 16384, 48, 8, 32000, 65536}), 8, 2, 16384),
        140'620'634'112, kMixtral22);
    add(qwen_3_moe("qwen3-30b-a3b", {48, 2048, 6144, 32, 4, 151936, 40960}, 128, 768),
        30'532'122'624, kQwen3Mixture);
    add(qwen_3_moe("qwen3-235b-a22b", {94, 4096, 12288, 64, 4, 151936, 40960}, 128, 1536),
        235'093'634'560, kQwen3Mixture);
    add(qwen_3_moe("qwen3-coder-480b-a35b", {62, 6144, 8192, 96, 8, 151936, 262144}, 160, 2560),
        480'154'875'392, kQwen3Coder);
  }
  void norms_across_heads() {
    add(with_norms_across_heads(llama("olmoe-1b-7b", {16, 2048, 1024, 16, 16, 50304, 4096}), 64),
        6'919'161'856, kOlmoe);
    add_balanced(minimax_m2(), 228'689'764'864, kMinimax);
  }
  /// Of each layer these have, beside what is planned, biases of E (2 ffn + h + 1) and a number of
  /// each head.
  void gpt_osses() {
    const auto left_out = [](const Model& m) {
      return m.layers * (m.experts * (2 * m.expert_ffn_hidden + m.hidden + 1) + m.heads);
    };
    const Model small = gpt_oss("gpt-oss-20b", 24, 32), large = gpt_oss("gpt-oss-120b", 36, 128);
    add(small, 20'914'757'184, kGptOss, left_out(small));
    add(large, 116'829'156'672, kGptOss, left_out(large));
  }
  /// Norms of queries and keys have no gamma in Scout, and do not stand in Maverick.
  void llama_4s() {
    Model scout = llama_4("llama-4-scout", 16, 1);
    scout.qk_norm = true;
    add(scout, 107'769'861'120, kLlama4, scout.layers * 2 * scout.head_dim);
    add(llama_4("llama-4-maverick", 128, 2), 400'711'848'960, kLlama4);
  }
  void deepseeks() {
    const DeepseekShape lite = {27, 2048, 10944, 16, 102400, 163840, 1},
                        v2 = {60, 5120, 12288, 128, 102400, 163840, 1},
                        kimi = {61, 7168, 18432, 64, 163840, 131072, 1};
    const auto model = [](std::string name, const DeepseekShape& shape, std::int64_t q_lora_rank,
                          std::int64_t experts, std::int64_t per_token, std::int64_t width) {
      return with_experts(deepseek(std::move(name), shape, q_lora_rank), experts, per_token, width);
    };
    add(with_shared_experts(model("deepseek-v2-lite", lite, 0, 64, 6, 1408), 2), 15'706'484'224,
        kDeepseekV2);
    add(with_shared_experts(model("deepseek-v2", v2, 1536, 160, 6, 1536), 2), 235'741'434'880,
        kDeepseekV2);
    add_balanced(deepseek_v3("deepseek-v3"), 671'026'419'200, kDeepseekV3);
    add_balanced(deepseek_v3("deepseek-r1"), 671'026'419'200, kDeepseekR1);
    add_balanced(with_shared_experts(model("kimi-k2", kimi, 1536, 384, 8, 2048), 1),
                 1'026'408'232'448, kKimi);
  }
  void glms() {
    Model large = glm_4_5("glm-4.5", {92, 5120, 12288, 96, 8, 151552, 131072}, 3, 160, 1536);
    large.qk_norm = true;
    add_balanced(large, 352'797'829'024, kGlm);
    add_balanced(glm_4_5("glm-4.5-air", {46, 4096, 10944, 96, 8, 151552, 131072}, 1, 128, 1408),
                 106'852'251'264, kGlm);
  }

 private:
  std::vector<Preset>& table_;
};

}  // namespace

void append_mixtures(std::vector<Preset>& table) {
  MixtureTable mixtures(table);
  mixtures.mixtrals_and_qwens();
  mixtures.llama_4s();
  mixtures.norms_across_heads();
  mixtures.gpt_osses();
  mixtures.deepseeks();
  mixtures.glms();
}

}  // namespace plait
