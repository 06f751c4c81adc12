#include "kernels/cuda/attention.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::attention_test {

/// One tile, several, odd ends; groups of heads; widths that fill a tile's columns and that do not.
struct Case {
  std::int64_t sequence, batch, heads, kv_heads, head_dim;
  bool causal;
  double dropout;
  std::int64_t other_keys;  // 0, or keys in rows of their own and queries at two places
  std::int64_t value_dim = 0;
  bool block = false;  // the keys are those of another rank, and results are merged with others
  /// Of the first of the packed documents; each of the others is twice as long as the one before.
  std::int64_t document = 0;
  std::int64_t window = 0;
};
constexpr Case kCases[] = {
    {8, 1, 1, 1, 8, true, 0, 0},
    {70, 2, 4, 2, 24, true, 0, 0},
    {130, 1, 2, 2, 64, true, 0.2, 0},
    {65, 1, 2, 1, 128, true, 0, 0},
    {67, 2, 3, 1, 16, false, 0.3, 0},
    {72, 2, 2, 1, 40, true, 0.1, 200},
    {66, 1, 2, 2, 72, false, 0, 130},
    {66, 1, 2, 1, 24, true, 0, 0, 8},
    {33, 1, 1, 1, 192, true, 0, 0, 128},
    // Documents within a tile, over several, from one tile's end; queries from two places of them.
    {70, 2, 4, 2, 24, true, 0, 0, 0, false, 3},
    {200, 1, 2, 1, 16, true, 0.2, 0, 8, false, 64},
    {150, 1, 2, 2, 72, true, 0, 0, 0, false, 1},
    {72, 2, 2, 1, 40, true, 0.1, 200, 0, false, 30},
    // Windows of one key, within a tile, over several; from two places; of documents.
    {70, 2, 4, 2, 24, true, 0, 0, 0, false, 0, 1},
    {200, 1, 2, 1, 16, true, 0.2, 0, 8, false, 0, 30},
    {200, 1, 2, 2, 72, true, 0, 0, 0, false, 0, 66},
    {72, 2, 2, 1, 40, true, 0.1, 200, 0, false, 0, 9},
    {150, 1, 2, 2, 24, true, 0, 0, 0, false, 3, 20},
};
/// Blocks of keys, as many as queries: some of the first run alone, the first one and some of the
/// second.
constexpr Case kBlocks[] = {
    {80, 1, 2, 1, 24, true, 0.2, 80, 8, true},
    {140, 1, 1, 1, 16, true, 0, 140, 0, true},
};

std::vector<std::int64_t> bounds_of(const Case& c) {
  std::vector<std::int64_t> bounds = {0};
  const std::int64_t keys = c.other_keys > 0 ? c.other_keys : c.sequence;
  for (std::int64_t n = c.document; n > 0 && bounds.back() < keys; n *= 2) {
    bounds.push_back(std::min(bounds.back() + n, keys));
  }
  return bounds;
}
AttentionShape shape_of(const Case& c) {
  AttentionShape s{c.sequence, c.batch, c.heads, c.kv_heads, c.head_dim, c.causal};
  if (c.other_keys > 0) {
    s.other_keys = c.other_keys;
    s.place = {10, c.sequence / 2, c.other_keys - c.sequence};
  }
  s.value_dim = c.value_dim, s.window = c.window;
  s.documents = static_cast<std::int64_t>(bounds_of(c).size()) - 1;
  if (c.block) {
    const std::int64_t run = c.sequence / 2;
    s.place = {run, run, 4 * run}, s.keys_place = {0, run, 4 * run + 5}, s.merges = true;
  }
  return s;
}
Dropout dropout_of(const Case& c, const AttentionShape& s) {
  Dropout d;
  d.probability = c.dropout, d.seed = 5, d.sample_offset = 3, d.place = s.place, d.positions = 300;
  d.head_offset = 2, d.heads = 9;
  return d;
}

/// Sums of products of numbers that were rounded to T on the way (probabilities, and the gradients
/// of scores), compared with the largest of the results: each of up to eight roundings in a row
/// takes half a unit in the last place of numbers of that size. In float it is the order of sums.
template <class T>
void expect_sums_close(const OnDevice<T>& got, const std::vector<float>& want, const char* what) {
  SCOPED_TRACE(what);
  double largest = 0;
  for (const float v : want) largest = std::max(largest, std::abs(static_cast<double>(v)));
  const double tolerance = 8 * kRoundingError<T> * largest + rounding<float>(64, largest / 8);
  const std::vector<T> values = got.values();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(to_float(values[i]), want[i], tolerance) << "at " << i;
  }
}

