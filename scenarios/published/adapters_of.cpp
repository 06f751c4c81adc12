#include "scenarios/published/adapters_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "core/compiled.h"
#include "core/parse_number.h"
#include "core/spelling.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

using JsonObject = nlohmann::ordered_json;

void require_planned(const PublishedRun& run) {
  if (run.model.experts > 0)
    throw NotRepresentable("low-rank adapters beside experts are not planned yet");
}

std::string all_words(const PublishedRun& run) {
  return lower_case(run.adapters + "; " + run.precision + "; " + run.notes + "; " + run.kernel +
                    "; " + run.framework + "; " + run.arguments);
}

std::string number_said(const std::string& text, const char* pattern) {
  std::smatch found;
  return std::regex_search(text, found, compiled(pattern)) ? found[1].str() : "";
}

/// What frameworks call a matrix, and which of the products that is.
struct TargetWords {
  const char* pattern;
  std::vector<const char*> targets, of_gated;  // the latter where MLPs are gated
};
const std::vector<TargetWords>& target_words() {
  static const std::vector<TargetWords> all = {
      {"qkv|query_key_value|c_attn|wqkv|linear_qkv", {"qkv"}, {}},
      {"q|q_proj|wq|query", {"q"}, {}},
      {"k|k_proj|wk|key", {"k"}, {}},
      {"v|v_proj|wv|value", {"v"}, {}},
      {"o|o_proj|wo|out|out_proj|linear_proj", {"out"}, {}},
      {"c_proj", {"out", "down"}, {}},  // Qwen's and GPT-2's name of both
      {"gate|gate_proj|w1", {"up"}, {"gate_half"}},
      {"up|up_proj|w2", {"up"}, {"up_half"}},
      {"linear_fc1|fc1|fc_in|gate_up_proj", {"up"}, {}},
      {"w3", {"down"}, {"up_half"}},
      {"down|down_proj|linear_fc2|fc2|fc_out", {"down"}, {}},
  };
  return all;
}

void add_targets(const std::vector<const char*>& names, JsonObject& out) {
  for (const char* name : names) {
    if (std::ranges::find(out, JsonObject(name)) == out.end()) out.push_back(name);
  }
}

/// Matrices' names one after the other, up to the first word that is none.
JsonObject named_targets(const std::string& names, bool gated) {
  JsonObject out = JsonObject::array();
  static const std::regex kWord(R"([a-z0-9_]+)");
  for (std::sregex_iterator at(names.begin(), names.end(), kWord), end; at != end; ++at) {
    const std::string word = at->str();
    if (word == "and") continue;
    const auto known = std::ranges::find_if(target_words(), [&](const TargetWords& t) {
      return std::regex_match(word, compiled(t.pattern));
    });
    if (known == target_words().end()) break;
    add_targets(gated && !known->of_gated.empty() ? known->of_gated : known->targets, out);
  }
  return out;
}

/// "on q and v", "on c_attn c_proj w1 w2", "on all", "all linear layers", "--targets q_proj
/// v_proj". Empty: not said.
JsonObject targets_of(const std::string& text, bool gated) {
  JsonObject out = JsonObject::array();
  if (has_pattern(text, R"(\b(?:all linear|all-linear|on all\b|all matrices))")) {
    add_targets({"q", "k", "v", "out"}, out);
    add_targets(gated ? std::vector{"gate_half", "up_half", "down"} : std::vector{"up", "down"},
                out);
    return out;
  }
  static const std::regex kList(R"((?:\bon|targets?|target_modules)[ :=]+([^;.]*))");
  for (std::sregex_iterator at(text.begin(), text.end(), kList), end; at != end && out.empty();
       ++at) {
    out = named_targets((*at)[1].str(), gated);
  }
  return out;
}

struct RecipesAdapters {
  JsonObject adapters;
  const char *whose, *size, *products;  // in words
};

