// cuDNN recognises attention by its operations, so they have to be those of its documentation
// (frontend, "Attention"; the patterns are in its open source), down to a multiplication by one
// where dropout's factor would stand. Tensors are (b, heads, s, head_dim) with strides, so the
// packed rows [s, b, q | k | v] are read where they lie; k^T is the same memory with two strides
// exchanged.

#include "kernels/cuda/attention_cudnn.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "core/error.h"

namespace plait::kernels::cuda {
namespace {

enum Id : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kContext,
  kLogSumExp,
  kScale,
  kLowest,
  kOne,
  kDContext,
  kDQ,
  kDK,
  kDV
};
constexpr cudnnDataType_t kBf16 = CUDNN_DATA_BFLOAT16;

/// The tensors of one shape.
class Tensors {
 public:
  Tensors(Graph& graph, const AttentionShape& shape) : g_(graph), s_(shape) {}

  Graph::Tensor packed(Id id, std::int64_t heads) {
    return g_.tensor({s_.batch, heads, s_.sequence, s_.head_dim},
                     {s_.row_width(), s_.head_dim, s_.batch * s_.row_width(), 1}, kBf16, id);
  }
  Graph::Tensor packed_transposed(Id id, std::int64_t heads) {
    return g_.tensor({s_.batch, heads, s_.head_dim, s_.sequence},
                     {s_.row_width(), s_.head_dim, 1, s_.batch * s_.row_width()}, kBf16, id);
  }
  Graph::Tensor context(Id id) {
    const std::int64_t width = s_.heads * s_.head_dim;
    return g_.tensor({s_.batch, s_.heads, s_.sequence, s_.head_dim},
                     {width, s_.head_dim, s_.batch * width, 1}, kBf16, id);
  }
  Graph::Tensor log_sum_exp() {
    return g_.tensor({s_.batch, s_.heads, s_.sequence, 1},
                     {s_.heads * s_.sequence, s_.sequence, 1, 1}, CUDNN_DATA_FLOAT, kLogSumExp);
  }
  /// scale q k^T, and the lowest number where a query does not see the key.
  Graph::Tensor scores(const Graph::Tensor& q, const Graph::Tensor& k_transposed,
                       const Graph::Tensor& scale) {
    Graph::Tensor x = g_.pointwise(CUDNN_POINTWISE_MUL, g_.matmul(q, k_transposed), scale);
    if (!s_.causal) return x;
    return g_.select(x, g_.scalar(kLowest), g_.lower_triangle(x));
  }
  /// out = a b, summed over the query heads that share a key-value head.
  void multiply_shared(const Graph::Tensor& a, const Graph::Tensor& b, const Graph::Tensor& out) {
    if (s_.heads == s_.kv_heads) return g_.matmul_to(a, b, out);
    const std::int64_t h = s_.heads, n = s_.sequence, d = s_.head_dim;
    const Graph::Tensor all = g_.tensor({s_.batch, h, n, d}, {h * n * d, n * d, d, 1}, kBf16);
    g_.matmul_to(a, b, all);
    g_.reduce_to(CUDNN_REDUCE_TENSOR_ADD, all, out);
  }

 private:
  Graph& g_;
  const AttentionShape& s_;
};

}  // namespace

Graph attention_forward_graph(const AttentionShape& shape) {
  Graph g;
  Tensors t(g, shape);
  const Graph::Tensor q = t.packed(kQ, shape.heads);
  const Graph::Tensor k = t.packed_transposed(kK, shape.kv_heads);
  const Graph::Tensor x = t.scores(q, k, g.scalar(kScale));
  const Graph::Tensor max = g.reduce_columns(CUDNN_REDUCE_TENSOR_MAX, x);
  const Graph::Tensor e =
      g.pointwise(CUDNN_POINTWISE_EXP, g.pointwise(CUDNN_POINTWISE_SUB, x, max));
  const Graph::Tensor sum = g.reduce_columns(CUDNN_REDUCE_TENSOR_ADD, e);
  g.pointwise_to(CUDNN_POINTWISE_ADD, max, g.pointwise(CUDNN_POINTWISE_LOG, sum), t.log_sum_exp());
  const Graph::Tensor p = g.tensor(x.dims, x.strides, kBf16);
  g.pointwise_to(CUDNN_POINTWISE_DIV, e, sum, p);
  g.matmul_to(p, t.packed(kV, shape.kv_heads), t.context(kContext));
  return g;
}

Graph attention_backward_graph(const AttentionShape& shape) {
  Graph g;
  Tensors t(g, shape);
  const Graph::Tensor q = t.packed(kQ, shape.heads);
  const Graph::Tensor k = t.packed_transposed(kK, shape.kv_heads);
  const Graph::Tensor v = t.packed_transposed(kV, shape.kv_heads);
  const Graph::Tensor dout = t.context(kDContext);
  const Graph::Tensor scale = g.scalar(kScale), one = g.scalar(kOne);
  const auto times = [&g](const Graph::Tensor& a, const Graph::Tensor& b) {
    return g.pointwise(CUDNN_POINTWISE_MUL, a, b);
  };
  const Graph::Tensor delta =
      times(g.reduce_columns(CUDNN_REDUCE_TENSOR_ADD, times(dout, t.context(kContext))), one);
  const Graph::Tensor x = t.scores(q, k, scale);
  const Graph::Tensor p =
      g.pointwise(CUDNN_POINTWISE_EXP, g.pointwise(CUDNN_POINTWISE_SUB, x, t.log_sum_exp()));
  t.multiply_shared(g.transposed(p, kBf16), dout, t.packed(kDV, shape.kv_heads));
  const Graph::Tensor dp = times(g.matmul(dout, v), one);
  const Graph::Tensor ds = times(times(g.pointwise(CUDNN_POINTWISE_SUB, dp, delta), p), scale);
  t.multiply_shared(g.transposed(ds, kBf16), q, t.packed(kDK, shape.kv_heads));
  g.matmul_to(ds, g.transposed(k, kBf16), t.packed(kDQ, shape.heads));
  return g;
}

