#include "scenarios/dialects/vllm/vllm_load.h"

#include <fmt/format.h>

#include <algorithm>

namespace plait::vllm {

void fit_load(std::int64_t most, Imported& out) {
  // serving.requests.kinds by default; a ninth of both is the answer.
  constexpr std::int64_t kPromptTokens = 1024, kAnswerTokens = 128;
  if (most >= kPromptTokens + kAnswerTokens || most < 2) return;
  const std::int64_t answer =
      std::max<std::int64_t>(most * kAnswerTokens / (kPromptTokens + kAnswerTokens), 1);
  out.give_default(
      "serving.requests.kinds",
      fmt::format(R"([{{"prompt_tokens": {}, "output_tokens": {}}}])", most - answer, answer));
  out.warnings.push_back(
      {"W008",
       fmt::format(
           "requests have {} tokens of prompt and {} of answer, unless the base says which: "
           "--max-model-len {} has no room for the usual {} and {}",
           most - answer, answer, most, kPromptTokens, kAnswerTokens)});
}

}  // namespace plait::vllm
