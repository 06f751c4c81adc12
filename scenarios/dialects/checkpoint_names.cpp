#include "scenarios/dialects/checkpoint_names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/error.h"
#include "core/spelling.h"

namespace plait {
namespace {

constexpr std::string_view kOfInt8 =
    "products of 8-bit integers, which are predicted in the type of activations";
constexpr std::string_view kOfBlocks = "blocks of 64, which are read as groups of 128";

// Router, output matrix and embedding stay as they were (the ignored modules of LLM Compressor's
// and ModelOpt's recipes).
constexpr std::array kFormats = {
    CheckpointFormat{"plain", "plain", "plain"},
    CheckpointFormat{"fp8", "plain", "plain", "fp8", "fp8"},
    CheckpointFormat{"int8", "int8", "int8"},
    CheckpointFormat{.name = "w8a8", .weights = "int8", .experts = "int8", .lost = kOfInt8},
    CheckpointFormat{"int4", "int4", "int4"},
    CheckpointFormat{.name = "nf4", .weights = "int4", .experts = "int4", .lost = kOfBlocks},
    CheckpointFormat{"nvfp4", "plain", "plain", "nvfp4", "nvfp4"},
    CheckpointFormat{"nvfp4 experts", "plain", "plain", "plain", "nvfp4"},
    CheckpointFormat{"nvfp4a16", "nvfp4", "nvfp4"},
    CheckpointFormat{"mxfp4", "mxfp4", "mxfp4"},
    CheckpointFormat{"mxfp4 experts", "plain", "mxfp4"},
};

struct FormatWord {
  std::string_view word, format;
};
// Of a name that has several the first of these counts: "GPTQ-Int8" is int8, and GPTQ alone has 4
// bits.
constexpr FormatWord kWords[] = {
    {"int8", "int8"},      {"8bit", "int8"},         {"w8a16", "int8"},  {"nvfp4a16", "nvfp4a16"},
    {"nvfp4", "nvfp4"},    {"fp4", "nvfp4"},         {"mxfp4", "mxfp4"}, {"fp8", "fp8"},
    {"w8a8", "w8a8"},      {"bnb", "nf4"},           {"nf4", "nf4"},     {"w4a16", "int4"},
    {"awq", "int4"},       {"gptq", "int4"},         {"int4", "int4"},   {"4bit", "int4"},
    {"autoround", "int4"}, {"bf16", "plain"},        {"fp16", "plain"},  {"f16", "plain"},
    {"f32", "plain"},      {"unquantized", "plain"},
};
/// Words that say how a format was made.
constexpr std::string_view kOfMaking[] = {"dynamic", "static", "block",     "blockwise",  "tensor",
                                          "kv",      "per",    "quantized", "g128",       "g32",
                                          "marlin",  "v2",     "calib",     "smoothquant"};

struct Published {
  std::string_view preset, format;
};
// DeepSeek-AI 2024 (arXiv 2412.19437), section 3.3, and quantization_config of config.json:
// quant_method fp8, blocks of 128 x 128; Kimi-K2's model card: "block-fp8"; OpenAI 2025 (arXiv
// 2508.10925), section 2.1: weights of experts in MXFP4.
constexpr Published kPublished[] = {{"deepseek-v3", "fp8"},
                                    {"deepseek-r1", "fp8"},
                                    {"kimi-k2", "fp8"},
                                    {"gpt-oss-20b", "mxfp4 experts"},
                                    {"gpt-oss-120b", "mxfp4 experts"}};

/// Whose NVFP4 leaves attention as it was: nvidia/DeepSeek-R1-0528-FP4 (its v2's card:
/// "additionally quantizes the wo module in attention layers") and nvidia/Kimi-K2-Thinking-NVFP4.
constexpr std::string_view kExpertsInFour[] = {"deepseek-v3", "deepseek-r1", "kimi-k2"};

/// Of quantization_config: transformers/utils/quantization_config.py, QuantizationMethod;
/// compressed-tensors' CompressionFormat; ModelOpt's quant_algo. GPT-OSS alone is in MXFP4 by
/// transformers, with attention left out (modules_to_not_convert).
struct Configured {
  std::string_view method, algorithm;  // "": any
  std::int64_t bits;                   // 0: any
  std::string_view format;
};
constexpr Configured kConfigured[] = {
    {"fp8", "", 0, "fp8"},
    {"fbgemm_fp8", "", 0, "fp8"},
    {"mxfp4", "", 0, "mxfp4 experts"},
    {"awq", "", 4, "int4"},
    {"gptq", "", 4, "int4"},
    {"gptq", "", 8, "int8"},
    {"auto-round", "", 4, "int4"},
    {"bitsandbytes", "", 4, "nf4"},
    {"bitsandbytes", "", 8, "int8"},
    {"modelopt", "FP8", 0, "fp8"},
    {"modelopt", "NVFP4", 0, "nvfp4"},
    {"compressed-tensors", "float-quantized", 8, "fp8"},
    {"compressed-tensors", "int-quantized", 8, "w8a8"},
    {"compressed-tensors", "pack-quantized", 8, "int8"},
    {"compressed-tensors", "pack-quantized", 4, "int4"},
    {"compressed-tensors", "nvfp4-pack-quantized", 0, "nvfp4"},
};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// A dot between digits is a number's.
bool is_joint(std::string_view text, std::size_t at) {
  if (text[at] != '.') return std::string_view("-_: ").find(text[at]) != std::string_view::npos;
  return at == 0 || at + 1 == text.size() || !is_digit(text[at - 1]) || !is_digit(text[at + 1]);
}

}  // namespace

std::vector<std::string> words_of_name(std::string_view name) {
  while (name.ends_with('/')) name.remove_suffix(1);
  const std::string last = lower_case(name.substr(name.rfind('/') + 1));
  std::vector<std::string> words;
  for (std::size_t begin = 0, at = 0; at <= last.size(); ++at) {
    if (at < last.size() && !is_joint(last, at)) continue;
    if (at > begin) words.push_back(last.substr(begin, at - begin));
    begin = at + 1;
  }
  return words;
}

std::vector<std::string> words_of_model(std::string_view name) {
  std::vector<std::string> out;
  bool behind = false;
  for (std::string& word : words_of_name(name)) {
    const bool format = std::ranges::find(kWords, word, &FormatWord::word) != std::end(kWords);
    behind = behind || format || word == "quantized";
    const bool making = behind && std::ranges::count(kOfMaking, word) != 0;
    if (!format && !making) out.push_back(std::move(word));
  }
  return out;
}

const CheckpointFormat& checkpoint_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &CheckpointFormat::name);
  PLAIT_CHECK(found != kFormats.end(), "no format " + std::string(name));
  return *found;
}

