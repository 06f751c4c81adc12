// Gathering and reducing in fewer bits (Wang et al. 2023, ZeRO++, arXiv 2306.10209).
//
// Weights (qwZ, section 3.1): a shard is quantised to int8 block by block, gathered with its
// blocks' scales, and restored.
//
// Gradients (qgZ, section 3.3): a sum cannot be formed of quantised numbers, so instead of a ring
// there is an all_to_all in int4 to the owners, who restore and add in full precision. Where dp is
// sharded too it has two hops, within the node and then over dp, so that a node sends 1 / 4 of the
// bytes of fp16 gradients to others once, whatever the ranks in it. Before the first hop shares are
// put in the order of their ranks within the node, in which the second hop finds them together
// ("tensor slice reordering", section 3.3.2).
#include "plan/strategies/data_parallel.h"

namespace plait {
namespace {

// Blocks have at most so many numbers, evenly: few enough to lie within a tensor as a rule, since a
// flat buffer knows none of the rows that DeepSpeed takes for groups
// (runtime/comm/coalesced_collectives.py, all_to_all_quant_reduce).
constexpr std::int64_t kBlock = 256;
constexpr std::int64_t kWeightBits = 8, kGradientBits = 4;

std::int64_t ceil_of(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

struct Quantised {
  TensorId numbers, scales;
};
/// Shares that several ranks have sent and that are to be added.
void owe(Draft& d, const Quantised& q, AxisSet axes) { d.tensors[q.numbers].partial = axes; }

class Writer {
 public:
  Writer(Draft& d, Block& block, Stream stream, Phase phase)
      : d_(d), block_(block), stream_(stream), phase_(phase) {}

  /// Shares of `elements` each, in bytes of `bits` bits a number. `share`: shape of the shares, the
  /// last dimension aside.
  Quantised declare(const std::string& name, std::vector<Dim> shares, std::int64_t elements,
                    std::int64_t bits) {
    Tensor t;
    t.rank = static_cast<int>(shares.size()) + 1;
    for (std::size_t i = 0; i < shares.size(); ++i) t.dims[i] = shares[i];
    Dim& last = t.dims[shares.size()];
    t.kind = TensorClass::kBuffer, t.scope = Scope::kCall;
    Quantised q{};
    last = Dim{ceil_of(elements * bits, 8)};
    t.name = name + ".quantised", t.dtype = DType::kInt8, q.numbers = d_.add(t);
    last = Dim{ceil_of(elements, kBlock)};
    t.name = name + ".scales", t.dtype = DType::kFp32, q.scales = d_.add(t);
    return q;
  }
  void quantise(TensorId from, const Quantised& to) {
    emit(Cast{0, d_.tensors[from].dtype, DType::kInt8},
         {{from, Use::kRead, 0}, {to.numbers, Use::kWrite, 0}, {to.scales, Use::kWrite, 0}});
  }
  void restore(const Quantised& from, TensorId to) {
    emit(Cast{0, DType::kInt8, d_.tensors[to].dtype},
         {{from.numbers, Use::kRead, 0}, {from.scales, Use::kRead, 0}, {to, Use::kWrite, 0}});
  }
  void exchange(CollectiveKind kind, AxisSet axes, const Quantised& from, const Quantised& to) {
    for (const auto& [in, out] : {std::pair(from.numbers, to.numbers), {from.scales, to.scales}}) {
      Collective c;
      c.kind = kind, c.axes = axes;
      c.dtype = d_.tensors[out].dtype, c.elements = d_.tensors[out].elements(d_.mesh());
      block_.ops.push_back({c, stream_, phase_, {{in, Use::kRead, 0}, {out, Use::kWrite, 0}}});
    }
  }

 private:
  void emit(Compute body, std::vector<Operand> operands) {
    block_.ops.push_back({Body(body), stream_, phase_, std::move(operands)});
  }
  Draft& d_;
  Block& block_;
  Stream stream_;
  Phase phase_;
};

}  // namespace

void gather_quantized(Draft& d, Block& block, AxisSet axes, TensorId shard, TensorId buffer) {
  Writer w(d, block, Stream::kParamGather, Phase::kParamGather);
  const std::string name = d.tensors[shard].name;
  const std::int64_t elements = d.tensors[shard].elements(d.mesh());
  const Quantised own = w.declare(name, {Dim{1}}, elements, kWeightBits);
  const Quantised all =
      w.declare(name + ".gathered", {Dim{d.mesh().size_of(axes)}}, elements, kWeightBits);
  w.quantise(shard, own);
  w.exchange(CollectiveKind::kAllGather, axes, own, all);
  w.restore(all, buffer);
}

void reduce_quantized(Draft& d, Block& block, AxisSet axes, TensorId buffer, TensorId shard) {
  Writer w(d, block, Stream::kGradSync, Phase::kGradSync);
  const std::string name = d.tensors[shard].name;
  const std::int64_t elements = d.tensors[shard].elements(d.mesh());
  const bool hops = axes.has(Axis::kDp) && !(axes == AxisSet(Axis::kDp));
  const AxisSet within = hops ? axes - Axis::kDp : axes;
  const Dim ranks{d.mesh().size_of(within)}, nodes{hops ? d.mesh()[Axis::kDp] : 1};

  const std::vector<Dim> shares = hops ? std::vector<Dim>{ranks, nodes} : std::vector<Dim>{ranks};
  const Quantised out = w.declare(name + ".out", shares, elements, kGradientBits);
  const Quantised in = w.declare(name + ".in", shares, elements, kGradientBits);
  owe(d, in, within);
  TensorId sum = shard;
  if (hops) {
    Tensor t = d.tensors[shard];
    t.name += ".of_node", t.kind = TensorClass::kBuffer, t.scope = Scope::kCall;
    t.persistent = false, t.dims[0] = Dim{nodes.global * elements};
    sum = d.add(t);
  }
  w.quantise(buffer, out);
  w.exchange(CollectiveKind::kAllToAll, within, out, in);
  w.restore(in, sum);
  if (!hops) return;
  const Quantised over = w.declare(name + ".over", {nodes}, elements, kGradientBits);
  const Quantised from = w.declare(name + ".from", {nodes}, elements, kGradientBits);
  owe(d, from, Axis::kDp);
  w.quantise(sum, over);
  w.exchange(CollectiveKind::kAllToAll, Axis::kDp, over, from);
  w.restore(from, shard);
}

}  // namespace plait
