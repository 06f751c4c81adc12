#include "kernels/delta_rule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/chunked_states.h"
#include "kernels/fill.h"
#include "kernels/silu.h"
#include "kernels/softplus.h"

namespace plait::kernels {
namespace {

/// Below the squares of a key's columns: torch's and flash-linear-attention's l2norm.
constexpr double kLengthEpsilon = 1e-6;

/// Where the operands of a head of a sample are.
class DeltaHead {
 public:
  DeltaHead(const DeltaRuleShape& s, std::int64_t sample, std::int64_t head)
      : s_(s), sample_(sample), head_(head), group_(head / (s.heads / s.groups)) {}

  std::int64_t row(std::int64_t t) const { return t * s_.samples + sample_; }
  // ---- of rows and their gradients
  std::int64_t q_at(std::int64_t t) const { return row(t) * s_.row_width() + group_ * s_.key_dim; }
  std::int64_t k_at(std::int64_t t) const { return q_at(t) + s_.groups * s_.key_dim; }
  std::int64_t v_at(std::int64_t t) const {
    return row(t) * s_.row_width() + 2 * s_.groups * s_.key_dim + head_ * s_.value_dim;
  }
  // ---- of what is kept
  std::int64_t kept_q_at(std::int64_t t) const {
    return row(t) * s_.kept_width() + head_ * s_.key_dim;
  }
  std::int64_t kept_k_at(std::int64_t t) const { return kept_q_at(t) + s_.heads * s_.key_dim; }
  std::int64_t kept_v_at(std::int64_t t) const {
    return row(t) * s_.kept_width() + 2 * s_.heads * s_.key_dim + head_ * s_.value_dim;
  }
  std::int64_t stats_at(std::int64_t t) const { return 4 * (row(t) * s_.heads + head_); }
  // ---- of other tensors
  std::int64_t y_at(std::int64_t t) const { return row(t) * s_.width() + head_ * s_.value_dim; }
  std::int64_t pair_at(std::int64_t t) const {
    return (row(t) + 1) * s_.packed_width - 2 * (s_.heads - head_);
  }
  std::int64_t state_at(std::int64_t chunk) const {
    return ((chunk * s_.samples + sample_) * s_.heads + head_) * s_.state_elements();
  }

 private:
  const DeltaRuleShape& s_;
  std::int64_t sample_, head_, group_;
};

template <class F>
void for_each_value_head(const DeltaRuleShape& s, F&& f) {
  for (std::int64_t sample = 0; sample < s.samples; ++sample) {
    for (std::int64_t head = 0; head < s.heads; ++head) f(DeltaHead(s, sample, head), head);
  }
}

/// to = from / |from|; returns 1 / |from|.
template <class T>
T divide_by_length(T* to, const T* from, std::int64_t n) {
  T squares = static_cast<T>(kLengthEpsilon);
  for (std::int64_t i = 0; i < n; ++i) squares += from[i] * from[i];
  const T inverse = T(1) / std::sqrt(squares);
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i] * inverse;
  return inverse;
}
/// dfrom += what comes back through it, of the gradient of `to`.
template <class T>
void through_length(T* dfrom, const T* dto, const T* to, T inverse, std::int64_t n) {
  T along = 0;
  for (std::int64_t i = 0; i < n; ++i) along += dto[i] * to[i];
  for (std::int64_t i = 0; i < n; ++i) dfrom[i] += inverse * (dto[i] - to[i] * along);
}

/// What a token brings to a head.
template <class T>
struct DeltaToken {
  const T *q, *k, *v;
  T keep, replace;  // exp(g), b

