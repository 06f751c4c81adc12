#include "scenarios/published/recompute_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/spelling.h"
#include "scenarios/block_recompute.h"
#include "scenarios/published/model_of.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

using JsonObject = nlohmann::ordered_json;

/// Beginnings of texts, in small letters.
constexpr std::array<std::string_view, 5> kNothing = {"none", "unclear", "no", "off", "false"},
                                          kEverything = {"full", "yes", "on", "true", "all"};

constexpr const char* kCheckpointing = R"(\b(?:checkpoint(?:ing|s)?|recomput\w+|remat\w*)\b)";

bool begins_with_one_of(const std::string& text, const std::array<std::string_view, 5>& words) {
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
    if (begins_with_one_of(text_, kNothing)) return "none";
    if (const auto layers = layers_of_block(text_)) return {{"kind", "full"}, {"layers", *layers}};
    if (begins_with_one_of(text_, kEverything)) return everything();
    if (said_in(text_, kCheckpointing) == false) return "none";
    if (text_.starts_with("selective")) return selective();
    if (mentions(text_, "every other") || mentions(text_, "every 2nd"))
      return {{"kind", "full"}, {"every", 2}};
    if (mentions(text_, "checkpointing")) return taken("full", "of whole layers");
    throw NotRepresentable(fmt::format("recomputation \"{}\" is not planned yet", run_.recompute));
  }

 private:
  JsonObject taken(JsonObject what, std::string_view meaning) {
    assumed_.push_back(fmt::format("recomputation \"{}\": {}", run_.recompute, meaning));
    return what;
  }

  /// Megatron-LM's method "block" leaves out the last layers of a stage; how many, nothing says.
  JsonObject everything() {
    return mentions(text_, "block") ? taken("full", "of all layers") : JsonObject("full");
  }

  JsonObject selective() {
    if (text_.starts_with("selective (--recompute-activations)")) return "selective";
    // Of NeMo 1, with which the first release of DGX Cloud's benchmarks came, and of NeMo 2.
    if (text_.starts_with("selective (24.11 nemo1 yaml)"))
      return mentions(run_.source, "v24.11") ? "selective" : "none";
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

  /// Megatron-LM's modules, as records abbreviate them.
  JsonObject modules() {
    const PublishedModel& m = run_.model;
    JsonObject modules = JsonObject::array();
    const auto add = [&](std::string_view named, bool there, const char* module) {
      if (mentions(text_, named) && there) modules.push_back(module);
    };
    add("norm", true, "norms");
    add("act", m.experts > 0, "expert-activations");
    add("mla_up_proj", has_latents(run_), "latents");
    add("mlp", m.experts == 0 || m.first_dense_layers > 0, "mlp");
    add("shared_expert", !m.shared_experts.empty(), "shared-experts");
    const bool attention = mentions(text_, "core_attn");
    if (modules.empty() && attention) return "selective";
    if (modules.empty()) return taken("none", "none");
    if (attention) assumed_.emplace_back("recomputation of attention beside modules: none");
    return {{"kind", "modules"}, {"modules", modules}};
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
