#include "serving/pool.h"

#include <algorithm>

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

Progress Pool::complete(std::size_t i) {
  Replica& replica = replicas_[i];
  Progress done = replica.engine.complete(replica.in_flight.front());
  replica.in_flight.pop_front();
  return done;
}

SimTime Pool::launch(std::size_t i, const Batch& batch, SimTime now) {
  Replica& replica = replicas_[i];
  const auto sequences = static_cast<std::int64_t>(batch.sequences.size());
  use_.most_blocks = std::max(use_.most_blocks, options_.blocks - replica.engine.free_blocks());
  use_.most_sequences = std::max(use_.most_sequences, sequences);
  const StepTime& time = price_(batch.step, i);
  const SimTime overhead =
      counted_sum(to_sim_time(options_.limits.step_overhead),
                  counted_product(sequences, to_sim_time(options_.limits.sequence_overhead)));
  replica.stage.resize(time.stage.size());
  const bool goes_on = options_.limits.async_scheduling && replica.stage[0] == now;
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
