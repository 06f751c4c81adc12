#include "scenarios/published/recompute_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <string_view>
#include <vector>

#include "core/spelling.h"
#include "scenarios/block_recompute.h"
#include "scenarios/published/model_of.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

using JsonObject = nlohmann::ordered_json;

/// Beginnings of texts, in small letters.
constexpr std::array<std::string_view, 6> kNothing = {"none", "unclear", "no",
                                                      "off",  "false",   "disabled"},
                                          kEverything = {"full", "yes", "on",
                                                         "true", "all", "enabled"};

constexpr const char* kCheckpointing = R"(\b(?:checkpoint(?:ing|s)?|recomput\w+|remat\w*)\b)";

bool begins_with_one_of(const std::string& text, const std::array<std::string_view, 6>& words) {
  const std::string first = text.substr(0, text.find_first_of(" ,;:(/"));
  return std::ranges::find(words, first) != words.end();
}

class RecomputeWords {
 public:
  RecomputeWords(const PublishedRun& run, const std::string& framework, const Recipe& recipe,
                 std::vector<std::string>& assumed)
      : run_(run),
        framework_(framework),
        recipe_(recipe),
        assumed_(assumed),
        text_(lower_case(run.recompute)) {}

  JsonObject read() {
    if (text_.empty() && !recipe_.keep.empty()) return {{"kind", "ops"}, {"keep", recipe_.keep}};
    if (text_.empty()) {
      assumed_.emplace_back("recomputation: none");
      return "none";
    }
    if (asserted(plain_text(text_), R"(\b(?:(?:cpu|activations?) )*offload\w*(?: activations?)?)"))
      refuse();
    if (begins_with_one_of(text_, kNothing)) return "none";
    if (const auto layers = layers_of_block(text_)) return {{"kind", "full"}, {"layers", *layers}};
    if (const auto layers = layers_of_bridge()) return {{"kind", "full"}, {"layers", *layers}};
    if (const auto step = every_so_many()) return {{"kind", "full"}, {"every", *step}};
    if (const auto layers = some_layers()) return {{"kind", "full"}, {"layers", *layers}};
    if (begins_with_one_of(text_, kEverything)) return everything();
    if (said_in(plain_text(text_), kCheckpointing) == false) return "none";
    if (text_.starts_with("selective")) return selective();
    if (lists_modules()) return modules();
    if (mentions(text_, "every other") || mentions(text_, "every 2nd"))
      return {{"kind", "full"}, {"every", 2}};
    if (has_pattern(text_, R"(\b(?:every|each|all) (?:transformer )?(?:layers?|blocks?)\b)"))
      return "full";
    if (has_pattern(
            text_,
            R"(^(?:mlps?|ffn|att(?:entio)?n) ?(?:[+&,/]|and) ?(?:mlps?|ffn|att(?:entio)?n)$)"))
      return taken({{"kind", "modules"}, {"modules", {"mlp", "attention"}}},
                   "of MLPs and of attention's core");
    if (has_pattern(text_, R"(^(?:core[ _-])?att(?:entio)?n\b)"))
      return taken("selective", "of attention");
    if (has_pattern(text_, R"(^(?:mlps?|ffn)\b)"))
      return {{"kind", "modules"}, {"modules", {"mlp"}}};
    if (asserted(plain_text(text_), kCheckpointing)) return taken("full", "of whole layers");
    refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    throw NotRepresentable(fmt::format("recomputation \"{}\" is not planned yet", run_.recompute));
  }

  JsonObject taken(JsonObject what, std::string_view meaning) {
    assumed_.push_back(fmt::format("recomputation \"{}\": {}", run_.recompute, meaning));
    return what;
  }

  /// "full (recompute_num_layers=1)": with that number Megatron-Bridge's recipes of performance
  /// take the method "block" (scripts/performance/utils/overrides.py, _set_recompute_overrides;
  /// src/ megatron/bridge/perf_recipes).
  std::optional<std::int64_t> layers_of_bridge() {
    static const std::regex kLayers(R"(\brecompute[ _]num[ _]layers ?[=:] ?(\d{1,6})\b)");
    std::smatch found;
    if (!mentions(run_.source, "Megatron-Bridge") || mentions(text_, "uniform") ||
        !std::regex_search(text_, found, kLayers))
      return std::nullopt;
    assumed_.push_back(fmt::format("recomputation \"{}\": method block", run_.recompute));
    return count_in(text_, found.str(1));
  }

  /// "1/2 blocks", which is no block of two.
  std::optional<std::int64_t> every_so_many() const {
    static const std::regex kShare(
        R"(\b1 ?/ ?(\d{1,3}) (?:of (?:the |all )?)?(?:transformer )?(?:layers|blocks)\b)");
    std::smatch found;
    if (!std::regex_search(text_, found, kShare)) return std::nullopt;
    const std::int64_t step = count_in(text_, found.str(1));
    return step > 1 && step < run_.model.layers ? std::optional(step) : std::nullopt;
  }

