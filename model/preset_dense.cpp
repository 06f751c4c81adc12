#include "model/preset_dense.h"

#include <utility>

namespace plait {
namespace {

constexpr std::string_view kLlama1 = "Touvron et al. 2023 (arXiv 2302.13971), Table 2";
constexpr std::string_view kLlama2 = "Touvron et al. 2023 (arXiv 2307.09288) and its config.json";
constexpr std::string_view kLlama3 = "config.json of meta-llama/Meta-Llama-3-8B and -70B";
constexpr std::string_view kLlama31 =
    "Grattafiori et al. 2024 (arXiv 2407.21783), Table 3, and its config.json";
constexpr std::string_view kLlama32 = "config.json of meta-llama/Llama-3.2-1B and -3B";
constexpr std::string_view kLlama33 = "config.json of meta-llama/Llama-3.3-70B-Instruct";
constexpr std::string_view kCodeLlama = "config.json of codellama/CodeLlama-34b-hf";
constexpr std::string_view kTinyLlama =
    "Zhang et al. 2024 (arXiv 2401.02385), Table 2, and its config.json";
constexpr std::string_view kMistral =
    "Jiang et al. 2023 (arXiv 2310.06825), Table 1, without its window, as since v0.2";
constexpr std::string_view kMistral1 = "Jiang et al. 2023 (arXiv 2310.06825), Table 1";
constexpr std::string_view kMistral3 = "config.json of mistralai/Mistral-7B-v0.3";
constexpr std::string_view kNemo = "config.json of mistralai/Mistral-Nemo-Base-2407";
constexpr std::string_view kMistralSmall = "config.json of mistralai/Mistral-Small-24B-Base-2501";
constexpr std::string_view kMistralLarge = "config.json of mistralai/Mistral-Large-Instruct-2407";
constexpr std::string_view kQwen25 =
    "Qwen Team 2024 (arXiv 2412.15115), Table 1, and its config.json";
constexpr std::string_view kQwen3Dense =
    "Yang et al. 2025 (arXiv 2505.09388), Table 1, and its config.json";
constexpr std::string_view kYi =
    "Young et al. 2024 (arXiv 2403.04652), Table 1, and its config.json";
constexpr std::string_view kPhi4 = "config.json of microsoft/phi-4";
constexpr std::string_view kGemma =
    "Gemma Team 2024 (arXiv 2403.08295), Table 1, and its config.json";
constexpr std::string_view kGemma2 =
    "Gemma Team 2024 (arXiv 2408.00118), Table 1, and its config.json; without the caps of scores "
    "and logits";
constexpr std::string_view kGemma3 =
    "Gemma Team 2025 (arXiv 2503.19786), Table 1, and its config.json, the text's part";
constexpr std::string_view kFalcon =
    "Almazrouei et al. 2023 (arXiv 2311.16867) and config.json of tiiuae/falcon-40b";
constexpr std::string_view kFalcon7 =
    "Almazrouei et al. 2023 (arXiv 2311.16867) and config.json of tiiuae/falcon-7b";
constexpr std::string_view kGptJ = "config.json of EleutherAI/gpt-j-6b";
constexpr std::string_view kPhi2 = "config.json of microsoft/phi-2";
constexpr std::string_view kPythia =
    "Biderman et al. 2023 (arXiv 2304.01373), Table 1, and its config.json";
constexpr std::string_view kNeox =
    "Black et al. 2022 (arXiv 2204.06745), section 2, and config.json of EleutherAI/gpt-neox-20b";
constexpr std::string_view kOlmo2 =
    "Team OLMo 2024 (arXiv 2501.00656), Table 1, and config.json of allenai/OLMo-2";
constexpr std::string_view kOlmo3 = "config.json of allenai/Olmo-3-1025-7B and -1125-32B";
constexpr std::string_view kOpt =
    "Zhang et al. 2022 (arXiv 2205.01068), Table 1, and config.json of facebook/opt";
constexpr std::string_view kBloom =
    "BigScience 2022 (arXiv 2211.05100), Table 3, and config.json of bigscience/bloom; its linear "
    "biases of attention as no positions";

Model tied(Model m) {
  m.tied_embeddings = true;
  return m;
}
Model with_heads_of(Model m, std::int64_t head_dim) {
  m.head_dim = head_dim;
  return m;
}
Model with_window(Model m, std::int64_t window) {
  m.attention_window = window;
  return m;
}
Model qwen_2_5(std::string name, const LlamaShape& shape) {
  Model m = llama(std::move(name), shape);
  m.qkv_bias = true;
  return m;
}

/// GeGLU, heads of 256.
Model gemma(std::string name, const LlamaShape& shape) {
  Model m = with_heads_of(tied(llama(std::move(name), shape)), 256);
  m.activation = ActivationKind::kGelu;
  return m;
}

/// Norms of what branches add too, and windows in all layers but each n-th.
Model gemma_2(std::string name, const LlamaShape& shape, std::int64_t window, std::int64_t every) {
  Model m = with_window(gemma(std::move(name), shape), window);
  m.norm_position = NormPosition::kBoth;
  m.full_attention_every = every;
  return m;
}
Model gemma_3(std::string name, const LlamaShape& shape, std::int64_t window) {
  Model m = gemma_2(std::move(name), shape, window, 6);
  m.qk_norm = true;
  return m;
}

/// LayerNorm and an MLP of 4h without a gate.
Model with_plain_layers(Model m) {
  m.norm = NormKind::kLayerNorm;
  m.activation = ActivationKind::kGelu;
  m.gated_mlp = false;
  return m;
}
Model with_biases(Model m) {
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  return m;
}

/// Parallel attention and MLP, each behind its own LayerNorm; no bias outside the norms.
Model falcon_40b() {
  Model m = tied(with_plain_layers(llama("falcon-40b", {60, 8192, 32768, 128, 8, 65024, 2048})));
  m.parallel_attention = true;
  return m;
}
/// The same with one head of keys and values, and one norm for both.
Model falcon_7b() {
  Model m = tied(with_plain_layers(llama("falcon-7b", {32, 4544, 18176, 71, 1, 65024, 2048})));
  m.parallel_attention = m.shared_norm = true;
  return m;
}
/// Parallel attention and MLP with biases, behind a LayerNorm each; a quarter of a head is rotated.
Model gpt_neox(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
               std::int64_t vocab) {
  Model m = with_biases(with_plain_layers(
      llama(std::move(name), {layers, hidden, 4 * hidden, heads, heads, vocab, 2048})));
  m.parallel_attention = true;
  m.rope_head_dim = m.head_dim / 4;
  return m;
}
/// Attention without biases beside an MLP with, behind one LayerNorm, and a bias of the output
/// matrix.
Model gpt_j_6b() {
  Model m = with_plain_layers(llama("gpt-j-6b", {28, 4096, 16384, 16, 16, 50400, 2048}));
  m.rope_head_dim = 64;
  m.mlp_bias = m.output_bias = m.parallel_attention = m.shared_norm = true;
  return m;
}
/// The same with all biases.
Model phi_2() {
  Model m = with_biases(with_plain_layers(llama("phi-2", {32, 2560, 10240, 32, 32, 51200, 2048})));
  m.rope_head_dim = 32, m.dropout = 0.1, m.attention_dropout = 0;
  m.output_bias = m.parallel_attention = m.shared_norm = true;
  return m;
}
/// Norms of what branches add, and of the queries and keys of all heads.
Model olmo_2(std::string name, const LlamaShape& shape) {
  Model m = llama(std::move(name), shape);
  m.norm_position = NormPosition::kBranch;
  m.qk_norm = m.qk_norm_across_heads = true;
  return m;
}
/// With windows of 4,096 tokens in three of four layers.
Model olmo_3(std::string name, const LlamaShape& shape) {
  Model m = with_window(olmo_2(std::move(name), shape), 4096);
  m.full_attention_every = 4;
  return m;
}
/// GPT's layers with ReLU; two rows of positions before the first.
Model opt(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  Model m = tied(with_biases(with_plain_layers(
      llama(std::move(name), {layers, hidden, 4 * hidden, heads, heads, 50272, 2050}))));
  m.activation = ActivationKind::kRelu;
  m.positions = PositionKind::kLearned;
  m.dropout = 0.1;
  return m;
}
/// GPT's layers behind a norm of the embedding.
Model bloom_176b() {
  Model m = tied(with_biases(
      with_plain_layers(llama("bloom-176b", {70, 14336, 57344, 112, 112, 250880, 2048}))));
  m.positions = PositionKind::kNone;
  m.embedding_norm = true;
  return m;
}

/// Counts are the sums of the tensors of the published checkpoints.
class DenseTable {
 public:
  explicit DenseTable(std::vector<Preset>& table) : table_(table) {}
  void add(Model model, std::int64_t parameters, std::string_view source) {
    table_.push_back({std::move(model), parameters, 0, source});
  }

