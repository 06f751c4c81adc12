#pragma once
// The exchange of tokens as DeepEP's normal kernels do it (github.com/deepseek-ai/DeepEP): a token
// that goes to several experts of a rank travels to it once, and to a node once, over the network,
// from where NVLink brings it to the ranks of its experts. Of T tokens of h w bytes each, with k of
// E experts, on n ranks in N nodes:
//   t = a + max(T (c + h w (D(n) + d) / R), T h w D(N) (N - 1) / N / (b B_net))
//   D(g) = g (1 - prod_{i < k} (E - E / g - i) / (E - i))
// D(g) of g equal groups of experts have one of the k, chosen at random; a rank's own tokens count
// within its node, as they are copied too.

#include <optional>

#include "costmodel/cost.h"
#include "costmodel/efficiency.h"
#include "plan/op.h"
#include "topologies/cluster.h"

namespace plait {

/// Of one direction: tokens to experts, or back.
struct DeepEpFit {
  double start_us = 0;   // a
  double token_ns = 0;   // c: of each token's choice and row
  double rate_gbps = 0;  // R, of a rank over the fitted GPU's NVLink
  double own = 0;        // d: rows read and written besides those that travel
};
struct DeepEpFits {
  DeepEpFit dispatch, combine;
};
DeepEpFits deepep_fits(Generation generation);

/// D(g). 1 <= chosen <= experts.
double groups_met(std::int64_t groups, std::int64_t experts, std::int64_t chosen);

/// The mean of both directions: a plan's all_to_all does not say which it is. None off GPUs of an
/// NVLink island, or where the collective is no exchange of tokens; nothing for gates, which the
/// kernels send with their tokens.
std::optional<Cost> deepep_cost(const Collective& op, const GroupPlacement& group,
                                const Device& device);

}  // namespace plait
