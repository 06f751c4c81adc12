#include "scenarios/dialects/vllm/vllm_load.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/requests.h"

namespace plait::vllm {

void fit_load(std::int64_t most, Imported& out) {
  const RequestKind usual;  // serving.requests.kinds by default
  const std::int64_t both = usual.prompt_tokens + usual.output_tokens;
  if (most >= both || most < 2) return;
  const std::int64_t answer = std::max<std::int64_t>(most * usual.output_tokens / both, 1);
  out.give_default(
      "serving.requests.kinds",
      fmt::format(R"([{{"prompt_tokens": {}, "output_tokens": {}}}])", most - answer, answer));
  out.warnings.push_back(
      {"W008",
       fmt::format(
           "requests have {} tokens of prompt and {} of answer, unless the base says which: "
           "--max-model-len {} has no room for the usual {} and {}",
           most - answer, answer, most, usual.prompt_tokens, usual.output_tokens)});
}

}  // namespace plait::vllm
