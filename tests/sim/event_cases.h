#pragma once
// Hosts whose times are easy to work out.

#include "sim/event/event_engine.h"
#include "tests/sim/hand_made.h"

namespace plait {

/// Seconds in proportion to bytes.
inline Piecewise per_byte(double seconds) {
  constexpr double kFar = 1e9;
  return Piecewise({{0, 0}, {kFar, kFar * seconds}});
}

/// `hosts` with `ranks` each, two cores for each rank, messages that take no time, links of 125
/// MB/s.
inline HostSystem free_hosts(std::int64_t hosts, std::int64_t ranks) {
  HostSystem s;
  s.hosts = s.machines = hosts;
  s.ranks_per_host = ranks;
  s.cores = static_cast<double>(2 * ranks);
  s.link = {.rate = BytesPerSecond(125e6), .peak = BytesPerSecond(125e6), .burst = Bytes(0)};
  return s;
}

/// A microsecond for each million multiply-adds.
inline Seconds microseconds_of(const Op& op, std::int64_t) {
  return Seconds(1e-6 * static_cast<double>(std::get<MatMul>(std::get<Compute>(op.body)).k));
}
inline double in_us(SimTime t) { return static_cast<double>(t) / 1e6; }

inline double step_us(const Plan& plan, const HostSystem& system) {
  return in_us(simulate_hosts(plan, system, microseconds_of).step_time);
}

/// One all_reduce of `elements` fp32 over dp, behind a kernel of 1 us.
inline Plan one_all_reduce(std::int64_t ranks, std::int64_t elements) {
  Plan plan = empty_plan(1, 1, 1);
  plan.mesh[Axis::kDp] = ranks;
  plan.tensors = {tensor("gradient", Scope::kLayer)};
  Collective c;
  c.axes = Axis::kDp, c.dtype = DType::kFp32, c.elements = elements;
  plan.blocks = {{"backward", {kernel(matmul(1), {{0, Use::kWrite, 0}}, Phase::kBackward)}},
                 {"reduce", {{c, Stream::kGradSync, Phase::kGradSync, {{0, Use::kUpdate, 0}}}}}};
  plan.programs[0].calls = {{.block = 0}, {.block = 1}};
  return plan;
}

/// Kernels of `k` us on `ranks` ranks that have nothing to do with one another.
inline Plan independent(std::int64_t ranks, std::vector<std::int64_t> k) {
  Plan plan = empty_plan(1, 1, 1);
  plan.mesh[Axis::kDp] = ranks;
  plan.tensors = {tensor("x", Scope::kRole)};
  plan.blocks = {{"work", {}}};
  for (std::int64_t us : k)
    plan.blocks[0].ops.push_back(kernel(matmul(us), {{0, Use::kUpdate, 0}}));
  plan.programs[0].calls = {{.block = 0}};
  return plan;
}

/// Stage 0 sends `bytes` to stage 1, behind a kernel of 1 us; `pairs` times side by side.
inline Plan one_message(std::int64_t pairs, std::int64_t bytes) {
  Plan plan = two_stages();
  plan.mesh[Axis::kDp] = pairs;
  std::get<Send>(plan.blocks[1].ops[0].body).bytes = Bytes(bytes);
  std::get<Recv>(plan.blocks[3].ops[0].body).bytes = Bytes(bytes);
  return plan;
}

}  // namespace plait
