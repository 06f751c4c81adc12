#include "scenarios/published/state_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <regex>

#include "core/compiled.h"
#include "core/spelling.h"
#include "scenarios/published/phrases.h"

namespace plait {
namespace {

/// Types as texts have them, in small letters.
constexpr const char* kStateType = "(bf16|bfloat16|fp16|float16|fp32|float32)";

std::string type_called(const std::string& word) {
  if (word.starts_with("b")) return "bf16";
  return word.ends_with("16") ? "fp16" : "fp32";
}

/// The type in the first of `patterns` that a text has; `@` stands for a type.
std::optional<std::string> type_in(const std::string& text,
                                   std::initializer_list<const char*> patterns) {
  for (const char* pattern : patterns) {
    const std::string with_type =
        std::regex_replace(std::string(pattern), compiled("@"), kStateType);
    if (const auto place = asserted(text, with_type)) return type_called(place->groups[0]);
  }
  return std::nullopt;
}

/// "pure bf16", "all in bf16", "bf16-true" (Lightning's).
std::optional<std::string> of_whole_state(const std::string& text) {
  return type_in(text,
                 {R"(\b(?:pure|full|fully|all|everything)(?: in)?[ -]@\b)", R"(\b@[ -]true\b)"});
}

std::optional<std::string> of_moments(const std::string& text) {
  return type_in(text, {R"(\b@ (?:adamw? |optimi[sz]er )?(?:moments?|states?)\b)",
                        R"(\b(?:moments?|(?:optimi[sz]er|adamw?) states?)(?: \w+)? in @\b)"});
}

std::optional<std::string> of_master(const std::string& text) {
  return type_in(
      text, {R"(\b@ master\b)", R"(\bmaster (?:weights?|copy|copies|params?)(?: \w+)? in @\b)"});
}

std::optional<std::string> of_gradients(const std::string& text) {
  return type_in(text,
                 {R"(\b@ (?:gradients?|grads?)\b)",
                  R"(\b(?:gradients?|grads?)(?:[ -]\w+){0,2} in @\b(?!\s*[=:]\s*(?:false|0)))"});
}

bool has_no_master(const std::string& text) {
  const auto said = said_in(
      text, R"(\b(?:(?:fp32|float32|separate) )*master\b(?: weights?| cop(?:y|ies)| params?)?)");
  return said && !*said;
}

/// With blanks for the underscores of names: grad_reduce_in_fp32.
std::string words_of_state(const PublishedRun& run) {
  std::string out = lower_case(run.precision + "; " + run.optimizer + "; " + run.notes);
  std::ranges::replace(out, '_', ' ');
  return out;
}

/// Megatron-LM's argument for a part of the state.
std::optional<std::string> of_argument(const PublishedRun& run, const char* argument) {
  return type_in(word_behind(run, argument).value_or(""), {"^@$"});
}

}  // namespace

// PyTorch torch/optim/adam.py and adamw.py make both moments with zeros_like(p): those of an
// optimizer that steps 16-bit weights have 16 bits. Composer's mixed_precision DEFAULT reduces
// gradients in fp32, PURE in the type of the weights (composer/trainer/mosaic_fsdp_utils.py,
// get_mixed_precision).
void add_state(nlohmann::ordered_json& precision, const PublishedRun& run,
               std::vector<std::string>& assumed) {
  const nlohmann::ordered_json before = precision;
  const std::string text = words_of_state(run);
  const std::string weights = precision["weights"];
  if (const auto all = of_whole_state(text); all && *all == weights) {
    for (const char* part : {"master", "moments", "gradients"}) precision[part] = weights;
  }
  if (has_no_master(text)) {
    precision["master"] = precision["moments"] = weights;
    assumed.push_back(fmt::format("moments: {}, as weights without a master copy have", weights));
  }
  const auto put = [&](const char* part, const std::optional<std::string>& type) {
    if (type) precision[part] = *type;
  };
  if (!has_no_master(text)) put("master", of_master(text));
  put("moments", of_moments(text));
  put("gradients", of_gradients(text));
  put("moments", of_argument(run, "--exp-avg-dtype"));
  put("gradients", of_argument(run, "--main-grads-dtype"));
  put("master", of_argument(run, "--main-params-dtype"));
  if (has_pattern(text, R"(\bmixed precision mode default\b)")) precision["reduction"] = "fp32";
  if (precision == before) return;
  std::string read;
  for (const auto& [part, type] : precision.items()) {
    if (before.value(part, "") == type) continue;
    read += fmt::format("{}{} {}", read.empty() ? "" : ", ", part, type.get<std::string>());
  }
  assumed.push_back("read of the state: " + read);
}

}  // namespace plait