template <class T>
class CudaAttention : public ::testing::Test {
 protected:
  static std::vector<float> zeros(std::int64_t n) {
    return std::vector<float>(static_cast<std::size_t>(n));
  }
  /// Rows, gradients and context of a case; twins in float.
  struct Tensors {
    std::vector<std::int64_t> bounds;
    OnDevice<std::int64_t> device_bounds;
    AttentionShape shape, on_device;
    Dropout dropout;
    Numbers<T> qkv, kv, dcontext;
    std::vector<float> context, dqkv, dkv;
    OnDevice<T> device_qkv, device_kv, device_dcontext, device_context, device_dqkv, device_dkv;
    explicit Tensors(const Case& c, Random random = Random())
        : bounds(bounds_of(c)),
          device_bounds(bounds),
          shape(shape_of(c)),
          on_device(shape),
          dropout(dropout_of(c, shape)),
          qkv(numbers<T>(random, c.sequence * c.batch * shape.row_width())),
          kv(numbers<T>(random, c.other_keys * c.batch * shape.kv_row_width())),
          dcontext(numbers<T>(random, c.sequence * c.batch * c.heads * shape.v_dim())),
          context(dcontext.wide.size()),
          dqkv(qkv.wide.size()),
          dkv(kv.wide.size()),
          device_qkv(qkv.narrow),
          device_kv(kv.narrow),
          device_dcontext(dcontext.narrow),
          device_context(unwritten<T>(size(context))),
          device_dqkv(unwritten<T>(size(dqkv))),
          device_dkv(unwritten<T>(size(dkv))) {
      shape.bounds = bounds.data(), on_device.bounds = device_bounds.data();
    }
    static std::int64_t size(const std::vector<float>& x) {
      return static_cast<std::int64_t>(x.size());
    }
    bool apart() const { return shape.other_keys > 0; }
    Packed<const float> rows() { return {qkv.wide.data(), apart() ? kv.wide.data() : nullptr}; }
    Packed<float> gradients() { return {dqkv.data(), apart() ? dkv.data() : nullptr}; }
    Packed<const T> device_rows() {
      return {device_qkv.data(), apart() ? device_kv.data() : nullptr};
    }
    Packed<T> device_gradients() {
      return {device_dqkv.data(), apart() ? device_dkv.data() : nullptr};
    }
    void expect_gradients() const {
      expect_sums_close(device_dqkv, dqkv, "dqkv");
      if (apart()) expect_sums_close(device_dkv, dkv, "dkv");
    }
  };
};
TYPED_TEST_SUITE(CudaAttention, Elements);

TYPED_TEST(CudaAttention, FusedEqualsItsTwin) {
  using T = TypeParam;
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message() << c.sequence << " queries, head_dim " << c.head_dim);
    typename TestFixture::Tensors t(c);
    std::vector<float> lse = this->zeros(c.sequence * c.batch * c.heads);
    OnDevice<float> device_lse(unwritten<float>(t.size(lse)));
    kernels::attention_fused_forward(t.context.data(), lse.data(), t.rows(), t.shape, t.dropout);
    attention_fused_forward(queue(), t.device_context.data(), device_lse.data(), t.device_rows(),
                            t.on_device, t.dropout);
    expect_sums_close(t.device_context, t.context, "context");
    expect_close(device_lse, lse, c.head_dim);

    // Backward from the same context: the twin's, rounded.
    const auto context = narrowed<T>(t.context);
    OnDevice<T> device_context(context.narrow);
    OnDevice<float> same_lse(lse);
    kernels::attention_fused_backward(t.gradients(), t.dcontext.wide.data(), t.rows(),
                                      context.wide.data(), lse.data(), t.shape, t.dropout);
    attention_fused_backward(queue(), t.device_gradients(), t.device_dcontext.data(),
                             t.device_rows(), device_context.data(), same_lse.data(), t.on_device,
                             t.dropout);
    t.expect_gradients();
  }
}