const CheckpointFormat* published_format(std::string_view preset) {
  const auto* found = std::ranges::find(kPublished, preset, &Published::preset);
  return found == std::end(kPublished) ? nullptr : &checkpoint_format(found->format);
}

const CheckpointFormat* format_in_config(const HfQuantization& q) {
  const auto* found = std::ranges::find_if(kConfigured, [&](const Configured& c) {
    return c.method == q.method && (c.algorithm.empty() || c.algorithm == q.algorithm) &&
           (c.bits == 0 || c.bits == q.bits);
  });
  return found == std::end(kConfigured) ? nullptr : &checkpoint_format(found->format);
}

std::optional<WeightFormat> widened_on(const Device& device, std::string_view dtype) {
  if (dtype == name_of(DType::kFp8) && device.peak_fp8.value == 0) return WeightFormat::kFp8;
  if (dtype == name_of(DType::kNvfp4) && device.peak_fp4.value == 0) return WeightFormat::kNvfp4;
  return std::nullopt;
}

const CheckpointFormat* format_in_name(std::string_view name, std::string_view preset) {
  const std::vector<std::string> words = words_of_name(name);
  const auto* found = std::ranges::find_if(
      kWords, [&](const FormatWord& w) { return std::ranges::count(words, w.word) != 0; });
  const CheckpointFormat* published = published_format(preset);
  if (found == std::end(kWords)) return published;
  // gpt-oss-20b-MXFP4 is gpt-oss-20b.
  const bool same = published != nullptr && published->experts == found->format;
  if (same) return published;
  const bool experts = found->format == "nvfp4" && std::ranges::count(kExpertsInFour, preset) != 0;
  return &checkpoint_format(experts ? "nvfp4 experts" : found->format);
}

}  // namespace plait
