// Mixers with states in a step of an engine. Of a sequence a cache keeps the state of each head and
// the last tokens of the convolution's channels, however long it is; a step goes on from them and
// puts them back (vLLM's MambaMixer2 and GatedDeltaNetAttention: causal_conv1d_fn and the chunked
// kernels for prompts, causal_conv1d_update and one step of the recurrence for single tokens).
#include "plan/strategies/inference.h"

namespace plait {
namespace {

class StateRewrite {
 public:
  StateRewrite(Draft& d, const Step& step, DType type, std::int64_t sequences)
      : d_(d), step_(step), type_(type) {
    const Model& m = d.model;
    const Dim heads{m.state_heads, Axis::kTp};
    states_ =
        cache("state_cache", {Dim{sequences}, heads, Dim{m.state_head_dim * m.state_size}}, type);
    tokens_ = cache("conv_cache",
                    {Dim{sequences}, Dim{m.conv_width - 1}, Dim{m.conv_channels(), Axis::kTp}},
                    d.workload.precision.weights);
  }

  void run(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    for (Op& op : ops) {
      if (body_of<CausalConv>(op) != nullptr) {
        const std::size_t out = op.operands.size() - 1;
        split(block, op, [&](Op& part, const Chunk& chunk) {
          CausalConv& conv = *body_of<CausalConv>(part);
          conv.rows = chunk.sequences * chunk.tokens, conv.carried = chunk.sequences;
          part.operands.push_back({tokens_, Use::kUpdate, 0});
          return out;
        });
      } else if (body_of<Scan>(op) != nullptr) {
        split(block, op,
              [&](Op& part, const Chunk& chunk) { return carry<Scan>(part, chunk, kScanned); });
      } else if (body_of<DeltaRule>(op) != nullptr) {
        split(block, op,
              [&](Op& part, const Chunk& chunk) { return carry<DeltaRule>(part, chunk, kRuled); });
      } else {
        block.ops.push_back(std::move(op));
      }
    }
  }

 private:
  /// Where the results stand among operands (plan/op.h); behind them is what chunks need.
  static constexpr std::size_t kScanned = 5, kRuled = 4;

  TensorId cache(const char* name, std::array<Dim, 3> dims, DType type) {
    Tensor t;
    t.name = name;
    t.dims = {dims[0], dims[1], dims[2]};
    t.rank = 3;
    t.dtype = type, t.kind = TensorClass::kKvCache;
    t.scope = Scope::kLayer, t.persistent = true;
    return d_.add(t);
  }
  template <class Body>
  std::size_t carry(Op& part, const Chunk& chunk, std::size_t result) {
    Body& body = *body_of<Body>(part);
    body.batch = chunk.sequences, body.seq = chunk.tokens;
    body.carries = true, body.cached = type_;
    if (body.updates()) part.operands.resize(result + 1);
    part.operands.push_back({states_, Use::kUpdate, 0});
    return result;
  }
  /// One op for prompts and one for single tokens, which fill their rows of the same result.
  template <class Part>
  void split(Block& block, const Op& op, Part&& make) const {
    Use use = Use::kWrite;
    for (const Chunk& chunk : {step_.prefill, step_.decode}) {
      if (chunk.sequences == 0) continue;
      Op part = op;
      const std::size_t result = make(part, chunk);
      part.operands[result].use = use;
      block.ops.push_back(std::move(part));
      use = Use::kUpdate;
    }
  }

  Draft& d_;
  const Step& step_;
  DType type_;
  TensorId states_ = kNoTensor, tokens_ = kNoTensor;
};

}  // namespace

void carry_states(Draft& d, const Step& step, DType states, std::int64_t cache_sequences) {
  StateRewrite rewrite(d, step, states, cache_sequences);
  for (LayerKind& kind : d.layers) rewrite.run(kind.kept.forward);
}

}  // namespace plait