  void llamas() {
    add(llama("llama-7b", {32, 4096, 11008, 32, 32, 32000, 2048}), 6'738'415'616, kLlama1);
    add(llama("llama-13b", {40, 5120, 13824, 40, 40, 32000, 2048}), 13'015'864'320, kLlama1);
    add(llama("llama-33b", {60, 6656, 17920, 52, 52, 32000, 2048}), 32'528'943'616, kLlama1);
    add(llama("llama-65b", {80, 8192, 22016, 64, 64, 32000, 2048}), 65'285'660'672, kLlama1);
    add(llama("llama-2-7b", {32, 4096, 11008, 32, 32, 32000, 4096}), 6'738'415'616, kLlama2);
    add(llama("llama-2-13b", {40, 5120, 13824, 40, 40, 32000, 4096}), 13'015'864'320, kLlama2);
    add(llama("llama-2-70b", {80, 8192, 28672, 64, 8, 32000, 4096}), 68'976'648'192, kLlama2);
    add(llama("llama-3-8b", {32, 4096, 14336, 32, 8, 128256, 8192}), 8'030'261'248, kLlama3);
    add(llama("llama-3-70b", {80, 8192, 28672, 64, 8, 128256, 8192}), 70'553'706'496, kLlama3);
    add(llama("llama-3.1-8b", {32, 4096, 14336, 32, 8, 128256, 131072}), 8'030'261'248, kLlama31);
    add(llama("llama-3.1-70b", {80, 8192, 28672, 64, 8, 128256, 131072}), 70'553'706'496, kLlama31);
    add(llama("llama-3.1-405b", {126, 16384, 53248, 128, 8, 128256, 131072}), 405'853'388'800,
        kLlama31);
    add(tied(llama("llama-3.2-1b", {16, 2048, 8192, 32, 8, 128256, 131072})), 1'235'814'400,
        kLlama32);
    add(tied(llama("llama-3.2-3b", {28, 3072, 8192, 24, 8, 128256, 131072})), 3'212'749'824,
        kLlama32);
    add(llama("llama-3.3-70b", {80, 8192, 28672, 64, 8, 128256, 131072}), 70'553'706'496, kLlama33);
    add(llama("codellama-34b", {48, 8192, 22016, 64, 8, 32000, 16384}), 33'743'970'304, kCodeLlama);
    add(llama("tinyllama-1.1b", {22, 2048, 5632, 32, 4, 32000, 2048}), 1'100'048'384, kTinyLlama);
  }
  void mistrals() {
    add(llama("mistral-7b", {32, 4096, 14336, 32, 8, 32000, 32768}), 7'241'732'096, kMistral);
    add(with_window(llama("mistral-7b-v0.1", {32, 4096, 14336, 32, 8, 32000, 32768}), 4096),
        7'241'732'096, kMistral1);
    add(llama("mistral-7b-v0.3", {32, 4096, 14336, 32, 8, 32768, 32768}), 7'248'023'552, kMistral3);
    add(with_heads_of(llama("mistral-nemo-12b", {40, 5120, 14336, 32, 8, 131072, 131072}), 128),
        12'247'782'400, kNemo);
    add(with_heads_of(llama("mistral-small-24b", {40, 5120, 32768, 32, 8, 131072, 32768}), 128),
        23'572'403'200, kMistralSmall);
    add(llama("mistral-large-123b", {88, 12288, 28672, 96, 8, 32768, 131072}), 122'610'069'504,
        kMistralLarge);
  }
  void qwens() {
    add(tied(qwen_2_5("qwen-2.5-0.5b", {24, 896, 4864, 14, 2, 151936, 32768})), 494'032'768,
        kQwen25);
    add(tied(qwen_2_5("qwen-2.5-1.5b", {28, 1536, 8960, 12, 2, 151936, 131072})), 1'543'714'304,
        kQwen25);
    add(tied(qwen_2_5("qwen-2.5-3b", {36, 2048, 11008, 16, 2, 151936, 32768})), 3'085'938'688,
        kQwen25);
    add(qwen_2_5("qwen-2.5-7b", {28, 3584, 18944, 28, 4, 152064, 131072}), 7'615'616'512, kQwen25);
    add(qwen_2_5("qwen-2.5-14b", {48, 5120, 13824, 40, 8, 152064, 131072}), 14'770'033'664,
        kQwen25);
    add(qwen_2_5("qwen-2.5-32b", {64, 5120, 27648, 40, 8, 152064, 131072}), 32'763'876'352,
        kQwen25);
    add(qwen_2_5("qwen-2.5-72b", {80, 8192, 29568, 64, 8, 152064, 131072}), 72'706'203'648,
        kQwen25);
    add(tied(qwen_3("qwen3-0.6b", {28, 1024, 3072, 16, 8, 151936, 40960})), 596'049'920,
        kQwen3Dense);
    add(tied(qwen_3("qwen3-1.7b", {28, 2048, 6144, 16, 8, 151936, 40960})), 1'720'574'976,
        kQwen3Dense);
    add(tied(qwen_3("qwen3-4b", {36, 2560, 9728, 32, 8, 151936, 40960})), 4'022'468'096,
        kQwen3Dense);
    add(qwen_3("qwen3-8b", {36, 4096, 12288, 32, 8, 151936, 40960}), 8'190'735'360, kQwen3Dense);
    add(qwen_3("qwen3-14b", {40, 5120, 17408, 40, 8, 151936, 40960}), 14'768'307'200, kQwen3Dense);
    add(qwen_3("qwen3-32b", {64, 5120, 25600, 64, 8, 151936, 40960}), 32'762'123'264, kQwen3Dense);
  }
  void olmos() {
    add(olmo_2("olmo-2-7b", {32, 4096, 11008, 32, 32, 100352, 4096}), 7'298'617'344, kOlmo2);
    add(olmo_2("olmo-2-13b", {40, 5120, 13824, 40, 40, 100352, 4096}), 13'716'198'400, kOlmo2);
    add(olmo_2("olmo-2-32b", {64, 5120, 27648, 40, 8, 100352, 4096}), 32'234'279'936, kOlmo2);
    add(olmo_3("olmo-3-7b", {32, 4096, 11008, 32, 32, 100278, 65536}), 7'298'011'136, kOlmo3);
    add(olmo_3("olmo-3-32b", {64, 5120, 27648, 40, 8, 100278, 65536}), 32'233'522'176, kOlmo3);
  }
  void others() {
    add(llama("yi-34b", {60, 7168, 20480, 56, 8, 64000, 4096}), 34'388'917'248, kYi);
    add(llama("phi-4", {40, 5120, 17920, 40, 10, 100352, 16384}), 14'659'507'200, kPhi4);
    add(gemma("gemma-2b", {18, 2048, 16384, 8, 1, 256000, 8192}), 2'506'172'416, kGemma);
    add(gemma("gemma-7b", {28, 3072, 24576, 16, 16, 256000, 8192}), 8'537'680'896, kGemma);
    add(gemma_2("gemma-2-2b", {26, 2304, 9216, 8, 4, 256000, 8192}, 4096, 2), 2'614'341'888,
        kGemma2);
    add(gemma_2("gemma-2-9b", {42, 3584, 14336, 16, 8, 256000, 8192}, 4096, 2), 9'241'705'984,
        kGemma2);
    add(with_heads_of(gemma_2("gemma-2-27b", {46, 4608, 36864, 32, 16, 256000, 8192}, 4096, 2),
                      128),
        27'227'128'320, kGemma2);
    add(gemma_3("gemma-3-1b", {26, 1152, 6912, 4, 1, 262144, 32768}, 512), 999'885'952, kGemma3);
    add(gemma_3("gemma-3-4b", {34, 2560, 10240, 8, 4, 262208, 131072}, 1024), 3'880'263'168,
        kGemma3);
    add(gemma_3("gemma-3-12b", {48, 3840, 15360, 16, 8, 262208, 131072}, 1024), 11'766'034'176,
        kGemma3);
    add(with_heads_of(gemma_3("gemma-3-27b", {62, 5376, 21504, 32, 16, 262208, 131072}, 1024), 128),
        27'009'346'304, kGemma3);
    add(falcon_7b(), 6'921'720'704, kFalcon7);
    add(falcon_40b(), 41'303'293'952, kFalcon);
    add(gpt_j_6b(), 6'050'882'784, kGptJ);
    add(phi_2(), 2'779'683'840, kPhi2);
    add(gpt_neox("pythia-2.8b", 32, 2560, 32, 50304), 2'775'208'960, kPythia);
    add(gpt_neox("pythia-6.9b", 32, 4096, 32, 50432), 6'857'302'016, kPythia);
    add(gpt_neox("pythia-12b", 36, 5120, 40, 50688), 11'846'072'320, kPythia);
    add(gpt_neox("gpt-neox-20b", 44, 6144, 64, 50432), 20'554'567'680, kNeox);
    add(opt("opt-1.3b", 24, 2048, 32), 1'315'758'080, kOpt);
    add(opt("opt-6.7b", 32, 4096, 32), 6'658'473'984, kOpt);
    add(opt("opt-13b", 40, 5120, 40), 12'853'473'280, kOpt);
    add(opt("opt-30b", 48, 7168, 56), 29'974'540'288, kOpt);
    add(bloom_176b(), 176'247'271'424, kBloom);
  }

 private:
  std::vector<Preset>& table_;
};

}  // namespace

Model llama(std::string name, const LlamaShape& shape) {
  Model m;
  m.name = std::move(name);
  m.layers = shape.layers;
  m.hidden = shape.hidden;
  m.ffn_hidden = shape.ffn_hidden;
  m.heads = shape.heads;
  m.kv_heads = shape.kv_heads;
  m.head_dim = shape.hidden / shape.heads;
  m.vocab = shape.vocab;
  m.max_positions = shape.max_positions;
  return m;
}

Model qwen_3(std::string name, const LlamaShape& shape) {
  Model m = llama(std::move(name), shape);
  m.head_dim = 128, m.qk_norm = true;
  return m;
}

void append_dense(std::vector<Preset>& table) {
  DenseTable dense(table);
  dense.llamas();
  dense.mistrals();
  dense.qwens();
  dense.olmos();
  dense.others();
}

}  // namespace plait
