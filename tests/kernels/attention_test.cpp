#include "kernels/attention.h"

#include <algorithm>

#include "tests/kernels/reference.h"

namespace plait::kernels::attention_test {

AttentionShape shape(std::int64_t sequence, std::int64_t batch, std::int64_t heads,
                     std::int64_t kv_heads, std::int64_t head_dim, bool causal = true) {
  return {sequence, batch, heads, kv_heads, head_dim, causal};
}
AttentionShape with_values(AttentionShape s, std::int64_t value_dim) {
  s.value_dim = value_dim;
  return s;
}
constexpr std::int64_t kShort[] = {0, 2, 3, 5}, kLong[] = {0, 1, 65, 130};
AttentionShape with_documents(AttentionShape s, const std::int64_t (&bounds)[4]) {
  s.documents = 3, s.bounds = bounds;
  return s;
}
AttentionShape with_window(AttentionShape s, std::int64_t window) {
  s.window = window;
  return s;
}
/// Multi-head, grouped, multi-query; below, at and above one tile of 64; causal or not; windows of
/// one key, within a tile and over several, and with documents.
const AttentionShape kShapes[] = {shape(1, 1, 1, 1, 1),
                                  shape(3, 2, 4, 2, 5),
                                  shape(17, 1, 3, 1, 3),
                                  shape(64, 1, 2, 2, 3),
                                  shape(65, 2, 2, 1, 5),
                                  shape(130, 1, 1, 1, 17),
                                  shape(5, 1, 2, 2, 65),
                                  shape(65, 1, 2, 1, 3, false),
                                  shape(3, 2, 4, 2, 5, false),
                                  with_values(shape(65, 2, 2, 1, 6), 3),
                                  with_values(shape(3, 2, 4, 2, 5), 9),
                                  with_documents(shape(5, 2, 4, 2, 3), kShort),
                                  with_documents(with_values(shape(130, 1, 2, 1, 5), 3), kLong),
                                  with_window(shape(5, 2, 4, 2, 3), 1),
                                  with_window(shape(200, 1, 2, 1, 5), 3),
                                  with_window(shape(200, 1, 2, 2, 3), 66),
                                  with_window(shape(65, 2, 2, 1, 5), 100),
                                  with_window(with_documents(shape(130, 1, 2, 1, 5), kLong), 7)};

Dropout dropout(const AttentionShape& s, double probability) {
  Dropout d;
  d.probability = probability, d.seed = 3, d.positions = s.sequence, d.heads = s.heads;
  return d;
}

std::int64_t qkv_elements(const AttentionShape& s) { return s.sequence * s.batch * s.row_width(); }
std::int64_t rows(const AttentionShape& s) { return s.sequence * s.batch * s.heads; }

/// One pass through either form, with all that it writes.
template <class T>
struct Execution {
  AttentionShape s;
  Dropout drop;
  std::vector<T> qkv, context, log_sum_exp, probabilities, dropped;
  std::vector<std::uint8_t> mask;

  Execution(std::vector<T> in, const AttentionShape& sh, const Dropout& d)
      : s(sh), drop(d), qkv(std::move(in)), context(poisoned<T>(rows(s) * s.v_dim())) {}
  std::uint8_t* mask_or_null() { return drop.probability > 0 ? mask.data() : nullptr; }
  T* dropped_or_null() { return drop.probability > 0 ? dropped.data() : nullptr; }

