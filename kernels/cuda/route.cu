// Forward: a warp to each token looks for its largest logits, one after the other; then a block to
// each expert and group numbers the tokens that chose it, its warps each a run of neighbouring ones
// that they count first, so that slots are taken in the order of tokens. Backward: a warp to each
// token.

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/route.h"

namespace plait::kernels::cuda {
namespace {

constexpr unsigned kWarpsOfBlock = kBlock / kWarp;

__device__ std::int64_t first_row_of_warps() {
  return std::int64_t{blockIdx.x} * kWarpsOfBlock + threadIdx.x / kWarp;
}
__device__ std::int64_t rows_at_a_time() { return std::int64_t{gridDim.x} * kWarpsOfBlock; }

struct Candidate {
  float logit = 0;
  int expert = -1;  // -1: none
  /// In the order of choice: falling logits, rising experts.
  __device__ bool before(const Candidate& b) const {
    if (expert < 0 || b.expert < 0) return b.expert < 0;
    return logit > b.logit || (logit == b.logit && expert < b.expert);
  }
  /// Whether this one comes no later than the last one chosen.
  __device__ bool chosen_by(const Candidate& last) const {
    return last.expert >= 0 &&
           (logit > last.logit || (logit == last.logit && expert <= last.expert));
  }
};

/// The first of the warp's candidates; the first lane's where they are not numbers.
__device__ Candidate first_of_warp(Candidate mine) {
  for (int flip = kWarp / 2; flip > 0; flip /= 2) {
    const Candidate other{__shfl_xor_sync(kAllLanes, mine.logit, flip),
                          __shfl_xor_sync(kAllLanes, mine.expert, flip)};
    if (other.before(mine)) mine = other;
  }
  return {__shfl_sync(kAllLanes, mine.logit, 0), __shfl_sync(kAllLanes, mine.expert, 0)};
}

template <class T>
__device__ Candidate next_largest(const T* logits, std::int64_t experts, const Candidate& last) {
  Candidate best;
  for (auto e = static_cast<int>(threadIdx.x % kWarp); e < experts; e += kWarp) {
    const Candidate mine{to_float(logits[e]), e};
    if (!mine.chosen_by(last) && mine.before(best)) best = mine;
  }
  return first_of_warp(best);
}

/// Slots become -1 - expert.
template <class T>
__global__ void __launch_bounds__(kBlock)
    choose_kernel(T* gates, std::int64_t* slots, const T* logits, Routing r) {
  const unsigned lane = threadIdx.x % kWarp;
  for (std::int64_t row = first_row_of_warps(); row < r.rows(); row += rows_at_a_time()) {
    const T* mine = logits + row * r.experts;
    std::int64_t* chosen = slots + row * r.chosen;
    Candidate last;
    float largest = 0, sum = 0;
    for (std::int64_t i = 0; i < r.chosen; ++i) {
      last = next_largest(mine, r.experts, last);
      if (i == 0) largest = last.logit;
      sum += expf(last.logit - largest);
      if (lane == 0) chosen[i] = -1 - last.expert;
    }
    __syncwarp();  // the first lane's numbers are read by others
    for (std::int64_t i = lane; i < r.chosen; i += kWarp) {
      const float logit = to_float(mine[-1 - chosen[i]]);
      gates[row * r.chosen + i] = from_float<T>(expf(logit - largest) / sum);
    }
  }
}

/// The choices of one group, token by token.
struct ChoicesOfGroup {
  std::int64_t* slots;
  std::int64_t group, entries;
  const Routing& r;
  __device__ std::int64_t& at(std::int64_t entry) const {
    const std::int64_t token = entry / r.chosen;
    return slots[(token * r.groups + group) * r.chosen + entry % r.chosen];
  }
  /// Bit l: entry base + l names the expert.
  __device__ unsigned naming(std::int64_t expert, std::int64_t base, std::int64_t end) const {
    const std::int64_t mine = base + threadIdx.x % kWarp;
    return __ballot_sync(kAllLanes, mine < end && at(mine) == -1 - expert);
  }
};

/// Block (expert, group) turns -1 - expert into slots. Other blocks change other entries.
__global__ void __launch_bounds__(kBlock) take_slots_kernel(std::int64_t* slots, Routing r) {
  __shared__ std::int64_t counts[kWarpsOfBlock];
  const std::int64_t expert = blockIdx.x / r.groups, group = blockIdx.x % r.groups;
  const unsigned warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp, lane = threadIdx.x % kWarp;
  const ChoicesOfGroup choices{slots, group, r.tokens * r.chosen, r};
  const std::int64_t run = (choices.entries + warps * kWarp - 1) / (warps * kWarp) * kWarp;
  const std::int64_t first = warp * run;
  const std::int64_t end = first + run < choices.entries ? first + run : choices.entries;
  std::int64_t count = 0;
#pragma unroll 4
  for (std::int64_t base = first; base < end; base += kWarp) {
    count += __popc(choices.naming(expert, base, end));
  }
  if (lane == 0) counts[warp] = count;
  __syncthreads();
  std::int64_t place = r.first_slot(expert, group);
  const std::int64_t behind = r.first_slot(expert, group + 1);
  for (unsigned w = 0; w < warp; ++w) place += counts[w];
  for (std::int64_t base = first; base < end && place < behind; base += kWarp) {
    const unsigned found = choices.naming(expert, base, end), before = found & ((1U << lane) - 1);
    const std::int64_t mine = place + __popc(before);
    if ((found >> lane & 1U) != 0 && mine < behind) {
      choices.at(base + lane) = mine;
    }
    place += __popc(found);
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    gate_gradient_kernel(T* dlogits, const T* dgates, const T* gates, const std::int64_t* slots,
                         Routing r) {
  const unsigned lane = threadIdx.x % kWarp;
  for (std::int64_t row = first_row_of_warps(); row < r.rows(); row += rows_at_a_time()) {
    T* out = dlogits + row * r.experts;
    const std::int64_t first = row * r.chosen;
    for (std::int64_t e = lane; e < r.experts; e += kWarp) out[e] = from_float<T>(0);
    float mean = 0;
    for (std::int64_t i = 0; i < r.chosen; ++i) {
      mean += to_float(gates[first + i]) * to_float(dgates[first + i]);
    }
    __syncwarp();  // zeros are written
    for (std::int64_t i = lane; i < r.chosen; i += kWarp) {
      const float gradient = to_float(gates[first + i]) * (to_float(dgates[first + i]) - mean);
      out[r.expert_of(slots[first + i])] = from_float<T>(gradient);
    }
  }
}

unsigned blocks_of_rows(const Queue& q, const Routing& r) {
  return blocks_for(q, ceil_div(r.rows(), kWarpsOfBlock));
}

}  // namespace

template <class T>
void route_forward(const Queue& q, T* gates, std::int64_t* slots, const T* logits,
                   const Routing& r) {
  launch(choose_kernel<T>, blocks_of_rows(q, r), kBlock, 0, q.stream, gates, slots, logits, r);
  launch(take_slots_kernel, static_cast<unsigned>(r.experts * r.groups),
         threads_along(r.tokens * r.chosen), 0, q.stream, slots, r);
}

template <class T>
void route_backward(const Queue& q, T* dlogits, const T* dgates, const T* gates,
                    const std::int64_t* slots, const Routing& r) {
  launch(gate_gradient_kernel<T>, blocks_of_rows(q, r), kBlock, 0, q.stream, dlogits, dgates, gates,
         slots, r);
}

#define PLAIT_INSTANTIATE(T)                                                              \
  template void route_forward(const Queue&, T*, std::int64_t*, const T*, const Routing&); \
  template void route_backward(const Queue&, T*, const T*, const T*, const std::int64_t*, \
                               const Routing&);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
