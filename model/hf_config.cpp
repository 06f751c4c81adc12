#include "model/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/json.h"
#include "core/spelling.h"
#include "model/hf_families.h"
#include "model/hf_reader.h"

namespace plait {
namespace {

struct NamedDType {
  std::string_view name;
  DType dtype;
};
constexpr std::array kDTypes = {
    NamedDType{"bfloat16", DType::kBf16},
    NamedDType{"float16", DType::kFp16},
    NamedDType{"float32", DType::kFp32},
    NamedDType{"float8_e4m3fn", DType::kFp8},
};

/// Keys of all families that change neither shapes nor work: who wrote the file, token ids, how
/// weights are drawn, numbers inside of kernels, the generation of text.
constexpr std::array<std::string_view, 24> kWithoutWork = {
    "architectures",        "auto_map",
    "transformers_version", "bos_token_id",
    "eos_token_id",         "pad_token_id",
    "initializer_range",    "rms_norm_eps",
    "layer_norm_eps",       "layer_norm_epsilon",
    "rope_theta",           "rope_scaling",
    "rope_parameters",      "use_cache",
    "pretraining_tp",       "output_router_logits",
    "router_aux_loss_coef", "image_token_id",
    "image_token_index",    "video_token_id",
    "vision_token_id",      "vision_start_token_id",
    "vision_end_token_id",  "mrope_interleaved"};

/// A window that attention does not use.
void skip_unused_window(HfReader& config) {
  const Json* used = config.peek("use_sliding_window");
  if (used == nullptr || !used->is(Json::Kind::kBool) || used->boolean()) return;
  for (const char* name : {"use_sliding_window", "sliding_window", "max_window_layers"})
    config.take({name});
}

/// `torch_dtype` until transformers 4.56, `dtype` since; "auto" leaves it open.
std::optional<DType> read_dtype(HfReader& config) {
  const Json* value = config.take({"dtype", "torch_dtype"});
  if (value == nullptr || value->is(Json::Kind::kNull)) return std::nullopt;
  const std::string word = value->is(Json::Kind::kText) ? value->text() : value->describe();
  if (word == "auto") return std::nullopt;
  return look_up(kDTypes, word, value->key(), value->where()).dtype;
}

std::string text_in(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->is(Json::Kind::kText) ? value->text() : "";
}

std::int64_t bits_in(const Json& object) {
  const auto loads = [&](std::string_view key) {  // bitsandbytes
    const Json* value = object.find(key);
    return value != nullptr && value->is(Json::Kind::kBool) && value->boolean();
  };
  if (loads("load_in_4bit") || loads("load_in_8bit")) return loads("load_in_4bit") ? 4 : 8;
  const Json* bits = object.find("bits");  // AWQ, GPTQ
  if (bits == nullptr)                     // compressed-tensors
    bits = object.find_path("config_groups.group_0.weights.num_bits");
  return bits != nullptr && bits->is(Json::Kind::kInteger) ? bits->integer() : 0;
}

/// As vLLM has it: of compressed-tensors (vllm/attention/layer.py, kv_cache_scheme) and ModelOpt
/// (vllm/utils/torch_utils.py, get_kv_cache_quant_algo_string).
bool has_fp8_cache(const Json& object) {
  const std::string method = text_in(object, "quant_method");
  const bool of_modelopt = method.starts_with("modelopt");
  if (!of_modelopt && method != "compressed-tensors") return false;
  const Json* scheme = object.find("kv_cache_scheme");
  if (scheme != nullptr && scheme->is(Json::Kind::kObject)) {
    const Json* bits = scheme->find("num_bits");
    return bits != nullptr && bits->is(Json::Kind::kInteger) && bits->integer() == 8 &&
           text_in(*scheme, "type") == "float";
  }
  return of_modelopt && lower_case(text_in(object, "kv_cache_quant_algo")) == "fp8";
}

/// DeepSeek's weight_block_size, [128, 128]; of compressed-tensors the strategy "block".
bool has_blocks(const Json& object) {
  const Json* size = object.find("weight_block_size");
  if (size != nullptr) return !size->is(Json::Kind::kNull);
  const Json* weights = object.find_path("config_groups.group_0.weights");
  return weights != nullptr && weights->is(Json::Kind::kObject) &&
         text_in(*weights, "strategy") == "block";
}

std::optional<HfQuantization> quantization_of(HfReader& config) {
  const Json* object = config.take({"quantization_config"});
  if (object == nullptr || !object->is(Json::Kind::kObject)) return std::nullopt;
  const std::string algorithm = text_in(*object, "quant_algo");
  return HfQuantization{text_in(*object, "quant_method"), bits_in(*object),
                        algorithm.empty() ? text_in(*object, "format") : algorithm,
                        has_fp8_cache(*object), has_blocks(*object)};
}

/// Keys that announce another network than the family's. Expert counts have three names (Mixtral,
/// Qwen, DeepSeek).
void refuse_other_networks(HfReader& config, const HfFamily& family) {
  const auto refuse_if_set = [&config](std::string_view name, const std::string& what) {
    const Json* key = config.peek(name);
    if (key == nullptr || key->is(Json::Kind::kNull)) return;
    if (key->is(Json::Kind::kInteger) && key->integer() == 0) return;
    refuse_config(*key, what);
  };
  for (const char* name : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (!family.has_experts) refuse_if_set(name, "a mixture of experts in this family is");
  for (const char* name : {"kv_lora_rank", "q_lora_rank"})
    if (!family.has_latents) refuse_if_set(name, "multi-head latent attention is");
}

/// Networks that no field of a model describes, and what they have.
struct Unplanned {
  std::string_view name, what;
};
constexpr std::string_view kSeesImages = "attention of some layers to images is";
constexpr std::string_view kNestedGemma =
    "a residual stream of several parts with embeddings in each layer is";
constexpr std::string_view kLightning = "lightning attention, whose states decay by head, is";
constexpr std::array kUnplanned = {
    Unplanned{"kimi_linear", "Kimi delta attention, whose states decay column by column, is"},
    Unplanned{"deepseek_v32", "attention to tokens that an indexer chooses is"},
    Unplanned{"mllama", kSeesImages},
    Unplanned{"mllama_text_model", kSeesImages},
    Unplanned{"gemma3n", kNestedGemma},
    Unplanned{"gemma3n_text", kNestedGemma},
    Unplanned{"jamba", "the state-space mixer of the first Mamba is"},
    Unplanned{"arctic", "a mixture of experts beside an MLP with a residual sum of its own is"},
    Unplanned{"minimax", kLightning},
    Unplanned{"minimax_text_01", kLightning},
    Unplanned{"minimax_m1", kLightning},
    Unplanned{"olmo", "LayerNorm without weights is"},
    Unplanned{"nemotron-nas", "layers that differ in width from each other are"},
    Unplanned{"phi3small", "attention to blocks of tokens is"},
    Unplanned{"falcon_h1", "attention and a state-space mixer side by side are"},
};

void refuse_unplanned(const Json& type) {
  const auto* found = std::ranges::find(kUnplanned, type.text(), &Unplanned::name);
  if (found != kUnplanned.end()) refuse_config(type, std::string(found->what));
}

const HfFamily& find_family(HfReader& config) {
  const Json* type = config.take({"model_type"});
  std::vector<std::string> names;
  for (const HfFamily& family : hf_families()) names.emplace_back(family.name);
  const std::string expected = fmt::format("one of {}", fmt::join(names, ", "));
  if (type == nullptr || !type->is(Json::Kind::kText))
    throw InputError({.code = "M002",
                      .problem = "the model configuration states no model_type",
                      .where = type == nullptr ? config.where() : type->where(),
                      .expected = expected});
  for (const HfFamily& family : hf_families())
    if (family.name == type->text()) return family;
  refuse_unplanned(*type);
  const std::string meant = did_you_mean(type->text(), names);
  const char* other = "write the model out (docs/scenario.md, model), or the nearest of these";
  throw InputError({.code = "M003",
                    .problem = fmt::format("model_type \"{}\" is unknown", type->text()),
                    .where = type->where(),
                    .expected = expected,
                    .cure = meant.empty() ? other : meant});
}

}  // namespace

ImportedModel import_hf_config(const std::string& text, const std::string& file) {
  const JsonDocument document = parse_json(text, file);
  HfReader config(document.root());
  const HfFamily& family = find_family(config);
  refuse_other_networks(config, family);
  ImportedModel imported;
  imported.model = family.read(config);
  const Json* name = config.take({"_name_or_path"});
  const bool named = name != nullptr && name->is(Json::Kind::kText) && !name->text().empty();
  imported.model.name = named ? name->text() : std::string(family.name);
  imported.dtype = read_dtype(config);
  imported.quantization = quantization_of(config);
  const Model& m = imported.model;
  if (m.heads % m.kv_heads != 0)
    throw InputError(
        {.code = "M006",
         .problem = fmt::format("{} heads cannot share {} key-value heads", m.heads, m.kv_heads),
         .where = config.where(),
         .expected = "a number of key-value heads that divides the heads"});
  for (const std::string_view key : kWithoutWork) config.take({key});
  skip_unused_window(config);
  imported.ignored_keys = config.unused();
  imported.assumed_defaults = config.assumed();
  return imported;
}

}  // namespace plait