  DeltaToken(const DeltaHead& head, const T* rows, const T* stats, std::int64_t t)
      : q(rows + head.kept_q_at(t)),
        k(rows + head.kept_k_at(t)),
        v(rows + head.kept_v_at(t)),
        keep(std::exp(stats[head.stats_at(t)])),
        replace(stats[head.stats_at(t) + 1]) {}
};

/// What k recalls of a row of the decayed state.
template <class T>
T recalled(const DeltaToken<T>& token, const T* row, const DeltaRuleShape& s) {
  T sum = 0;
  for (std::int64_t n = 0; n < s.key_dim; ++n) sum += row[n] * token.k[n];
  return sum * token.keep;
}

/// Makes a state of the one before it, of what is kept of each token.
template <class T>
auto advance_of(const DeltaHead& head, const T* rows, const T* stats, const DeltaRuleShape& s) {
  return [&head, &s, rows, stats](T* h, const T* before, std::int64_t t) {
    const DeltaToken<T> token(head, rows, stats, t);
    for (std::int64_t p = 0; p < s.value_dim; ++p) {
      const T* row = before + p * s.key_dim;
      const T added = token.replace * (token.v[p] - recalled(token, row, s));
      for (std::int64_t n = 0; n < s.key_dim; ++n) {
        h[p * s.key_dim + n] = token.keep * row[n] + added * token.k[n];
      }
    }
  };
}

template <class T>
T key_scale(const DeltaRuleShape& s) {
  return T(1) / std::sqrt(static_cast<T>(s.key_dim));
}

/// A head's way back.
template <class T>
struct DeltaBack {
  T *drows, *dpacked;
  const T *dy, *packed;
  const DeltaRuleKept<const T>& kept;
  const DeltaRuleShape& s;
  T a, bias;
  T da = 0, dbias = 0;
  std::vector<T> dh = {}, dq = {},
                 dk = {};  // dh: of the state behind the token, from the tokens after it

  /// Of token t, with the states behind it and before it.
  void go_back(const DeltaHead& head, std::int64_t t, const T* after, const T* before) {
    const DeltaToken<T> token(head, kept.rows, kept.stats, t);
    std::fill(dq.begin(), dq.end(), T(0)), std::fill(dk.begin(), dk.end(), T(0));
    T dreplace = 0, dkeep = 0;
    for (std::int64_t p = 0; p < s.value_dim; ++p) {
      row(head, t, p, token, after + p * s.key_dim, before + p * s.key_dim, dreplace, dkeep);
    }
    const T* stats = kept.stats + head.stats_at(t);
    through_length(drows + head.q_at(t), dq.data(), token.q, stats[2], s.key_dim);
    through_length(drows + head.k_at(t), dk.data(), token.k, stats[3], s.key_dim);
    gates(head, t, dreplace, dkeep * token.keep);
  }

 private:
  /// Row p of the states.
  void row(const DeltaHead& head, std::int64_t t, std::int64_t p, const DeltaToken<T>& token,
           const T* after, const T* before, T& dreplace, T& dkeep) {
    T* d = dh.data() + p * s.key_dim;
    const T g = dy[head.y_at(t) + p] * key_scale<T>(s);
    const T missing = token.v[p] - recalled(token, before, s), added = token.replace * missing;
    T dadded = 0;
    for (std::int64_t n = 0; n < s.key_dim; ++n) {
      dq[static_cast<std::size_t>(n)] += g * after[n];
      d[n] += g * token.q[n];
      dadded += d[n] * token.k[n];
    }
    dreplace += dadded * missing;
    const T dv = dadded * token.replace;
    drows[head.v_at(t) + p] += dv;
    for (std::int64_t n = 0; n < s.key_dim; ++n) {
      dk[static_cast<std::size_t>(n)] += d[n] * added - dv * token.keep * before[n];
      d[n] -= dv * token.k[n];  // of the decayed state
      dkeep += d[n] * before[n];
      d[n] *= token.keep;
    }
  }
  void gates(const DeltaHead& head, std::int64_t t, T dreplace, T ddecay) {
    const T replace = kept.stats[head.stats_at(t) + 1];
    const T raw = packed[head.pair_at(t) + 1] + bias;
    const T draw = ddecay * a * sigmoid(raw);
    dpacked[head.pair_at(t)] = dreplace * replace * (T(1) - replace);
    dpacked[head.pair_at(t) + 1] = draw;
    dbias += draw;
    da += ddecay * a * softplus(raw);  // A = -exp(a_log) is its own slope
  }
};

}  // namespace