/// Those of Megatron-Bridge's and NeMo's pages of performance: dim 8 and alpha 16 of their recipes
/// (recipes/llama/llama3.py, LoRA(dim=8, alpha=16); NeMo collections/llm/recipes/llama3_70b.py), on
/// linear_qkv alone (scripts/performance, cfg.peft.target_modules = ["linear_qkv"]). MLPerf
/// Training's Llama 2 70B: rank 16, alpha 32, attention's two products (mlcommons/training,
/// llama2_70b_lora). Of others what LoRA() is by default (Megatron-Bridge peft/lora.py): dim 32 and
/// alpha 32 on all four products.
RecipesAdapters of_recipe(const PublishedRun& run) {
  const std::string source = lower_case(run.source + "; " + run.framework);
  if (mentions(source, "mlperf")) {
    return {{{"rank", 16}, {"alpha", 32}, {"targets", JsonObject::array({"qkv", "out"})}},
            "those of MLPerf",
            "rank 16, alpha 32",
            "qkv and out"};
  }
  if (mentions(source, "megatron-bridge") || mentions(source, "nemo")) {
    return {{{"rank", 8}, {"alpha", 16}, {"targets", JsonObject::array({"qkv"})}},
            "those of the performance recipes",
            "rank 8, alpha 16",
            "qkv"};
  }
  return {{{"rank", 32}}, "Megatron-Bridge's default", "rank 32", "all four products of a layer"};
}

/// Of weights, not of an optimizer: "int8 base", "frozen weights in 8 bits", "load_in_8bit".
constexpr const char* kEightBits =
    R"((?:int8|8[- ]?bits?) (?:base|weights|model|frozen)|load.in.8.?bit)"
    R"(|(?:base|weights|model)(?: in| bnb\.)? ?(?:int8|8[- ]?bits?)\b)";
constexpr const char* kFourBits = R"(q-?lora|nf4|\bfp4\b|int4|\b4[- ]?bit)";

/// QLoRA's frozen weights: 4 bits and a scale for each block.
void add_frozen(JsonObject& out, const std::string& text, std::vector<std::string>& assumed) {
  if (!has_pattern(text, kFourBits)) {
    if (has_pattern(text, kEightBits))
      throw NotRepresentable("frozen weights in 8 bits are not planned yet");
    return;
  }
  out["frozen"] = "nf4";
  if (!has_pattern(text, "nf4|q-?lora")) assumed.emplace_back("frozen weights in 4 bits: as NF4");
  // litgpt and torchtune name the two: bnb.nf4 and bnb.nf4-dq.
  const bool twice = has_pattern(text, R"(nf4-dq|double[- ]quant)");
  if (!twice && has_pattern(text, R"(bnb\.nf4)") && !has_pattern(text, "q-?lora"))
    out["double_quantized"] = false;
  if (!twice && !out.contains("double_quantized"))
    assumed.emplace_back("scales of frozen weights: in 8 bits, as QLoRA's");
}

}  // namespace

bool has_adapters(const PublishedRun& run) {
  return lower_case(run.task).find("lora") != std::string::npos;
}

JsonObject adapters_of(const PublishedRun& run, std::vector<std::string>& assumed) {
  require_planned(run);
  const std::string text = all_words(run) + "; " + lower_case(run.task);
  const RecipesAdapters usual = of_recipe(run);
  JsonObject out = usual.adapters;
  const std::string rank = number_said(text, R"(\b(?:rank|r|dim)[ =:]*([1-9]\d*))");
  const JsonObject targets = targets_of(text, run.model.gated_mlp);
  if (rank.empty() && targets.empty()) {
    assumed.push_back(
        fmt::format("adapters: {}, {}, on {}", usual.whose, usual.size, usual.products));
  } else if (rank.empty()) {
    assumed.push_back(fmt::format("adapters, their rank: {}, {}", usual.size, usual.whose));
  } else if (targets.empty()) {
    assumed.push_back(fmt::format("adapters, their products: {}, {}", usual.products, usual.whose));
  }
  if (!rank.empty()) {
    out["rank"] = count_in("rank " + rank, rank);
    out.erase("alpha");
  }
  if (!targets.empty()) out["targets"] = targets;
  if (const std::string alpha = number_said(text, R"(\balpha[ =:]*(\d+))"); !alpha.empty())
    out["alpha"] = count_in("alpha " + alpha, alpha);
  const std::string dropout = number_said(text, R"(\bdropout[ =:]*(0?\.\d+))");
  // One too small for a double is next to 0.
  if (!dropout.empty()) out["dropout"] = parse_number<double>(dropout).value_or(0);
  add_frozen(out, text, assumed);
  return out;
}

}  // namespace plait
