// Attention over a cache (Kwon et al. 2023, PagedAttention): the step's keys and values are written
// into it, and queries meet what it holds. Prompts, with many queries per sequence, and sequences
// that generate run in kernels of their own kind (vLLM's and TensorRT-LLM's context and generation
// phase). Where guesses are checked, a sequence that generates has a few queries: rows of one
// kernel that streams its keys once, as if it had so many heads more (FlashAttention's packed GQA).
// Blocks are pages of a table: they change where a key is found, not how many bytes are read.
#include "plan/strategies/inference.h"

namespace plait {
namespace {

class CacheRewrite {
 public:
  CacheRewrite(Draft& d, const Step& step, DType type, std::int64_t tokens)
      : d_(d), step_(step), type_(type), cache_(d.add(cache(type, tokens))) {}

  void run(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    for (Op& op : ops) {
      const Attention* a = body_of<Attention>(op);
      a == nullptr ? block.ops.push_back(std::move(op)) : rewrite(block, op, *a);
    }
  }

 private:
  Tensor cache(DType type, std::int64_t tokens) const {  // (tokens, k | v)
    const std::int64_t keys = d_.model.key_width(), values = d_.model.value_width();
    Tensor t;
    t.name = "kv_cache";
    t.dims = {Dim{tokens}, Dim{keys + values, Axis::kTp, {keys, values, 0}}};
    t.rank = 2;
    t.dtype = type, t.kind = TensorClass::kKvCache;
    t.scope = Scope::kLayer, t.persistent = true;
    return t;
  }
  void rewrite(Block& block, const Op& op, const Attention& a) {
    const TensorId qkv = op.operands[0].tensor;
    const DType from = d_.tensors[qkv].dtype;
    const std::int64_t written = step_.tokens() * a.kv_heads * (a.head_dim + a.v_dim());
    block.ops.push_back({Compute(Cast{written, from, type_}),
                         Stream::kCompute,
                         op.phase,
                         {{qkv, Use::kRead, 0}, {cache_, Use::kUpdate, 0}}});
    Use use = Use::kWrite;  // the second kernel fills the other rows of the same result
    if (step_.prefill.sequences > 0) {
      block.ops.push_back(attention(op, over(a, step_.prefill), use));
      use = Use::kUpdate;
    }
    if (step_.decode.sequences == 0) return;
    block.ops.push_back(attention(op, packed(over(a, step_.decode)), use));
  }
  Attention packed(Attention a) const {
    if (a.seq_q > 1) a.window = 0;  // seq_kv has the keys that any of them sees
    a.heads *= a.seq_q, a.seq_q = 1, a.causal = false;
    a.dtype = type_;  // what is streamed is the cache
    return a;
  }
  Attention over(Attention a, const Chunk& chunk) const {
    a.batch = chunk.sequences, a.seq_q = chunk.tokens, a.seq_kv = chunk.context;
    if (a.window > 0) a.seq_kv = std::min(a.seq_kv, chunk.tokens + a.window - 1);
    a.causal = chunk.tokens > 1;
    if (chunk.tokens == 1) a.dtype = type_;
    return a;
  }
  Op attention(const Op& op, const Attention& a, Use use) const {
    Op out = op;
    out.body = Compute(a);
    for (std::size_t i = 1; i < out.operands.size(); ++i) out.operands[i].use = use;
    out.operands.push_back({cache_, Use::kRead, 0});
    return out;
  }

  Draft& d_;
  const Step& step_;
  DType type_;
  TensorId cache_;
};

}  // namespace

void attend_to_cache(Draft& d, const Step& step, DType kv_cache, std::int64_t cache_tokens) {
  CacheRewrite rewrite(d, step, kv_cache, cache_tokens);
  for (LayerKind& kind : d.layers) rewrite.run(kind.kept.forward);
}

}  // namespace plait
