#include "kernels/scan.h"

#include <cmath>
#include <vector>

#include "kernels/chunked_states.h"
#include "kernels/fill.h"
#include "kernels/silu.h"
#include "kernels/softplus.h"

namespace plait::kernels {
namespace {

/// What a head of a sample reads: where its operands of a token are.
template <class T>
class ScanHead {
 public:
  ScanHead(const T* rows, const T* packed, const ScanWeights<T>& w, const ScanShape& s,
           std::int64_t sample, std::int64_t head)
      : rows_(rows), packed_(packed), s_(s), sample_(sample), head_(head) {
    a = -std::exp(w.a_log[head]), d = w.d[head], bias = w.dt_bias[head];
    group_ = head / (s.heads / s.groups);
  }

  std::int64_t row(std::int64_t t) const { return t * s_.samples + sample_; }
  std::int64_t x_at(std::int64_t t) const { return row(t) * s_.row_width() + head_ * s_.head_dim; }
  std::int64_t b_at(std::int64_t t) const {
    return row(t) * s_.row_width() + s_.width() + group_ * s_.state;
  }
  std::int64_t c_at(std::int64_t t) const { return b_at(t) + s_.groups * s_.state; }
  std::int64_t y_at(std::int64_t t) const { return row(t) * s_.width() + head_ * s_.head_dim; }
  std::int64_t step_at(std::int64_t t) const {
    return (row(t) + 1) * s_.packed_width - s_.heads + head_;
  }
  std::int64_t state_at(std::int64_t chunk) const {
    return ((chunk * s_.samples + sample_) * s_.heads + head_) * s_.state_elements();
  }
  const T* x(std::int64_t t) const { return rows_ + x_at(t); }
  const T* b(std::int64_t t) const { return rows_ + b_at(t); }
  const T* c(std::int64_t t) const { return rows_ + c_at(t); }
  T raw_step(std::int64_t t) const { return packed_[step_at(t)] + bias; }
  T step(std::int64_t t) const { return softplus(raw_step(t)); }
  T decay(std::int64_t t) const { return std::exp(step(t) * a); }

  /// h becomes the state behind token t.
  void advance(T* h, const T* before, std::int64_t t) const {
    const T dt = step(t), keep = decay(t);
    for (std::int64_t p = 0; p < s_.head_dim; ++p) {
      for (std::int64_t n = 0; n < s_.state; ++n) {
        const std::int64_t i = p * s_.state + n;
        h[i] = keep * before[i] + dt * x(t)[p] * b(t)[n];
      }
    }
  }

  T a, d, bias;

 private:
  const T *rows_, *packed_;
  const ScanShape& s_;
  std::int64_t sample_, head_, group_ = 0;
};

template <class F>
void for_each_head(const ScanShape& s, F&& f) {
  for (std::int64_t sample = 0; sample < s.samples; ++sample) {
    for (std::int64_t head = 0; head < s.heads; ++head) f(sample, head);
  }
}

/// Makes a state of the one before it.
template <class T>
auto advance_of(const ScanHead<T>& head) {
  return [&head](T* h, const T* before, std::int64_t t) { head.advance(h, before, t); };
}

/// A head's way back.
template <class T>
struct ScanBack {
  T *drows, *dpacked;
  const T* dy;
  const ScanShape& s;
  T da = 0, dd = 0, dbias = 0;
  std::vector<T> dh = {};  // of the state behind the token, from the tokens after it

  /// Of token t, with the states behind it and before it.
  void token(const ScanHead<T>& head, std::int64_t t, const T* after, const T* before) {
    const T *x = head.x(t), *b = head.b(t), *c = head.c(t), *g = dy + head.y_at(t);
    T *dx = drows + head.x_at(t), *db = drows + head.b_at(t), *dc = drows + head.c_at(t);
    const T dt = head.step(t), keep = head.decay(t);
    T of_step = 0, of_decay = 0;
    for (std::int64_t p = 0; p < s.head_dim; ++p) {
      T sum = 0;
      for (std::int64_t n = 0; n < s.state; ++n) {
        const std::int64_t i = p * s.state + n;
        T& d = dh[static_cast<std::size_t>(i)];
        dc[n] += g[p] * after[i];
        d += g[p] * c[n];
        db[n] += d * dt * x[p];
        sum += d * b[n];
        of_decay += d * before[i];
        d *= keep;
      }
      dx[p] = head.d * g[p] + dt * sum;
      dd += g[p] * x[p];
      of_step += sum * x[p];
    }
    of_decay *= keep;  // of dt' A
    const T draw = (of_step + of_decay * head.a) * sigmoid(head.raw_step(t));
    dpacked[head.step_at(t)] = draw;
    dbias += draw;
    da += of_decay * dt * head.a;  // A = -exp(a_log) is its own slope
  }
};

/// Gradients of B and C are sums over the heads of a group.
template <class T>
void clear_rows(T* drows, const ScanShape& s) {
  fill(drows, T(0), s.tokens * s.samples * s.row_width());
}

}  // namespace

template <class T>
void scan_forward(T* y, T* states, const T* rows, const T* packed, const ScanWeights<T>& weights,
                  const ScanShape& s) {
  for_each_head(s, [&](std::int64_t sample, std::int64_t i) {
    const ScanHead<T> head(rows, packed, weights, s, sample, i);
    walk_states(states, head, s, advance_of(head), [&](std::int64_t t, const T* h) {
      T* out = y + head.y_at(t);
      for (std::int64_t p = 0; p < s.head_dim; ++p) {
        T sum = head.d * head.x(t)[p];
        for (std::int64_t n = 0; n < s.state; ++n) sum += h[p * s.state + n] * head.c(t)[n];
        out[p] = sum;
      }
    });
  });
}

template <class T>
void scan_backward(T* drows, T* dpacked, const ScanGradients<T>& gradients, T* states, const T* dy,
                   const T* rows, const T* packed, const ScanWeights<T>& weights,
                   const ScanShape& s, bool accumulate) {
  clear_rows(drows, s);
  for (T* g : {gradients.a_log, gradients.d, gradients.dt_bias}) {
    if (!accumulate) fill(g, T(0), s.heads);
  }
  for_each_head(s, [&](std::int64_t sample, std::int64_t i) {
    const ScanHead<T> head(rows, packed, weights, s, sample, i);
    walk_states(states, head, s, advance_of(head), [](std::int64_t, const T*) {});
    ScanBack<T> back{drows, dpacked, dy, s};
    back.dh.resize(static_cast<std::size_t>(s.state_elements()));
    walk_states_back(static_cast<const T*>(states), head, s, advance_of(head),
                     [&](std::int64_t t, const T* after, const T* before) {
                       back.token(head, t, after, before);
                     });
    gradients.a_log[i] += back.da, gradients.d[i] += back.dd, gradients.dt_bias[i] += back.dbias;
  });
}

#define PLAIT_INSTANTIATE(T)                                                                       \
  template void scan_forward(T*, T*, const T*, const T*, const ScanWeights<T>&, const ScanShape&); \
  template void scan_backward(T*, T*, const ScanGradients<T>&, T*, const T*, const T*, const T*,   \
                              const ScanWeights<T>&, const ScanShape&, bool);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