/// Results and gradients of queries begin as those of the keys before.
TYPED_TEST(CudaAttention, BlocksOfKeysAreMergedAsTheTwinDoes) {
  using T = TypeParam;
  for (const Case& c : kBlocks) {
    SCOPED_TRACE(testing::Message() << c.sequence << " queries, head_dim " << c.head_dim);
    typename TestFixture::Tensors t(c);
    Random random(7);
    const auto before = numbers<T>(random, t.size(t.context));
    const auto dbefore = numbers<T>(random, t.size(t.dqkv));
    std::vector<float> lse = random.values<float>(c.sequence * c.batch * c.heads);
    t.context = before.wide, t.dqkv = dbefore.wide;
    OnDevice<T> context(before.narrow), dqkv(dbefore.narrow);
    OnDevice<float> device_lse(lse);
    kernels::attention_fused_forward(t.context.data(), lse.data(), t.rows(), t.shape, t.dropout);
    attention_fused_forward(queue(), context.data(), device_lse.data(), t.device_rows(),
                            t.on_device, t.dropout);
    expect_sums_close(context, t.context, "context");
    expect_close(device_lse, lse, c.head_dim);

    const auto merged = narrowed<T>(t.context);
    OnDevice<T> same_context(merged.narrow);
    OnDevice<float> same_lse(lse);
    kernels::attention_fused_backward(t.gradients(), t.dcontext.wide.data(), t.rows(),
                                      merged.wide.data(), lse.data(), t.shape, t.dropout);
    attention_fused_backward(queue(), {dqkv.data(), t.device_dkv.data()}, t.device_dcontext.data(),
                             t.device_rows(), same_context.data(), same_lse.data(), t.on_device,
                             t.dropout);
    expect_sums_close(dqkv, t.dqkv, "dqkv");
    expect_sums_close(t.device_dkv, t.dkv, "dkv");
  }
}

TYPED_TEST(CudaAttention, UnfusedEqualsItsTwin) {
  using T = TypeParam;
  Queue few_queries = queue();  // at a time: 16 rows of scores of the largest case
  few_queries.kernel_scratch_bytes = std::size_t{16} * 1024 * sizeof(T);
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message() << c.sequence << " queries, head_dim " << c.head_dim);
    typename TestFixture::Tensors t(c);
    const std::int64_t squares = c.sequence * c.batch * c.heads * t.shape.keys();
    std::vector<float> p = this->zeros(squares), dropped = p;
    std::vector<std::uint8_t> mask(p.size());
    const bool drops = c.dropout > 0;
    OnDevice<T> device_p(unwritten<T>(squares)), device_dropped(unwritten<T>(squares));
    OnDevice<std::uint8_t> device_mask(mask);
    kernels::attention_unfused_forward(t.context.data(), p.data(), drops ? mask.data() : nullptr,
                                       drops ? dropped.data() : nullptr, t.rows(), t.shape,
                                       t.dropout);
    attention_unfused_forward(
        queue(), t.device_context.data(), device_p.data(), drops ? device_mask.data() : nullptr,
        drops ? device_dropped.data() : nullptr, t.device_rows(), t.on_device, t.dropout);
    expect_sums_close(device_p, p, "probabilities");
    expect_sums_close(t.device_context, t.context, "context");
    if (drops) {
      EXPECT_EQ(device_mask.values(), mask);
      expect_sums_close(device_dropped, dropped, "dropped");
    }

    const auto context = narrowed<T>(t.context), probabilities = narrowed<T>(p);
    const auto weights = narrowed<T>(dropped);
    OnDevice<T> same_context(context.narrow), same_p(probabilities.narrow);
    OnDevice<T> same_dropped(weights.narrow);
    OnDevice<std::uint8_t> same_mask(mask);
    kernels::attention_unfused_backward(t.gradients(), t.dcontext.wide.data(), t.rows(),
                                        context.wide.data(), probabilities.wide.data(),
                                        drops ? mask.data() : nullptr,
                                        drops ? weights.wide.data() : nullptr, t.shape, c.dropout);
    attention_unfused_backward(few_queries, t.device_gradients(), t.device_dcontext.data(),
                               t.device_rows(), same_context.data(), same_p.data(),
                               drops ? same_mask.data() : nullptr,
                               drops ? same_dropped.data() : nullptr, t.on_device, c.dropout);
    t.expect_gradients();
  }
}

}  // namespace plait::kernels::cuda::attention_test
