// What is by slots goes by slots: a table in the scratch memory says which choice of which row took
// each, so that every slot is written once, with its row or with zeros. What is by rows adds up the
// row's slots in the order of its choices.

#include "core/error.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/route.h"

namespace plait::kernels::cuda {
namespace {

struct ClearTaken {
  int* taken;
  template <int V>
  __device__ void run(std::int64_t slot) const {
    taken[slot] = -1;
  }
};
struct NoteTaken {
  int* taken;
  const std::int64_t* slots;
  template <int V>
  __device__ void run(std::int64_t choice) const {
    if (slots[choice] >= 0) taken[slots[choice]] = static_cast<int>(choice);
  }
};
/// taken[slot]: the choice, row chosen + i, that took the slot, or -1.
const int* choices_by_slot(const Queue& q, const std::int64_t* slots, std::int64_t choices,
                           std::int64_t all_slots) {
  PLAIT_CHECK(static_cast<std::size_t>(all_slots) * sizeof(int) <= q.kernel_scratch_bytes,
              "a mixture of experts: more slots than the scratch memory holds");
  auto* taken = static_cast<int*>(q.scratch);
  for_each_element<1>(q, false, all_slots, ClearTaken{taken});
  for_each_element<1>(q, false, choices, NoteTaken{taken, slots});
  return taken;
}

/// out[slot] = (gate) x of the row that took it, or zeros.
template <class T>
struct FillSlots {
  T* out;
  const T *x, *gates;  // gates may be null: 1
  const int* taken;
  std::int64_t chosen, width;
  template <int V>
  __device__ void run(std::int64_t slot, std::int64_t column) const {
    const int choice = taken[slot];
    Floats<V> value{};
    if (choice >= 0) {
      value = load<V>(x + choice / chosen * width + column);
      const float gate = gates == nullptr ? 1.0F : to_float(gates[choice]);
#pragma unroll
      for (int i = 0; i < V; ++i) value.at[i] *= gate;
    }
    store(out + slot * width + column, value);
  }
};

/// out[row] = the sum over the row's slots of (gate) filled.
template <class T>
struct AddSlots {
  T* out;
  const T *filled, *gates;  // gates may be null: 1
  const std::int64_t* slots;
  std::int64_t chosen, width;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    Floats<V> sum{};
    for (std::int64_t choice = row * chosen; choice < (row + 1) * chosen; ++choice) {
      const std::int64_t slot = slots[choice];
      if (slot < 0) continue;
      const float gate = gates == nullptr ? 1.0F : to_float(gates[choice]);
      const Floats<V> value = load<V>(filled + slot * width + column);
#pragma unroll
      for (int i = 0; i < V; ++i) sum.at[i] += gate * value.at[i];
    }
    store(out + row * width + column, sum);
  }
};

/// dgates, a warp to each choice.
template <int V, class T>
__global__ void __launch_bounds__(kBlock)
    dots_kernel(T* dgates, const T* dout, const T* filled, const std::int64_t* slots,
                std::int64_t choices, std::int64_t chosen, std::int64_t width) {
  const std::int64_t warps = std::int64_t{gridDim.x} * (kBlock / kWarp);
  const std::int64_t lane = threadIdx.x % kWarp;
  for (std::int64_t choice = std::int64_t{blockIdx.x} * (kBlock / kWarp) + threadIdx.x / kWarp;
       choice < choices; choice += warps) {
    const std::int64_t slot = slots[choice];
    const T *a = dout + choice / chosen * width, *b = filled + slot * width;
    float dot = 0;
    for (std::int64_t column = lane * V; slot >= 0 && column < width; column += kWarp * V) {
      const Floats<V> x = load<V>(a + column), y = load<V>(b + column);
#pragma unroll
      for (int i = 0; i < V; ++i) dot += x.at[i] * y.at[i];
    }
    dot = reduce_warp(dot, Plus{});
    if (lane == 0) dgates[choice] = from_float<T>(dot);
  }
}

template <class T>
void fill_slots(const Queue& q, T* out, const T* x, const T* gates, const std::int64_t* slots,
                std::int64_t rows, std::int64_t chosen, std::int64_t all_slots,
                std::int64_t width) {
  const int* taken = choices_by_slot(q, slots, rows * chosen, all_slots);
  for_each_in_rows<kVector<T>>(q, aligned({out, x}), all_slots, width,
                               FillSlots<T>{out, x, gates, taken, chosen, width});
}

struct OwnSlots {
  std::int64_t* own;
  const std::int64_t* slots;
  GatheredSlots of;
  template <int V>
  __device__ void run(std::int64_t choice) const {
    own[choice] = of.own_slot(choice, slots[choice]);
  }
};

}  // namespace

void own_slots(const Queue& q, std::int64_t* own, const std::int64_t* slots,
               const GatheredSlots& g) {
  for_each_element<1>(q, false, g.rows * g.chosen, OwnSlots{own, slots, g});
}

template <class T>
void dispatch_forward(const Queue& q, T* filled, const T* x, const std::int64_t* slots,
                      std::int64_t rows, std::int64_t chosen, std::int64_t all_slots,
                      std::int64_t width) {
  fill_slots<T>(q, filled, x, nullptr, slots, rows, chosen, all_slots, width);
}

template <class T>
void dispatch_backward(const Queue& q, T* dx, const T* dfilled, const std::int64_t* slots,
                       std::int64_t rows, std::int64_t chosen, std::int64_t width) {
  for_each_in_rows<kVector<T>>(q, aligned({dx, dfilled}), rows, width,
                               AddSlots<T>{dx, dfilled, nullptr, slots, chosen, width});
}

template <class T>
void combine_forward(const Queue& q, T* out, const T* filled, const T* gates,
                     const std::int64_t* slots, std::int64_t rows, std::int64_t chosen,
                     std::int64_t width) {
  for_each_in_rows<kVector<T>>(q, aligned({out, filled}), rows, width,
                               AddSlots<T>{out, filled, gates, slots, chosen, width});
}

template <class T>
void combine_backward(const Queue& q, T* dfilled, T* dgates, const T* dout, const T* filled,
                      const T* gates, const std::int64_t* slots, std::int64_t rows,
                      std::int64_t chosen, std::int64_t all_slots, std::int64_t width) {
  fill_slots(q, dfilled, dout, gates, slots, rows, chosen, all_slots, width);
  constexpr int kWide = kVector<T>;
  const bool vectorised = aligned({dout, filled}) && width % kWide == 0;
  auto* kernel = vectorised ? dots_kernel<kWide, T> : dots_kernel<1, T>;
  launch(kernel, blocks_for(q, ceil_div(rows * chosen, kBlock / kWarp)), kBlock, 0, q.stream,
         dgates, dout, filled, slots, rows * chosen, chosen, width);
}

#define PLAIT_INSTANTIATE(T)                                                                     \
  template void dispatch_forward(const Queue&, T*, const T*, const std::int64_t*, std::int64_t,  \
                                 std::int64_t, std::int64_t, std::int64_t);                      \
  template void dispatch_backward(const Queue&, T*, const T*, const std::int64_t*, std::int64_t, \
                                  std::int64_t, std::int64_t);                                   \
  template void combine_forward(const Queue&, T*, const T*, const T*, const std::int64_t*,       \
                                std::int64_t, std::int64_t, std::int64_t);                       \
  template void combine_backward(const Queue&, T*, T*, const T*, const T*, const T*,             \
                                 const std::int64_t*, std::int64_t, std::int64_t, std::int64_t,  \
                                 std::int64_t);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
