#include "prediction/context_length.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "core/json.h"
#include "plan/refusal.h"
#include "prediction/is_written.h"

namespace plait {
namespace {

constexpr const char* kOfAll = "serving.engine.max_model_len";

/// Engines that see a request: all of it, or its prompt and a token.
struct Limit {
  std::string own;  // path of the pool's own field
  EngineLimits& limits;
  bool prompts_alone = false;
  std::int64_t tokens_of(const Request& r) const {
    return r.prompt + (prompts_alone ? 1 : r.output);
  }
  /// Where the limit is stated; empty: nowhere.
  std::string path(const Scenario& s) const {
    if (is_written(s, own)) return own;
    return is_written(s, kOfAll) ? kOfAll : "";
  }
};

std::vector<Limit> limits_of(Serving& serving) {
  Disaggregation& d = serving.disaggregation;
  if (!d.any()) return {{kOfAll, serving.limits}};
  return {{"serving.disaggregated.prefill.engine.max_model_len", d.prefill.limits, true},
          {"serving.disaggregated.decode.engine.max_model_len", d.decode.limits}};
}

/// A model that is written out may leave its positions open; states have none.
bool has_positions(const Scenario& s) {
  if (s.model.attention_layers() == 0) return false;
  const Json* model = s.source == nullptr ? nullptr : s.source->root().find("model");
  if (model == nullptr || !model->is(Json::Kind::kObject)) return model != nullptr;
  return std::ranges::any_of(
      std::initializer_list<const char*>{"preset", "hf_config", "max_positions"},
      [&](const char* key) { return model->find(key) != nullptr; });
}

/// Where no limit is stated, requests may be as long as the model has positions.
void require_positions_for(const std::vector<Request>& requests, const Scenario& s,
                           const Limit& limit) {
  if (!limit.path(s).empty() || !has_positions(s)) return;
  const auto longest =
      std::ranges::max_element(requests, {}, [&](const Request& r) { return limit.tokens_of(r); });
  const std::int64_t positions = s.model.max_positions;
  if (longest == requests.end() || limit.tokens_of(*longest) <= positions) return;
  const bool traced = s.serving->load.arrivals == Arrivals::kTrace;
  throw refusal("S194",
                fmt::format("request {} of {} prompt and {} output tokens, and {} has {} positions",
                            longest - requests.begin(), longest->prompt, longest->output,
                            s.model.name, positions),
                traced ? "serving.requests.trace" : "serving.requests.kinds",
                fmt::format("prompt and answer of at most {} tokens together", positions),
                "shorten the requests, or raise model.max_positions where positions are scaled",
                {"model.max_positions"});
}

}  // namespace

void require_positions(const Scenario& s) {
  if (!has_positions(s)) return;
  Serving serving = *s.serving;
  for (const Limit& limit : limits_of(serving)) {
    const std::string path = limit.path(s);
    const std::int64_t longest = limit.limits.max_context, positions = s.model.max_positions;
    if (path.empty() || longest <= positions) continue;
    throw refusal(
        "S194",
        fmt::format("sequences of {} tokens, and {} has {} positions", longest, s.model.name,
                    positions),
        path, fmt::format("at most {}", positions),
        fmt::format("lower {}, or raise model.max_positions where positions are scaled", path),
        {"model.max_positions"});
  }
}

void require_context(const std::vector<Request>& requests, const Scenario& s, Serving& serving) {
  for (const Limit& limit : limits_of(serving)) {
    require_positions_for(requests, s, limit);
    std::int64_t longest = 0;
    for (const Request& r : requests) longest = std::max(longest, limit.tokens_of(r));
    std::int64_t& most = limit.limits.max_context;
    if (most == 0) most = longest;
    if (longest <= most) continue;
    const auto first =
        std::ranges::find_if(requests, [&](const Request& r) { return limit.tokens_of(r) > most; });
    const std::string path = limit.path(s).empty() ? kOfAll : limit.path(s);
    for (const Limit& other : limits_of(serving)) {  // pools that have the same field
      if (other.path(s) != path) continue;
      for (const Request& r : requests) longest = std::max(longest, other.tokens_of(r));
    }
    throw refusal(
        "R004",
        fmt::format("request {} of {} prompt and {} output tokens is longer than a sequence may be",
                    first - requests.begin(), first->prompt, first->output),
        path, fmt::format("prompt and answer of at most {} = {} tokens together", path, most),
        fmt::format("raise {} to {} or more, or shorten the requests", path, longest));
  }
}

}  // namespace plait