  /// "10 of 32 layers", "10/32 layers", "partial, 16 layers" of the model, or, in a pipeline, of as
  /// many as a stage has.
  std::optional<std::int64_t> some_layers() const {
    static const std::regex kSome(
        R"(\b(\d{1,6})(?:(?: (?:of|out of|/) (?:the )?|/)(\d{1,6}))? (?:transformer )?(?:layers|blocks)\b)");
    std::smatch found;
    if (!std::regex_search(text_, found, kSome)) return std::nullopt;
    const std::int64_t layers = count_in(text_, found.str(1)), pp = run_.layout.pp;
    const bool of_a_stage = found[2].matched && run_.layout.chunks <= 1 &&
                            count_in(text_, found.str(2)) * pp == run_.model.layers;
    if (pp > 1 && !of_a_stage) return std::nullopt;
    return layers > 0 && layers < run_.model.layers ? std::optional(layers) : std::nullopt;
  }

  /// Megatron-LM's method "block" leaves out the last layers of a stage; how many, nothing says.
  JsonObject everything() {
    const bool of_some =
        mentions(text_, "block") || has_pattern(text_, R"(\d (?:of|/) \d+ layers)");
    return of_some ? taken("full", "of all layers") : JsonObject("full");
  }

  JsonObject selective() {
    if (text_.starts_with("selective (--recompute-activations)")) return "selective";
    // Of NeMo 1, with which the first release of DGX Cloud's benchmarks came, and of NeMo 2.
    if (text_.starts_with("selective (24.11 nemo1 yaml)"))
      return mentions(run_.source, "v24.11") ? "selective" : "none";
    if (lists_modules()) return modules();
    // torchtitan's selective checkpoints: option "op", its default, or each n-th layer.
    if (text_.starts_with("selective layer")) {
      if (!mentions(text_, "every 2nd")) assumed_.emplace_back("recomputation: every second layer");
      return {{"kind", "full"}, {"every", 2}};
    }
    if (text_.starts_with("selective:")) return modules();
    const bool by_op = text_.starts_with("selective (op-level") ||
                       text_.starts_with("selective (per-op") || text_.starts_with("selective op");
    if (by_op || text_.starts_with("selective (config default)")) return ops();
    if (framework_.starts_with("torchtitan")) return taken(ops(), "every other product");
    return taken("selective", "of attention");
  }

  /// "moe_act, layernorm" and nothing else: what TransformerConfig.recompute_modules may have
  /// (Megatron-LM megatron/core/transformer/transformer_config.py) and a plan has.
  bool lists_modules() const {
    constexpr std::array<std::string_view, 7> kNames = {
        "core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts"};
    const std::vector<std::string> said = modules_said();
    return !said.empty() && std::ranges::all_of(said, [&](const std::string& name) {
      return std::ranges::count(kNames, name) != 0;
    });
  }

  /// Megatron-LM's modules, as records abbreviate them: "selective: norm, MLA up-projection".
  JsonObject modules() {
    const PublishedModel& m = run_.model;
    struct Part {
      const char* pattern;  // of one of them, without blanks
      bool there;
      const char* module;
    };
    const Part parts[] = {{"norm", true, "norms"},
                          {"shared_?expert", !m.shared_experts.empty(), "shared-experts"},
                          {"act", m.experts > 0, "expert-activations"},
                          {"mla_?up", has_latents(run_), "latents"},
                          {"mlp", m.experts == 0 || m.first_dense_layers > 0, "mlp"},
                          {"^moe$", m.experts > 0, "moe"},
                          {"att", true, "attention"}};
    std::vector<std::string> said = modules_said();
    JsonObject modules = JsonObject::array();
    for (const Part& part : parts) {
      const auto is_part = [&](const std::string& name) { return has_pattern(name, part.pattern); };
      if (std::erase_if(said, is_part) > 0 && part.there) modules.push_back(part.module);
    }
    for (const std::string& other : said) {
      assumed_.push_back(fmt::format("recomputation of \"{}\": none", other));
    }
    if (modules == JsonObject::array({"attention"})) return "selective";
    if (modules.empty()) return taken("none", "none");
    return {{"kind", "modules"}, {"modules", modules}};
  }

  /// The names, behind a colon where there is one; those of Transformer Engine's latents are of
  /// several words.
  std::vector<std::string> modules_said() const {
    static const std::regex kLatents(R"(\bmla[ _-]up[ _-]?proj\w*)"), kName(R"([^\s,/;+&\[\]()]+)");
    std::string text = text_.substr(text_.find(':') + 1);
    text = std::regex_replace(text, kLatents, "mla_up_proj");
    std::vector<std::string> out;
    for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at) {
      if (at->str() != "and" && at->str() != "selective") out.push_back(at->str());
    }
    return out;
  }

  JsonObject ops() const {
    if (compiles_layers(run_)) return {{"kind", "ops"}, {"unread", false}};
    return "ops";
  }

  const PublishedRun& run_;
  const std::string& framework_;
  const Recipe& recipe_;
  std::vector<std::string>& assumed_;
  std::string text_;
};

}  // namespace

nlohmann::ordered_json recompute_of(const PublishedRun& run, const std::string& framework,
                                    const Recipe& recipe, std::vector<std::string>& assumed) {
  return RecomputeWords(run, framework, recipe, assumed).read();
}

bool compiles_layers(const PublishedRun& run) { return says(run, Phrase::kCompile); }

bool recomputes_ops(const nlohmann::ordered_json& recompute) {
  return recompute == "ops" ||
         (recompute.is_object() && recompute["kind"] == "ops" && !recompute.contains("keep"));
}

}  // namespace plait
