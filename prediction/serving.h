#pragma once
// The main job of serving: scenario -> requests, capacity and service -> report.

#include <cstdint>
#include <functional>
#include <string>

#include "reports/serving.h"
#include "scenarios/scenario.h"

namespace plait {

/// Requests as the scenario has them, or at the highest rate that attains its objectives.
enum class ServingQuestion : std::uint8_t { kAsWritten, kMaxRate };

/// Told now and then that `done` of `all` tokens are generated, and which: "tokens", or those of
/// one of the rates that are tried. Empty where nobody watches.
using ServingWatch =
    std::function<void(std::int64_t done, std::int64_t all, const std::string& what)>;

/// Serves the scenario's requests. Throws InputError for what cannot be served, with its place;
/// S184 where the highest rate of a load is asked for that has none.
ServingReport predict_serving(const Scenario& scenario, ServingQuestion question,
                              const RunFacts& facts, const ServingWatch& watch = {});

/// The same before any request is served: whether weights and the cache have room for the longest.
ServingReport predict_room(const Scenario& scenario, const RunFacts& facts);

/// Sequences of serving.engine.max_model_len tokens that the cache of a replica has room for at a
/// time, 0: not one. Without max_model_len all that may run. Throws as predict_serving does.
std::int64_t sequences_with_room(const Scenario& scenario);

}  // namespace plait
