#pragma once
// Routing of tokens to experts and the way of their rows into the experts' slots and back on the
// device: kernels/route.h, T = float or bf16, slot by slot as the twin takes them.

#include "kernels/cuda/queue.h"
#include "kernels/route.h"

namespace plait::kernels::cuda {

/// gates[tokens, groups, k]: softmax over the k largest of logits[tokens, groups, experts], largest
/// first; slots[tokens, groups, k]: where the token's rows go, or -1 - expert.
template <class T>
void route_forward(const Queue& q, T* gates, std::int64_t* slots, const T* logits,
                   const Routing& r);

/// dlogits[tokens, groups, experts] from dgates.
template <class T>
void route_backward(const Queue& q, T* dlogits, const T* dgates, const T* gates,
                    const std::int64_t* slots, const Routing& r);

/// filled[slots, width]: rows of x[rows, width] in the slots that they take, zeros in the others.
/// Which row took a slot lies in the scratch memory: slots <= 2^23.
template <class T>
void dispatch_forward(const Queue& q, T* filled, const T* x, const std::int64_t* slots,
                      std::int64_t rows, std::int64_t chosen, std::int64_t all_slots,
                      std::int64_t width);

/// own[rows, k]: of the slots that tokens of several ranks take, those of this rank's experts.
void own_slots(const Queue& q, std::int64_t* own, const std::int64_t* slots,
               const GatheredSlots& g);

/// dx[rows, width]: the sum over a row's slots of dfilled.
template <class T>
void dispatch_backward(const Queue& q, T* dx, const T* dfilled, const std::int64_t* slots,
                       std::int64_t rows, std::int64_t chosen, std::int64_t width);

/// out[rows, width]: the sum over a row's slots of gate x filled.
template <class T>
void combine_forward(const Queue& q, T* out, const T* filled, const T* gates,
                     const std::int64_t* slots, std::int64_t rows, std::int64_t chosen,
                     std::int64_t width);

/// dfilled[slots, width] = gate x dout in the slots taken, 0 in the others; dgates[rows, k] = the
/// dot product of dout and filled, 0 where the row was dropped. slots <= 2^23.
template <class T>
void combine_backward(const Queue& q, T* dfilled, T* dgates, const T* dout, const T* filled,
                      const T* gates, const std::int64_t* slots, std::int64_t rows,
                      std::int64_t chosen, std::int64_t all_slots, std::int64_t width);

}  // namespace plait::kernels::cuda
