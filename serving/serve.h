#pragma once
// An event loop over requests and steps: requests arrive at replicas (serving/pool.h), which batch
// them. What a step takes is a function of its shape, given from outside. Time is in picoseconds
// and ties go by number, so that the same input gives the same output everywhere. A later turn of a
// conversation arrives a while after the answer that it follows; users of a closed loop have one
// conversation after the other.
//
// With prefill and decode on pools of their own a request goes to the prefill replica with the
// fewest, which computes its prompt; then to the decode replica with the fewest, which fetches the
// keys and values in the order of asking, as soon as it has room for them
// (serving/kv_transfer.h), and generates. They stay on the prefill replica until they have been
// sent. What is preempted on a decode replica is computed again there.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/total_time.h"
#include "serving/engine.h"
#include "serving/requests.h"

namespace plait {

/// What a step's time is spent on.
enum class StepPart : std::uint8_t { kMemory, kCompute, kCommunication, kLaunch, kProcessor };
inline constexpr int kStepParts = 5;

struct StepTime {
  std::vector<SimTime> stage;                  // of each pipeline stage
  std::vector<SimTime> hop;                    // from stage s to s + 1
  std::array<SimTime, kStepParts> parts = {};  // of all stages and hops
  SimTime issue = 0;                           // of the stages: devices wait for kernels
  SimTime total() const;                       // alone on the machine
};
/// Of a step on a replica.
using StepPrice = std::function<const StepTime&(const Step&, std::size_t replica)>;

struct ServerOptions {
  EngineLimits limits;
  std::int64_t blocks = 0;  // of each replica's cache
  KeptLayers kept = {};
  Guesses guesses = {};
  std::int64_t replicas = 1;
  std::int64_t batches_in_flight = 1;  // as many as there are stages
  bool shares_experts = false;         // among the replicas, whose steps have each other's tokens
};

struct Served {
  SimTime arrival = 0, first_token = 0, finish = 0;
  std::int64_t replica = 0, preemptions = 0;  // replica: that computed the prompt
  std::int64_t found = 0;                     // tokens of the prompt that its cache had
};

/// What happens to a request between two pools; nothing where its answer is complete with the
/// prompt.
struct Handover {
  SimTime begun = -1;     // its first step
  SimTime prefilled = 0;  // its prompt is computed
  SimTime asked = 0;      // a decode replica has room
  SimTime received = 0;   // which has the keys and values
  SimTime resumed = -1;   // its first step there; -1: none
  std::int64_t replica = 0;
  std::int64_t tokens = 0;  // that were sent
};

/// Steps of one sort: those that only generate, and the others.
struct StepTotals {
  std::int64_t steps = 0, tokens = 0, sequences = 0;
  TotalTime time;  // alone on the machine, without the host's part
  TotalTime host;
  std::array<TotalTime, kStepParts> parts = {};
};

/// What replicas of one layout have done.
struct PoolUse {
  StepTotals decode, prefill;
  GuessTotals guessed;
  std::vector<TotalTime> busy;                       // per stage, over all replicas
  std::int64_t most_blocks = 0, most_sequences = 0;  // in use at a time on one replica
};

/// With the use of the replicas that generate: all, or those of decode.
struct Service : PoolUse {
  std::vector<Served> requests;  // as given
  /// Between successive tokens of a request, in the order they came; tokens that come together
  /// count once (as vLLM's benchmarks count what is streamed).
  std::vector<SimTime> gaps;
  SimTime makespan = 0;  // from the first arrival to the last token
  std::optional<PoolUse> prefill_pool;
  std::vector<Handover> handovers;  // of each request, where there is a pool of prefill
};

/// Throws InputError R002 for a request that no empty replica has room for, R003 for one that no
/// step has room for.
Service serve(const std::vector<Request>& requests, const Load& load, const ServerOptions& options,
              const StepPrice& price);

struct KvRoutes;  // serving/kv_transfer.h

struct DisaggregatedServer {
  const ServerOptions &prefill, &decode;
  const StepPrice &prefill_price, &decode_price;
  const KvRoutes& routes;
  FirstToken first_token = FirstToken::kDecode;
};
/// The same with two pools. Prefill replicas take as many steps as prompts need, and sample one
/// token.
Service serve(const std::vector<Request>& requests, const Load& load,
              const DisaggregatedServer& server);

}  // namespace plait
