#pragma once
// What travels between a pipeline's pieces on neighbouring stages: the residual stream forward and
// its gradient backward, in blocks of their own at both ends.

#include <string>

#include "plan/plan.h"

namespace plait {

struct Draft;

/// Between a piece and the next one.
struct StageExchange {
  BlockId send_forward = 0, recv_forward = 0, send_backward = 0, recv_backward = 0;
};

/// Adds the blocks to the plan. The next piece is `step` stages away, on ranks of the degree
/// `tp_of_other`; `way` is what the names of the blocks end in. Throws S052 where messages cannot
/// be cut for the other degree.
StageExchange add_stage_exchange(Draft& draft, const std::string& way, int step,
                                 std::int64_t tp_of_other);

/// Ranks of tensor parallelism that share a message of a tensor which all of them have, each
/// sending its part of it (PipelineOptions::scatter_gather); 1: each sends all that it has.
/// `stream`: the residual stream.
std::int64_t sharers_of_message(const PipelineOptions& pipeline, const Mesh& mesh,
                                const Tensor& stream);

}  // namespace plait