  Execution& fused() {
    log_sum_exp = poisoned<T>(rows(s));
    attention_fused_forward(context.data(), log_sum_exp.data(), qkv.data(), s, drop);
    return *this;
  }
  Execution& unfused() {
    probabilities = dropped = poisoned<T>(rows(s) * s.sequence);
    mask.assign(probabilities.size(), 9);
    attention_unfused_forward(context.data(), probabilities.data(), mask_or_null(),
                              dropped_or_null(), qkv.data(), s, drop);
    return *this;
  }
  std::vector<T> fused_backward(const std::vector<T>& dcontext) {
    auto dqkv = poisoned<T>(qkv_elements(s));
    attention_fused_backward(dqkv.data(), dcontext.data(), qkv.data(), context.data(),
                             log_sum_exp.data(), s, drop);
    return dqkv;
  }
  std::vector<T> unfused_backward(const std::vector<T>& dcontext) {
    auto dqkv = poisoned<T>(qkv_elements(s));
    attention_unfused_backward(dqkv.data(), dcontext.data(), qkv.data(), context.data(),
                               probabilities.data(), mask_or_null(), dropped_or_null(), s,
                               drop.probability);
    return dqkv;
  }
};

struct Reference {
  std::vector<double> context, log_sum_exp, probabilities;
};
/// The definition, one query at a time. `mask`: empty, or 1 where a probability is kept.
Reference reference(const std::vector<double>& qkv, const AttentionShape& s,
                    const std::vector<std::uint8_t>& mask, double probability) {
  Reference out;
  const std::int64_t group = s.heads / s.kv_heads;
  for (std::int64_t row = 0; row < rows(s); ++row) {
    const std::int64_t i = row / (s.batch * s.heads), b = row / s.heads % s.batch,
                       h = row % s.heads;
    const auto element = [&](std::int64_t token, std::int64_t head, std::int64_t c) {
      const std::int64_t at = (token * s.batch + b) * s.row_width() + head * s.head_dim + c;
      return qkv[static_cast<std::size_t>(at)];
    };
    const std::int64_t seen = s.causal ? i + 1 : s.sequence;
    std::int64_t first =
        s.documents > 0 ? *(std::upper_bound(s.bounds, s.bounds + s.documents, i) - 1) : 0;
    if (s.window > 0) first = std::max(first, i - s.window + 1);
    std::vector<double> p(static_cast<std::size_t>(s.sequence));
    double sum = 0;
    for (std::int64_t j = first; j < seen; ++j) {
      double score = 0;
      for (std::int64_t c = 0; c < s.head_dim; ++c) {
        score += element(i, h, c) * element(j, s.heads + h / group, c);
      }
      p[static_cast<std::size_t>(j)] = std::exp(score / std::sqrt(static_cast<double>(s.head_dim)));
      sum += p[static_cast<std::size_t>(j)];
    }
    for (double& x : p) x /= sum;
    out.log_sum_exp.push_back(std::log(sum));
    out.probabilities.insert(out.probabilities.end(), p.begin(), p.end());
    for (std::int64_t c = 0; c < s.v_dim(); ++c) {
      double value = 0;
      for (std::int64_t j = 0; j < seen; ++j) {
        const double weight = p[static_cast<std::size_t>(j)];
        const bool kept = mask.empty() || mask[static_cast<std::size_t>(row * s.sequence + j)] == 1;
        // Values stand behind all keys, in heads of their own width.
        const double v = element(j, s.heads + s.kv_heads, h / group * s.v_dim() + c);
        value += kept ? weight * v / (1 - probability) : 0;
      }
      out.context.push_back(value);
    }
  }
  return out;
}

/// Probabilities carry the error of a score, a sum of head_dim terms, and of the exponentials' sum,
/// whose terms have the mean size 1 / sequence; the context averages values of size 1 by them.
template <class T>
double tolerance(const AttentionShape& s) {
  return 4 * (rounding<T>(s.head_dim) / std::sqrt(static_cast<double>(s.head_dim)) +
              rounding<T>(s.sequence, 1.0 / static_cast<double>(s.sequence)));
}

template <class T>
class Attention : public ::testing::Test {};
TYPED_TEST_SUITE(Attention, Precisions);

TYPED_TEST(Attention, FusedForwardIsTheDefinition) {
  using T = TypeParam;
  for (const AttentionShape& s : kShapes) {
    const auto qkv = Random().values<T>(qkv_elements(s));
    const Execution<T> run = Execution<T>(qkv, s, dropout(s, 0)).fused();
    const Reference want = reference(widened(qkv), s, {}, 0);
    expect_near(run.context, want.context, tolerance<T>(s));
    expect_near(run.log_sum_exp, want.log_sum_exp, tolerance<T>(s));
  }
}

TYPED_TEST(Attention, UnfusedForwardIsTheDefinition) {
  using T = TypeParam;
  for (const AttentionShape& s : kShapes) {
    const auto qkv = Random().values<T>(qkv_elements(s));
    const Execution<T> run = Execution<T>(qkv, s, dropout(s, 0)).unfused();
    const Reference want = reference(widened(qkv), s, {}, 0);
    expect_near(run.context, want.context, tolerance<T>(s));
    expect_near(run.probabilities, want.probabilities, tolerance<T>(s));
  }
}

TYPED_TEST(Attention, BothFormsDropTheSameProbabilitiesAndScaleTheRest) {
  using T = TypeParam;
  const double probability = 0.25;
  for (const AttentionShape& s : kShapes) {
    const auto qkv = Random().values<T>(qkv_elements(s));
    Execution<T> fused(qkv, s, dropout(s, probability)), unfused = fused;
    fused.fused(), unfused.unfused();
    for (const std::uint8_t m : unfused.mask) ASSERT_LE(m, 1);
    const Reference want = reference(widened(qkv), s, unfused.mask, probability);
    const double bound = tolerance<T>(s) / (1 - probability);
    expect_near(unfused.context, want.context, bound);
    expect_near(fused.context, want.context, bound);
    expect_near(unfused.probabilities, want.probabilities, bound);
    expect_near(fused.log_sum_exp, want.log_sum_exp, bound);
    std::vector<double> dropped = want.probabilities;
    for (std::size_t i = 0; i < dropped.size(); ++i) dropped[i] *= unfused.mask[i] / 0.75;
    expect_near(unfused.dropped, dropped, bound);
  }
}

/// Backward of both forms against central differences of the fused forward, which is the
/// definition.
void expect_backward_is_slope(const AttentionShape& s, double probability) {
  const Dropout drop = dropout(s, probability);
  const auto qkv = Random().values<double>(qkv_elements(s));
  const auto dcontext = Random(2).values<double>(rows(s) * s.v_dim());
  const auto loss = [&](const std::vector<double>& at) {
    return dot(Execution<double>(at, s, drop).fused().context, dcontext);
  };
  const auto fused = Execution<double>(qkv, s, drop).fused().fused_backward(dcontext);
  const auto unfused = Execution<double>(qkv, s, drop).unfused().unfused_backward(dcontext);
  if (qkv.size() <= 400) {
    expect_gradient(loss, qkv, fused);
    expect_gradient(loss, qkv, unfused);
  } else {
    expect_gradient_in_directions(loss, qkv, fused, 20);
    expect_gradient_in_directions(loss, qkv, unfused, 20);
  }
}

TEST(Attention, BackwardIsTheSlopeOfForward) {
  for (const AttentionShape& s : kShapes) {
    ASSERT_NO_FATAL_FAILURE(expect_backward_is_slope(s, 0)) << s.sequence << " " << s.head_dim;
  }
}

TEST(Attention, BackwardIsTheSlopeOfForwardWithDropout) {
  for (const AttentionShape& s : kShapes) {
    ASSERT_NO_FATAL_FAILURE(expect_backward_is_slope(s, 0.25)) << s.sequence << " " << s.head_dim;
  }
}

/// |got - want| <= tolerance |want|, Euclidean.
template <class T>
void expect_close(const std::vector<T>& got, const std::vector<double>& want, double tolerance) {
  std::vector<double> difference = widened(got);
  for (std::size_t i = 0; i < want.size(); ++i) difference[i] -= want[i];
  EXPECT_LE(std::sqrt(dot(difference, difference)), tolerance * std::sqrt(dot(want, want)));
}

TEST(Attention, BothBackwardsAgreeInBothPrecisions) {
  for (const double probability : {0.0, 0.25}) {
    for (const AttentionShape& s : kShapes) {
      const auto gradients = [&]<class T>(T) {
        const auto qkv = Random().values<T>(qkv_elements(s));
        const auto dcontext = Random(2).values<T>(rows(s) * s.v_dim());
        const Dropout d = dropout(s, probability);
        return std::pair(Execution<T>(qkv, s, d).fused().fused_backward(dcontext),
                         Execution<T>(qkv, s, d).unfused().unfused_backward(dcontext));
      };
      const auto [fused, unfused] = gradients(0.0);
      const auto [fused_float, unfused_float] = gradients(0.0F);
      // An element sums up to `terms` products whose factors are exact to head_dim + 16 roundings.
      // With signs at random the sum of sizes exceeds the element by the root of `terms`, and the
      // roundings, at random too, fall short of their bound by as much.
      const std::int64_t terms = s.sequence * s.heads / s.kv_heads;
      const auto roundings = static_cast<double>(terms + s.head_dim + 16);
      expect_close(unfused, fused, roundings * 2.3e-16);
      expect_close(fused_float, fused, roundings * 1.2e-7);
      expect_close(unfused_float, fused, roundings * 1.2e-7);
    }
  }
}

/// Columns of the heads [first, first + heads) and the kv heads that serve them, as a rank of a
/// tensor-parallel group holds them.
std::vector<double> head_shard(const std::vector<double>& qkv, const AttentionShape& whole,
                               std::int64_t shard, std::int64_t shards) {
  std::vector<double> out;
  const std::int64_t q = whole.heads / shards * whole.head_dim;
  const std::int64_t kv = whole.kv_heads / shards * whole.head_dim;
  for (std::int64_t row = 0; row < whole.sequence * whole.batch; ++row) {
    const auto start = qkv.begin() + row * whole.row_width();
    const auto keys = start + whole.heads * whole.head_dim;
    const auto values = keys + whole.kv_heads * whole.head_dim;
    out.insert(out.end(), start + shard * q, start + (shard + 1) * q);
    out.insert(out.end(), keys + shard * kv, keys + (shard + 1) * kv);
    out.insert(out.end(), values + shard * kv, values + (shard + 1) * kv);
  }
  return out;
}

TEST(Attention, AShardOfHeadsDrawsTheDropoutOfTheWhole) {
  const AttentionShape whole = shape(17, 2, 4, 2, 3);
  const auto qkv = Random().values<double>(qkv_elements(whole));
  Execution<double> all = Execution<double>(qkv, whole, dropout(whole, 0.5)).fused();
  for (const std::int64_t shard : {0, 1}) {
    AttentionShape s = whole;
    s.heads = 2, s.kv_heads = 1;
    Dropout d = dropout(whole, 0.5);  // positions and heads are the whole model's
    d.head_offset = 2 * shard;
    const Execution<double> part =
        Execution<double>(head_shard(qkv, whole, shard, 2), s, d).fused();
    for (std::int64_t i = 0; i < rows(s) * s.head_dim; ++i) {
      const std::int64_t width = s.heads * s.head_dim;
      const std::int64_t at = i / width * whole.heads * whole.head_dim + shard * width + i % width;
      ASSERT_DOUBLE_EQ(part.context[static_cast<std::size_t>(i)],
                       all.context[static_cast<std::size_t>(at)]);
    }
  }
}

TEST(Attention, ASampleDrawsTheDropoutItHasInTheWholeBatch) {
  const AttentionShape whole = shape(17, 3, 2, 1, 3);
  const auto qkv = Random().values<double>(qkv_elements(whole));
  const Execution<double> all = Execution<double>(qkv, whole, dropout(whole, 0.5)).fused();
  AttentionShape s = whole;
  s.batch = 1;
  Dropout d = dropout(whole, 0.5);
  d.sample_offset = 2;
  std::vector<double> sample, want;
  for (std::int64_t i = 0; i < s.sequence; ++i) {
    const auto row = qkv.begin() + (i * 3 + 2) * s.row_width();
    sample.insert(sample.end(), row, row + s.row_width());
    const auto out = all.context.begin() + (i * 3 + 2) * s.heads * s.head_dim;
    want.insert(want.end(), out, out + s.heads * s.head_dim);
  }
  expect_near(Execution<double>(sample, s, d).fused().context, want, tolerance<double>(s));
}

TYPED_TEST(Attention, LargeScoresDoNotOverflow) {
  using T = TypeParam;
  const AttentionShape s = shape(65, 1, 1, 1, 1);
  auto qkv = Random().values<T>(qkv_elements(s));
  for (T& x : qkv) x *= T(100);  // scores up to 1e4, whose exponential no type holds
  const Execution<T> fused = Execution<T>(qkv, s, dropout(s, 0)).fused();
  const Execution<T> unfused = Execution<T>(qkv, s, dropout(s, 0)).unfused();
  for (const T x : fused.context) ASSERT_TRUE(std::isfinite(x));
  // A score is exact to eps 1e4, which is the relative error of its probability.
  expect_near(fused.context, widened(unfused.context), 100 * rounding<T>(1, 1e4));
}

}  // namespace plait::kernels::attention_test
