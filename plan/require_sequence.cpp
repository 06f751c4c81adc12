#include "plan/require_sequence.h"

#include <string>

#include "plan/refusal.h"

namespace plait {

void require_sequence(const Model& m, const Workload& w, std::int64_t cp) {
  if (m.positions == PositionKind::kLearned && w.sequence_length > m.max_positions) {
    throw refusal("S042",
                  "a sequence of " + std::to_string(w.sequence_length) +
                      " tokens is longer than the " + std::to_string(m.max_positions) +
                      " learned positions of the model",
                  "workload.sequence_length", "at most " + std::to_string(m.max_positions),
                  "shorten the sequence or raise model.max_positions", {"model.max_positions"});
  }
  if (cp > 1 && w.sequence_length % (2 * cp) != 0) {
    throw refusal("S014",
                  "a sequence of " + std::to_string(w.sequence_length) +
                      " tokens cannot be cut into two chunks for each of cp = " +
                      std::to_string(cp) + " ranks",
                  "workload.sequence_length", "a multiple of " + std::to_string(2 * cp),
                  "change workload.sequence_length or strategy.cp", {"strategy.cp"});
  }
}

}  // namespace plait