template <class T>
void delta_rule_forward(T* y, const DeltaRuleKept<T>& kept, T* states, const T* rows,
                        const T* packed, const DeltaRuleWeights<T>& weights,
                        const DeltaRuleShape& s) {
  for_each_value_head(s, [&](const DeltaHead& head, std::int64_t i) {
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      T* stats = kept.stats + head.stats_at(t);
      const T* pair = packed + head.pair_at(t);
      stats[0] = -std::exp(weights.a_log[i]) * softplus(pair[1] + weights.dt_bias[i]);
      stats[1] = sigmoid(pair[0]);
      stats[2] = divide_by_length(kept.rows + head.kept_q_at(t), rows + head.q_at(t), s.key_dim);
      stats[3] = divide_by_length(kept.rows + head.kept_k_at(t), rows + head.k_at(t), s.key_dim);
      std::copy_n(rows + head.v_at(t), s.value_dim, kept.rows + head.kept_v_at(t));
    }
    const T *kept_rows = kept.rows, *kept_stats = kept.stats;
    const auto read = [&](std::int64_t t, const T* h) {
      const T* q = kept_rows + head.kept_q_at(t);
      for (std::int64_t p = 0; p < s.value_dim; ++p) {
        T sum = 0;
        for (std::int64_t n = 0; n < s.key_dim; ++n) sum += h[p * s.key_dim + n] * q[n];
        y[head.y_at(t) + p] = sum * key_scale<T>(s);
      }
    };
    walk_states(states, head, s, advance_of(head, kept_rows, kept_stats, s), read);
  });
}

template <class T>
void delta_rule_backward(T* drows, T* dpacked, const DeltaRuleGradients<T>& gradients, T* states,
                         const T* dy, const DeltaRuleKept<const T>& kept, const T* packed,
                         const DeltaRuleWeights<T>& weights, const DeltaRuleShape& s,
                         bool accumulate) {
  fill(drows, T(0), s.tokens * s.samples * s.row_width());  // sums over the heads of a group
  for (T* g : {gradients.a_log, gradients.dt_bias}) {
    if (!accumulate) fill(g, T(0), s.heads);
  }
  for_each_value_head(s, [&](const DeltaHead& head, std::int64_t i) {
    const auto advance = advance_of(head, kept.rows, kept.stats, s);
    walk_states(states, head, s, advance, [](std::int64_t, const T*) {});
    DeltaBack<T> back{
        drows, dpacked, dy, packed, kept, s, -std::exp(weights.a_log[i]), weights.dt_bias[i]};
    back.dh.resize(static_cast<std::size_t>(s.state_elements()));
    back.dq.resize(static_cast<std::size_t>(s.key_dim));
    back.dk.resize(static_cast<std::size_t>(s.key_dim));
    walk_states_back(static_cast<const T*>(states), head, s, advance,
                     [&](std::int64_t t, const T* after, const T* before) {
                       back.go_back(head, t, after, before);
                     });
    gradients.a_log[i] += back.da, gradients.dt_bias[i] += back.dbias;
  });
}

#define PLAIT_INSTANTIATE(T)                                                            \
  template void delta_rule_forward(T*, const DeltaRuleKept<T>&, T*, const T*, const T*, \
                                   const DeltaRuleWeights<T>&, const DeltaRuleShape&);  \
  template void delta_rule_backward(T*, T*, const DeltaRuleGradients<T>&, T*, const T*, \
                                    const DeltaRuleKept<const T>&, const T*,            \
                                    const DeltaRuleWeights<T>&, const DeltaRuleShape&, bool);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
