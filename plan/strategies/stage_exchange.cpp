// Messages between stages. Ranks of tensor parallelism that do not split the sequence all have the
// same s b h elements. Each sends them to its neighbour, or (Narayanan et al. 2021, section 4.1,
// scatter/gather) its part of them alone, and the receivers gather them over tp:
//
//   on the way between the stages    s b h       or    s b h / t
//   over tp behind it                nothing     or    an all_gather of s b h
//
// The part is copied before it leaves, as DeepSpeed does it (runtime/utils.py, PartitionedTensor);
// Megatron-LM and PaddlePaddle send it from where it is. A sequence that tp does not divide travels
// whole, as in Megatron-LM (p2p_communication.py).
#include "plan/strategies/stage_exchange.h"

#include "plan/refusal.h"
#include "plan/strategies/draft.h"
#include "plan/strategies/layout.h"
#include "plan/strategies/stage_tp.h"

namespace plait {
namespace {

class ExchangeWriter {
 public:
  ExchangeWriter(Draft& d, std::string way, std::int64_t tp_of_other)
      : d_(d),
        way_(std::move(way)),
        axes_(d.mesh().present(kTensorAxes)),
        fan_(fan_between(d.mesh().size_of(kTensorAxes), tp_of_other)) {}

  BlockId send(std::string name, TensorId t, Stream stream, int offset) {
    Block block{std::move(name) + way_, {}};
    const Phase phase = phase_of(t);
    const TensorId travels = shared(t) ? part_of(t) : t;
    if (travels != t) {
      const DType type = d_.tensors[t].dtype;
      block.ops.push_back({Compute(Cast{0, type, type}),
                           Stream::kCompute,
                           phase,
                           {{t, Use::kRead, 0}, {travels, Use::kWrite, 0}}});
    }
    const Send message{Axis::kPp, offset, bytes_of_message(travels, true), fan_};
    block.ops.push_back({message, stream, phase, {{travels, Use::kRead, 0}}});
    return d_.add_block(std::move(block));
  }
  BlockId receive(std::string name, TensorId t, Stream stream, int offset) {
    Block block{std::move(name) + way_, {}};
    const Phase phase = phase_of(t);
    const TensorId travels = shared(t) ? part_of(t) : t;
    const Recv message{Axis::kPp, offset, bytes_of_message(travels, false), fan_};
    block.ops.push_back({message, stream, phase, {{travels, Use::kWrite, 0}}});
    if (travels != t) {
      const Tensor& whole = d_.tensors[t];
      Collective c;
      c.kind = CollectiveKind::kAllGather, c.axes = axes_;
      c.dtype = whole.dtype, c.elements = whole.elements(d_.mesh());
      block.ops.push_back({c, Stream::kTp, phase, {{travels, Use::kRead, 0}, {t, Use::kWrite, 0}}});
    }
    return d_.add_block(std::move(block));
  }

 private:
  Phase phase_of(TensorId t) const { return t == d_.x ? Phase::kForward : Phase::kBackward; }
  bool shared(TensorId t) const {
    return sharers_of_message(d_.strategy.pipeline, d_.mesh(), d_.tensors[t]) > 1;
  }
  /// One for both ends.
  TensorId part_of(TensorId whole) {
    Tensor part = d_.tensors[whole];
    part.name += ".part";
    for (std::size_t t = 0; t < d_.tensors.size(); ++t) {
      if (d_.tensors[t].name == part.name) return static_cast<TensorId>(t);
    }
    lay_out(part, Sharding::kSequence, axes_);
    return d_.add(std::move(part));
  }
  /// A receiver has equal parts of its tensor from each of its peers. Where ranks hold shards of a
  /// sequence these are what the sender has, or a part of it; where they hold all of it, those who
  /// share a receiver send a part each.
  Bytes bytes_of_message(TensorId t, bool sent) const {
    const bool shards = d_.tensors[t].dims[0].sharded.has(Axis::kTp);
    const std::int64_t parts = sent && !shards ? fan_.sharers : fan_.peers;
    const std::int64_t elements = d_.tensors[t].elements(d_.mesh());
    if (elements % parts != 0) {
      throw refusal("S052",
                    std::to_string(elements) + " elements between stages cannot be sent in " +
                        std::to_string(parts) + " equal parts",
                    "strategy.stage_tp", "degrees whose ratio divides them",
                    "change strategy.stage_tp or workload.sequence_length",
                    {"workload.sequence_length"});
    }
    return Bytes(elements / parts * size_of(d_.tensors[t].dtype));
  }

  Draft& d_;
  std::string way_;
  AxisSet axes_;  // of tensor parallelism
  Fan fan_;
};

}  // namespace

std::int64_t sharers_of_message(const PipelineOptions& pipeline, const Mesh& mesh,
                                const Tensor& stream) {
  const bool has_part = stream.dims[0].sharded.has(Axis::kTp);
  if (!pipeline.scatter_gather || has_part || !pipeline.stage_tp.empty()) return 1;
  const std::int64_t tp = mesh.size_of(kTensorAxes);
  return stream.dims[0].local(mesh) % tp == 0 ? tp : 1;
}

StageExchange add_stage_exchange(Draft& d, const std::string& way, int step,
                                 std::int64_t tp_of_other) {
  ExchangeWriter writer(d, way, tp_of_other);
  StageExchange out;
  out.send_forward = writer.send("send_forward", d.x, Stream::kSendForward, step);
  out.recv_forward = writer.receive("recv_forward", d.x, Stream::kRecvForward, -step);
  out.send_backward = writer.send("send_backward", d.dx, Stream::kSendBackward, -step);
  out.recv_backward = writer.receive("recv_backward", d.dx, Stream::kRecvBackward, step);
  return out;
}

}  // namespace plait
