#include "realrun/buffers.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cstring>

namespace plait {
namespace {

template <class T>
std::size_t run_size_of(DType t) {
  switch (t) {
    case DType::kInt64: return 8;
    case DType::kInt8: return 1;
    case DType::kInt32: return 4;
    default: return sizeof(T);
  }
}

void poison(Fresh fresh, std::byte* memory, std::size_t size) {
  if (fresh == Fresh::kNaN) std::memset(memory, 0xFF, size);
}

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargest = 32 << 20;  // bytes: more is refused (HEAP_MAX_SIZE / 2 in malloc)
  constexpr int kNever = 1 << 30;     // bytes
  constexpr int kAtOnce = 64 << 20;   // bytes taken from the system at a time
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, kNever);
  mallopt(M_TOP_PAD, kAtOnce);
#endif
}

template <class T>
Buffers<T>::Buffers(const Plan& plan, std::size_t stage, Fresh fresh, Role role)
    : plan_(plan), fresh_(fresh), role_(role) {
  for (const Place place : kPlaces) {
    for (const Stay& s : stays(plan, stage, place, role)) {
      const Key k = key(s.tensor, s.layer, s.microbatch);
      if (plan.tensors[s.tensor].persistent) {
        live_[of(place)] += plan.tensors[s.tensor].bytes(plan.mesh);
      } else {
        last_use_.emplace(s.last, k);
      }
    }
  }
  peak_ = live_;
}

template <class T>
typename Buffers<T>::Key Buffers<T>::key(TensorId root, std::int32_t layer,
                                         std::int32_t microbatch) const {
  const Scope scope = plan_.tensors[root].scope;
  return {root, per_layer(scope) ? layer : 0, per_microbatch(scope) ? microbatch : 0};
}

/// Persistent tensors begin as zero, others as `fresh_` says, as does what still points there after
/// they have gone.
template <class T>
std::shared_ptr<std::byte[]> Buffers<T>::fresh(const Tensor& t) {
  const std::size_t size =
      static_cast<std::size_t>(t.elements(plan_.mesh)) * run_size_of<T>(t.dtype);
  const std::int64_t planned = t.bytes(plan_.mesh).value;
  const std::int64_t now = allocated_->now += planned;
  allocated_->peak = std::max(allocated_->peak, now);
  auto memory = std::make_unique_for_overwrite<std::byte[]>(size);
  if (t.persistent) {
    std::memset(memory.get(), 0, size);
  } else {
    poison(fresh_, memory.get(), size);
  }
  return {memory.release(), [size, planned, counter = allocated_, fresh = fresh_](std::byte* p) {
            poison(fresh, p, size);
            counter->now -= planned;
            std::default_delete<std::byte[]>()(p);
          }};
}

template <class T>
const std::shared_ptr<std::byte[]>& Buffers<T>::held(TensorId root, std::int32_t layer,
                                                     std::int32_t microbatch) {
  std::shared_ptr<std::byte[]>& buffer = held_[key(root, layer, microbatch)];
  if (buffer == nullptr) {
    const Tensor& t = plan_.tensors[root];
    buffer = fresh(t);
    const std::size_t place = of(t.place);
    if (!t.persistent) live_[place] += t.bytes(plan_.mesh);
    peak_[place] = std::max(peak_[place], live_[place]);
  }
  return buffer;
}

template <class T>
Operands Buffers<T>::operands(const Op& op, const Call& call) {
  Operands out;
  for (const Operand& o : op.operands) {
    const Tensor& t = plan_.tensors[o.tensor];
    if (!plait::holds(role_, plan_.tensors[storage_of(plan_, o.tensor)].holders)) {
      out.add(nullptr, 0);
      continue;
    }
    out.add(held(storage_of(plan_, o.tensor), call.layer + o.shift, call.microbatch),
            t.is_view() ? t.offset : 0);
  }
  return out;
}

template <class T>
bool Buffers<T>::holds(TensorId root, std::int32_t layer, std::int32_t microbatch) const {
  return held_.contains(key(root, layer, microbatch));
}

template <class T>
void Buffers<T>::release_after(std::int64_t flat) {
  const auto [begin, end] = last_use_.equal_range(flat);
  for (auto it = begin; it != end; ++it) {
    const Tensor& t = plan_.tensors[std::get<0>(it->second)];
    if (held_.erase(it->second) > 0) live_[of(t.place)] -= t.bytes(plan_.mesh);
  }
}

template class Buffers<float>;
template class Buffers<double>;

}  // namespace plait
