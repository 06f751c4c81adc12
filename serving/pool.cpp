#include "serving/pool.h"

#include <algorithm>
#include <utility>

#include "serving/step_costs.h"

namespace plait {

Pool::Pool(const std::vector<Request>& requests, const ServerOptions& o, const StepPrice& price)
    : options_(o), price_(price) {
  // Of the idle ones a request takes the first: those beyond as many as requests never have one.
  const std::int64_t used = std::min(o.replicas, std::max<std::int64_t>(1, std::ssize(requests)));
  for (std::int64_t i = 0; i < used; ++i) {
    replicas_.push_back({Engine(o.limits, o.blocks, requests, o.kept, o.guesses)});
  }
}

std::size_t Pool::least() const {
  const auto least = std::ranges::min_element(replicas_, {}, &Replica::outstanding);
  return static_cast<std::size_t>(least - replicas_.begin());
}

Progress Pool::complete(std::size_t i, SimTime now) {
  Replica& replica = replicas_[i];
  replica.completed = now;
  Progress done = replica.engine.complete(replica.in_flight.front());
  replica.in_flight.pop_front();
  return done;
}

bool Pool::form() {
  formed_.clear();
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    Replica& replica = replicas_[i];
    if (std::ssize(replica.in_flight) >= options_.batches_in_flight) continue;
    Batch batch = replica.engine.schedule();
    if (batch.empty()) continue;
    replica.in_flight.push_back(std::move(batch));
    formed_.push_back(i);
  }
  return !formed_.empty();
}

/// Replicas that share experts step together. One that has nothing passes a token nobody has asked
/// for (vllm/v1/worker/gpu_worker.py, execute_dummy_batch). Where all run captured graphs, and only
/// there, each is padded to the largest (vllm/v1/worker/dp_utils.py, coordinate_batch_across_dp).
Step Pool::among_others(std::size_t i, Step step) const {
  if (!options_.shares_experts) return step;
  bool captured = options_.limits.graphs && is_captured(step);
  std::int64_t most = step.tokens(), sum = options_.replicas - std::ssize(replicas_);
  for (std::size_t k = 0; k < replicas_.size(); ++k) {
    if (k == i) continue;
    const bool idle = replicas_[k].in_flight.empty();
    const std::int64_t tokens = idle ? 1 : replicas_[k].in_flight.back().step.tokens();
    captured = captured && (idle || is_captured(replicas_[k].in_flight.back().step));
    most = std::max(most, tokens), sum += tokens;
  }
  step.tokens_elsewhere = captured ? most * (options_.replicas - 1) : sum;
  return step;
}

SimTime Pool::launch(std::size_t i, const Batch& batch, SimTime now) {
  Replica& replica = replicas_[i];
  const auto sequences = static_cast<std::int64_t>(batch.sequences.size());
  use_.most_blocks = std::max(use_.most_blocks, options_.blocks - replica.engine.free_blocks());
  use_.most_sequences = std::max(use_.most_sequences, sequences);
  const StepTime& time = price_(among_others(i, batch.step), i);
  const SimTime overhead =
      counted_sum(to_sim_time(options_.limits.step_overhead),
                  counted_product(sequences, to_sim_time(options_.limits.sequence_overhead)));
  replica.stage.resize(time.stage.size());
  const bool goes_on = options_.limits.async_scheduling && replica.completed == now;
  replica.host = goes_on ? std::max(counted_sum(replica.host, overhead), now)
                         : counted_sum(std::max(replica.host, now), overhead);
  use_.busy.resize(time.stage.size());
  SimTime at = replica.host;
  for (std::size_t s = 0; s < time.stage.size(); ++s) {
    at = counted_sum(std::max(at, replica.stage[s]), time.stage[s]);
    replica.stage[s] = at;
    use_.busy[s] += time.stage[s];
    if (s < time.hop.size()) at = counted_sum(at, time.hop[s]);
  }
  account(batch, time, overhead);
  return at;
}

void Pool::account(const Batch& batch, const StepTime& time, SimTime overhead) {
  StepTotals& t = batch.step.prefill.sequences == 0 ? use_.decode : use_.prefill;
  ++t.steps;
  for (const Scheduled& s : batch.sequences) ++t.sequences, t.tokens += s.tokens;
  t.time += time.total() - time.issue;
  t.host += counted_sum(overhead, time.issue);
  for (std::size_t p = 0; p < kStepParts; ++p) t.parts[p] += time.parts[p];
}

PoolUse Pool::use() const {
  PoolUse out = use_;
  for (const Replica& replica : replicas_) out.guessed += replica.engine.guessed();
  return out;
}

}  // namespace plait
