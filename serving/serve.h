#pragma once
// An event loop over requests and steps: requests arrive at replicas, each of which forms batches
// (serving/engine.h) and passes them through its pipeline stages. What a step takes is a function
// of its shape, given from outside. Time is in picoseconds and ties go by number, so that the same
// input gives the same output everywhere. A later turn of a conversation arrives a while after the
// answer that it follows; users of a closed loop have one conversation after the other.
//
// A batch b of a replica goes through stages s = 0 .. p - 1, with up to p batches on the way:
//   issued(b) = max(now, host) + overhead                  the host is one thread
//   begin(b, s) = max(arrived(b, s), end(b - 1, s))        a stage works on one batch at a time
//   end(b, s) = begin(b, s) + stage[s],  arrived(b, s + 1) = end(b, s) + hop[s]

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/time.h"
#include "serving/engine.h"
#include "serving/requests.h"

namespace plait {

/// What a step's time is spent on.
enum class StepPart : std::uint8_t { kMemory, kCompute, kCommunication, kLaunch };
inline constexpr int kStepParts = 4;

struct StepTime {
  std::vector<SimTime> stage;                  // of each pipeline stage
  std::vector<SimTime> hop;                    // from stage s to s + 1
  std::array<SimTime, kStepParts> parts = {};  // of all stages and hops
  SimTime total() const;                       // alone on the machine
};
using StepPrice = std::function<const StepTime&(const Step&)>;

struct ServerOptions {
  EngineLimits limits;
  std::int64_t blocks = 0;  // of each replica's cache
  KeptLayers kept = {};
  Guesses guesses = {};
  std::int64_t replicas = 1;
  std::int64_t batches_in_flight = 1;  // as many as there are stages
};

struct Served {
  SimTime arrival = 0, first_token = 0, finish = 0;
  std::int64_t replica = 0, preemptions = 0;
  std::int64_t found = 0;  // tokens of the prompt that the replica's cache had
};

/// Steps of one sort: those that only generate, and the others.
struct StepTotals {
  std::int64_t steps = 0, tokens = 0, sequences = 0;
  SimTime time = 0;  // alone on the machine, without the host's part
  SimTime host = 0;
  std::array<SimTime, kStepParts> parts = {};
};

struct Service {
  std::vector<Served> requests;  // as given
  /// Between successive tokens of a request, in the order they came; tokens that come together
  /// count once (as vLLM's benchmarks count what is streamed).
  std::vector<SimTime> gaps;
  SimTime makespan = 0;  // from the first arrival to the last token
  StepTotals decode, prefill;
  GuessTotals guessed;
  std::vector<SimTime> busy;                         // per stage, over all replicas
  std::int64_t most_blocks = 0, most_sequences = 0;  // in use at a time on one replica
};

/// Throws InputError R002 for a request that no empty replica has room for.
Service serve(const std::vector<Request>& requests, const Load& load, const ServerOptions& options,
              const StepPrice& price);

}  // namespace plait
