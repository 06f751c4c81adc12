#include "kernels/route.h"

#include <cmath>

#include "kernels/fill.h"

namespace plait::kernels {
namespace {

/// The expert with the largest logit below (limit, last) in the order of choice: falling logits,
/// rising experts.
template <class T>
std::int64_t next_largest(const T* logits, std::int64_t experts, T limit, std::int64_t last) {
  std::int64_t best = -1;
  for (std::int64_t e = 0; e < experts; ++e) {
    const bool chosen_before =
        last >= 0 && (logits[e] > limit || (logits[e] == limit && e <= last));
    if (!chosen_before && (best < 0 || logits[e] > logits[best])) best = e;
  }
  return best;
}

/// The k experts of one token, and the softmax over their logits.
template <class T>
void choose(T* gates, std::int64_t* experts, const T* logits, const Routing& r) {
  std::int64_t last = -1;
  T limit = 0, sum = 0;
  for (std::int64_t i = 0; i < r.chosen; ++i) {
    experts[i] = last = next_largest(logits, r.experts, limit, last);
    limit = logits[last];
    gates[i] = std::exp(limit - logits[experts[0]]);
    sum += gates[i];
  }
  for (std::int64_t i = 0; i < r.chosen; ++i) gates[i] /= sum;
}

/// Turns -1 - expert into a slot, for those of a group's tokens that come first. (A token whose
/// logits are not numbers may name an expert twice.)
void take_slots(std::int64_t* slots, std::int64_t group, std::int64_t expert, const Routing& r) {
  std::int64_t next = r.first_slot(expert, group);
  const std::int64_t end = r.first_slot(expert, group + 1);
  for (std::int64_t t = 0; t < r.tokens && next < end; ++t) {
    std::int64_t* row = slots + (t * r.groups + group) * r.chosen;
    for (std::int64_t i = 0; i < r.chosen; ++i) {
      if (row[i] == -1 - expert && next < end) row[i] = next++;
    }
  }
}

}  // namespace

template <class T>
void route_forward(T* gates, std::int64_t* slots, const T* logits, const Routing& r) {
  for (std::int64_t row = 0; row < r.rows(); ++row) {
    choose(gates + row * r.chosen, slots + row * r.chosen, logits + row * r.experts, r);
  }
  for (std::int64_t i = 0; i < r.rows() * r.chosen; ++i) slots[i] = -1 - slots[i];
  for (std::int64_t g = 0; g < r.groups; ++g) {
    for (std::int64_t e = 0; e < r.experts; ++e) take_slots(slots, g, e, r);
  }
}

template <class T>
void route_backward(T* dlogits, const T* dgates, const T* gates, const std::int64_t* slots,
                    const Routing& r) {
  fill(dlogits, T(0), r.rows() * r.experts);
  for (std::int64_t row = 0; row < r.rows(); ++row) {
    const T* gate = gates + row * r.chosen;
    const T* dgate = dgates + row * r.chosen;
    T mean = 0;
    for (std::int64_t i = 0; i < r.chosen; ++i) mean += gate[i] * dgate[i];
    for (std::int64_t i = 0; i < r.chosen; ++i) {
      const std::int64_t expert = r.expert_of(slots[row * r.chosen + i]);
      dlogits[row * r.experts + expert] = gate[i] * (dgate[i] - mean);
    }
  }
}

template <class T>
void dispatch_forward(T* filled, const T* x, const std::int64_t* slots, std::int64_t rows,
                      std::int64_t chosen, std::int64_t all_slots, std::int64_t width) {
  fill(filled, T(0), all_slots * width);
  for (std::int64_t i = 0; i < rows * chosen; ++i) {
    if (slots[i] < 0) continue;
    const T* from = x + i / chosen * width;
    T* to = filled + slots[i] * width;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) to[c] = from[c];
  }
}

void own_slots(std::int64_t* own, const std::int64_t* slots, const GatheredSlots& g) {
  for (std::int64_t i = 0; i < g.rows * g.chosen; ++i) own[i] = g.own_slot(i, slots[i]);
}

template <class T>
void dispatch_backward(T* dx, const T* dfilled, const std::int64_t* slots, std::int64_t rows,
                       std::int64_t chosen, std::int64_t width) {
  fill(dx, T(0), rows * width);
  for (std::int64_t i = 0; i < rows * chosen; ++i) {
    if (slots[i] < 0) continue;
    const T* from = dfilled + slots[i] * width;
    T* to = dx + i / chosen * width;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) to[c] += from[c];
  }
}

template <class T>
void combine_forward(T* out, const T* filled, const T* gates, const std::int64_t* slots,
                     std::int64_t rows, std::int64_t chosen, std::int64_t width) {
  fill(out, T(0), rows * width);
  for (std::int64_t i = 0; i < rows * chosen; ++i) {
    if (slots[i] < 0) continue;
    const T* from = filled + slots[i] * width;
    T* to = out + i / chosen * width;
    const T gate = gates[i];
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) to[c] += gate * from[c];
  }
}

template <class T>
void combine_backward(T* dfilled, T* dgates, const T* dout, const T* filled, const T* gates,
                      const std::int64_t* slots, std::int64_t rows, std::int64_t chosen,
                      std::int64_t all_slots, std::int64_t width) {
  fill(dfilled, T(0), all_slots * width);
  for (std::int64_t i = 0; i < rows * chosen; ++i) {
    T dot = 0;
    if (slots[i] >= 0) {
      const T* gradient = dout + i / chosen * width;
      const T* from = filled + slots[i] * width;
      T* to = dfilled + slots[i] * width;
      const T gate = gates[i];
#pragma omp simd reduction(+ : dot)
      for (std::int64_t c = 0; c < width; ++c) {
        to[c] = gate * gradient[c];
        dot += gradient[c] * from[c];
      }
    }
    dgates[i] = dot;
  }
}

#define PLAIT_ROUTE(T)                                                                           \
  template void route_forward(T*, std::int64_t*, const T*, const Routing&);                      \
  template void route_backward(T*, const T*, const T*, const std::int64_t*, const Routing&);     \
  template void dispatch_forward(T*, const T*, const std::int64_t*, std::int64_t, std::int64_t,  \
                                 std::int64_t, std::int64_t);                                    \
  template void dispatch_backward(T*, const T*, const std::int64_t*, std::int64_t, std::int64_t, \
                                  std::int64_t);                                                 \
  template void combine_forward(T*, const T*, const T*, const std::int64_t*, std::int64_t,       \
                                std::int64_t, std::int64_t);                                     \
  template void combine_backward(T*, T*, const T*, const T*, const T*, const std::int64_t*,      \
                                 std::int64_t, std::int64_t, std::int64_t, std::int64_t);
PLAIT_ROUTE(float)
PLAIT_ROUTE(double)
#undef PLAIT_ROUTE

}  // namespace plait::kernels
