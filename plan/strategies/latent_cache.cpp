// Multi-head latent attention over a cache of latents (DeepSeek-AI 2024, arXiv 2405.04434, section
// 2.1.2; as vLLM runs it, vllm/model_executor/layers/attention/mla_attention.py). Of a token the
// cache keeps the normed latent of its keys and values and its rotated key columns, which all heads
// share, so that every rank of tp has all of it.
//
// Prompts make keys and values of the latents that they see, those in the cache too, and attend as
// in training. Single tokens would make them of the whole cache; instead the product that makes
// keys is moved to the queries, and the one that makes values to the results:
//   q (W_uk c) = (q W_uk) c        sum p (W_uv c) = W_uv (sum p c)
// so that attention reads latents, as many query heads as there are on one key head.
#include <algorithm>

#include "plan/strategies/inference.h"

namespace plait {
namespace {

class LatentCacheRewrite {
 public:
  LatentCacheRewrite(Draft& d, const Step& step, DType type, std::int64_t tokens)
      : d_(d), m_(d.model), step_(step), type_(type), heads_(m_.heads / d.mesh()[Axis::kTp]) {
    Tensor t;
    t.name = "latent_cache";
    t.dims = {Dim{tokens}, Dim{m_.kv_lora_rank + m_.rope_head_dim}};
    t.rank = 2;
    t.dtype = type, t.kind = TensorClass::kKvCache;
    t.scope = Scope::kLayer, t.persistent = true;
    cache_ = d_.add(t);
  }

  void run(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    out_ = &block.ops;
    for (Op& op : ops) {
      if (makes_keys(op)) {
        up_ = std::move(op);
      } else if (body_of<LatentHeads>(op) != nullptr) {
        join(std::move(op));
      } else if (body_of<Attention>(op) != nullptr) {
        attend(op);
      } else {
        out_->push_back(std::move(op));
      }
    }
  }

 private:
  bool makes_keys(const Op& op) const {
    return body_of<MatMul>(op) != nullptr &&
           d_.tensors[op.operands[1].tensor].name.starts_with("layer.kv_up");
  }
  std::int64_t keys_of_prompts() const { return step_.prefill.sequences * step_.prefill.context; }
  std::int64_t decoded_rows() const { return step_.decode.sequences * step_.decode.tokens; }

  /// What heads are made of: into the cache, and for prompts out of it to keys and values.
  void join(Op op) {
    queries_ = op.operands[0].tensor;
    const TensorId rotary = op.operands[2].tensor;
    const TensorId latent = written_by_norm(up_.operands[0].tensor);
    const DType from = d_.tensors[rotary].dtype;
    out_->push_back(
        {Compute(Cast{step_.tokens() * (m_.kv_lora_rank + m_.rope_head_dim), from, type_}),
         Stream::kCompute,
         op.phase,
         {{latent, Use::kRead, 0}, {rotary, Use::kRead, 0}, {cache_, Use::kUpdate, 0}}});
    if (step_.prefill.sequences == 0) return;
    Op up = up_;
    body_of<MatMul>(up)->m = keys_of_prompts();
    up.operands.push_back({cache_, Use::kRead, 0});
    body_of<LatentHeads>(op)->rows = keys_of_prompts();
    for (const TensorId t : {op.operands[1].tensor, op.operands[3].tensor}) {
      d_.tensors[t].dims[0] = Dim{keys_of_prompts()};
    }
    out_->push_back(std::move(up));
    out_->push_back(std::move(op));
  }
  /// The latent itself, where the product reads a copy of it in fp8. Such a copy is made for
  /// prompts alone.
  TensorId written_by_norm(TensorId input) {
    const auto copy = std::find_if(out_->begin(), out_->end(), [&](const Op& op) {
      return body_of<Cast>(op) != nullptr && op.operands[1].tensor == input;
    });
    if (copy == out_->end()) return input;
    const TensorId latent = copy->operands[0].tensor;
    if (step_.prefill.sequences == 0) out_->erase(copy);
    return latent;
  }