namespace {

struct Plan {
  Descriptor descriptor;
  std::size_t workspace = 0;
};
enum class Direction : std::uint8_t { kForward, kBackward };
using Key = std::tuple<Direction, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                       std::int64_t, bool>;
using Operand = std::pair<Id, const void*>;

}  // namespace

struct CudnnAttention::State {
  cudnnHandle_t handle = nullptr;
  std::map<Key, Plan> plans;

  const Plan& plan(Direction pass, const AttentionShape& s) {
    const Key key(pass, s.sequence, s.batch, s.heads, s.kv_heads, s.head_dim, s.causal);
    const auto found = plans.find(key);
    if (found != plans.end()) return found->second;
    Graph graph =
        pass == Direction::kForward ? attention_forward_graph(s) : attention_backward_graph(s);
    Plan made{graph.plan({handle, {}}), 0};
    std::int64_t bytes = 0, count = 0;
    check_cudnn(
        cudnnBackendGetAttribute(made.descriptor.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &count, &bytes),
        "the size of the workspace");
    made.workspace = static_cast<std::size_t>(bytes);
    return plans.emplace(key, std::move(made)).first->second;
  }
  /// Numbers in host memory are read while the launch is issued.
  void run(const Queue& q, Direction pass, const AttentionShape& shape,
           std::vector<Operand> operands, void* workspace) {
    const Plan& made = plan(pass, shape);
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
    const float lowest = std::numeric_limits<float>::lowest(), one = 1;
    operands.emplace_back(kScale, &scale);
    if (shape.causal) operands.emplace_back(kLowest, &lowest);
    if (pass == Direction::kBackward) operands.emplace_back(kOne, &one);
    std::vector<std::int64_t> ids;
    std::vector<const void*> pointers;
    for (const auto& [id, pointer] : operands) ids.push_back(id), pointers.push_back(pointer);
    const auto count = static_cast<std::int64_t>(ids.size());
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.finalize();
    check_cudnn(cudnnSetStream(handle, q.stream), "cudnnSetStream");
    check_cudnn(cudnnBackendExecute(handle, made.descriptor.get(), pack.get()),
                "cudnnBackendExecute");
  }
};

CudnnAttention::CudnnAttention() : state_(std::make_unique<State>()) {
  check_cudnn(cudnnCreate(&state_->handle), "cudnnCreate");
}
CudnnAttention::~CudnnAttention() {
  state_->plans.clear();  // they name the handle
  cudnnDestroy(state_->handle);
}

bool CudnnAttention::takes(const AttentionShape& shape, const Dropout& dropout) {
  constexpr std::int64_t kMostHeadDim = 128;
  return dropout.probability == 0 && shape.documents == 0 && shape.window == 0 &&
         shape.other_keys == 0 && shape.place.first == 0 && shape.place.turn >= shape.sequence &&
         shape.head_dim % 8 == 0 && shape.head_dim <= kMostHeadDim &&
         shape.v_dim() == shape.head_dim;
}

std::size_t CudnnAttention::workspace_bytes(const AttentionShape& shape) {
  return std::max(state_->plan(Direction::kForward, shape).workspace,
                  state_->plan(Direction::kBackward, shape).workspace);
}

void CudnnAttention::forward(const Queue& q, __nv_bfloat16* context, float* log_sum_exp,
                             const __nv_bfloat16* qkv, const AttentionShape& shape,
                             void* workspace) {
  const __nv_bfloat16* k = qkv + shape.heads * shape.head_dim;
  state_->run(q, Direction::kForward, shape,
              {{kQ, qkv},
               {kK, k},
               {kV, k + shape.kv_heads * shape.head_dim},
               {kContext, context},
               {kLogSumExp, log_sum_exp}},
              workspace);
}

void CudnnAttention::backward(const Queue& q, __nv_bfloat16* dqkv, const __nv_bfloat16* dcontext,
                              const __nv_bfloat16* qkv, const __nv_bfloat16* context,
                              const float* log_sum_exp, const AttentionShape& shape,
                              void* workspace) {
  const std::int64_t k = shape.heads * shape.head_dim, v = k + shape.kv_heads * shape.head_dim;
  state_->run(q, Direction::kBackward, shape,
              {{kQ, qkv},
               {kK, qkv + k},
               {kV, qkv + v},
               {kContext, context},
               {kLogSumExp, log_sum_exp},
               {kDContext, dcontext},
               {kDQ, dqkv},
               {kDK, dqkv + k},
               {kDV, dqkv + v}},
              workspace);
}

}  // namespace plait::kernels::cuda