  void attend(const Op& op) {
    Use use = Use::kWrite;  // single tokens fill the other rows of the same result
    if (step_.prefill.sequences > 0) {
      Op prompts = op;
      Attention& a = *body_of<Attention>(prompts);
      a.batch = step_.prefill.sequences, a.seq_q = step_.prefill.tokens;
      a.seq_kv = step_.prefill.context, a.causal = step_.prefill.tokens > 1;
      out_->push_back(std::move(prompts));
      use = Use::kUpdate;
    }
    if (step_.decode.sequences > 0) attend_to_latents(op, use);
  }
  void attend_to_latents(const Op& op, Use use) {
    const TensorId query = for_heads("latent_queries", m_.kv_lora_rank + m_.rope_head_dim);
    const TensorId sums = for_heads("latent_sums", m_.kv_lora_rank);
    multiply(m_.kv_lora_rank, m_.head_dim - m_.rope_head_dim, op.phase,
             {{queries_, Use::kRead, 0},
              weight("layer.key_of_latent", m_.head_dim - m_.rope_head_dim),
              {query, Use::kWrite, 0}});
    Attention a = *body_of<Attention>(op);
    a.batch = step_.decode.sequences, a.seq_q = 1, a.seq_kv = step_.decode.context;
    a.heads = heads_ * step_.decode.tokens, a.kv_heads = 1;  // guesses: queries of one kernel
    a.head_dim = m_.kv_lora_rank + m_.rope_head_dim, a.value_dim = m_.kv_lora_rank;
    a.latents = true, a.causal = false, a.dtype = type_;
    Op attention = op;
    attention.body = Compute(a);
    attention.operands[0].tensor = query;
    attention.operands[1].tensor = sums;
    for (std::size_t i = 2; i < attention.operands.size(); ++i) attention.operands[i].use = use;
    attention.operands.push_back({cache_, Use::kRead, 0});
    out_->push_back(std::move(attention));
    multiply(m_.value_dim(), m_.kv_lora_rank, op.phase,
             {{sums, Use::kRead, 0},
              weight("layer.value_of_latent", m_.value_dim()),
              {op.operands[1].tensor, use, op.operands[1].shift}});
  }
  /// (sequences, n of each head) = (sequences, k of each head) x (k, n), head by head.
  void multiply(std::int64_t n, std::int64_t k, Phase phase, std::vector<Operand> operands) {
    MatMul g;
    g.batch = heads_, g.m = decoded_rows(), g.n = n, g.k = k;
    g.in = g.out = d_.workload.precision.weights;
    out_->push_back({Compute(g), Stream::kCompute, phase, std::move(operands)});
  }
  TensorId for_heads(const char* name, std::int64_t width) {
    Tensor t = d_.tensors[queries_];
    t.name = name;
    t.dims = {Dim{decoded_rows()}, Dim{1}, Dim{m_.heads * width, Axis::kTp}};
    t.scope = Scope::kCall;
    return d_.add(t);
  }
  /// The columns of the product to keys and values: themselves, or where they are stored in a
  /// narrower form a copy in the type of the activations, which the engine makes when it loads them
  /// (process_weights_after_loading).
  Operand weight(const char* name, std::int64_t columns) {
    const TensorId stored = up_.operands[1].tensor;
    const DType type = d_.workload.precision.weights;
    if (d_.tensors[stored].dtype == type) return {stored, Use::kRead, 0};
    Tensor t = d_.tensors[stored];
    t.name = name, t.dtype = type;
    t.dims = {Dim{m_.heads * columns, Axis::kTp}, Dim{m_.kv_lora_rank}};
    return {d_.add(t), Use::kRead, 0};
  }

  Draft& d_;
  const Model& m_;
  const Step& step_;
  DType type_;
  std::int64_t heads_;
  TensorId cache_ = kNoTensor, queries_ = kNoTensor;
  Op up_;
  std::vector<Op>* out_ = nullptr;
};

}  // namespace

void attend_to_latent_cache(Draft& d, const Step& step, DType kv_cache, std::int64_t cache_tokens) {
  LatentCacheRewrite rewrite(d, step, kv_cache, cache_tokens);
  for (LayerKind& kind : d.layers) rewrite.run(kind.kept.forward);
}

}  // namespace plait
