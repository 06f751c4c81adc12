// Pipeline parallelism: which layers a chunk holds, and each stage's program of calls in the order
// of its schedule, with sends and receives where neighbouring chunks live on different ranks. Chunk
// c of stage s is the model's piece c p + s of p v pieces; piece 0 has the embedding, the last the
// head.
#include <optional>

#include "plan/refusal.h"
#include "plan/schedule.h"
#include "plan/strategies/draft.h"

namespace plait {
namespace {

/// first_layer[i] .. first_layer[i + 1]: the layers of piece i.
std::vector<std::int32_t> split_layers(std::int64_t layers, std::int64_t pieces,
                                       const PipelineOptions& options) {
  const std::int64_t first = options.first_stage_layers, last = options.last_stage_layers;
  const std::int64_t given = (first >= 0 ? first : 0) + (last >= 0 && pieces > 1 ? last : 0);
  const std::int64_t sharing = pieces - (first >= 0 ? 1 : 0) - (last >= 0 && pieces > 1 ? 1 : 0);
  const std::int64_t rest = layers - given;
  const bool divides = sharing > 0 ? rest >= 0 && rest % sharing == 0 : rest == 0;
  // A piece between the ends without layers would send on the very tensor that it receives.
  const bool empty_between = pieces > 2 && rest == 0;
  const bool contradicts = pieces == 1 && last >= 0 && last != layers;
  if (!divides || empty_between || contradicts) {
    throw refusal("S030",
                  std::to_string(rest) + " layers cannot be shared evenly by " +
                      std::to_string(sharing) + " pipeline pieces (pp x chunks)",
                  "strategy.pipeline",
                  "layers - first - last divisible by the pieces between, at least one each",
                  "choose pp and chunks that divide the layers, or set "
                  "strategy.pipeline.first_stage_layers and last_stage_layers");
  }
  std::vector<std::int32_t> start = {0};
  for (std::int64_t i = 0; i < pieces; ++i) {
    std::int64_t n = sharing > 0 ? rest / sharing : 0;
    if (i == 0 && first >= 0) n = first;
    if (i == pieces - 1 && i > 0 && last >= 0) n = last;
    start.push_back(start.back() + static_cast<std::int32_t>(n));
  }
  return start;
}

void require_schedule(const Draft& d) {
  const PipelineOptions& p = d.strategy.pipeline;
  const std::int64_t stages = d.mesh()[Axis::kPp];
  const bool interleaved = p.schedule == Schedule::kInterleaved;
  if (p.chunks < 1 || (p.chunks > 1 && !interleaved)) {
    throw refusal("S031", "several chunks per stage need the interleaved schedule",
                  "strategy.pipeline.chunks", "1, or strategy.pipeline.schedule = \"interleaved\"",
                  "set the schedule to \"interleaved\" or chunks to 1");
  }
  if (interleaved && (p.chunks < 2 || stages < 2)) {
    throw refusal("S032", "the interleaved schedule needs at least 2 stages and 2 chunks",
                  "strategy.pipeline.chunks", "chunks >= 2 and pp >= 2",
                  "set strategy.pipeline.chunks to 2 or more, or the schedule to \"1f1b\"");
  }
  if (splits_backward(p.schedule) && stages < 2) {
    throw refusal("S034", "a zero-bubble schedule needs at least 2 stages",
                  "strategy.pipeline.schedule", "pp >= 2",
                  "set strategy.pp to 2 or more, or the schedule to \"1f1b\"");
  }
  if (interleaved && d.microbatches % stages != 0) {
    throw refusal("S033",
                  std::to_string(d.microbatches) + " microbatches are not a multiple of pp = " +
                      std::to_string(stages) + ", as the interleaved schedule needs",
                  "strategy.pipeline.schedule", "microbatches per replica divisible by pp",
                  "change workload.global_batch, workload.micro_batch or the schedule");
  }
}

class ProgramWriter {
 public:
  explicit ProgramWriter(Draft& d)
      : d_(d),
        stages_(d.mesh()[Axis::kPp]),
        chunks_(d.strategy.pipeline.chunks),
        start_(split_layers(d.model.layers, stages_ * chunks_, d.strategy.pipeline)) {
    embed_forward_ = d.add_block(d.embed_forward), embed_backward_ = d.add_block(d.embed_backward);
    head_forward_ = d.add_block(d.head_forward), head_backward_ = d.add_block(d.head_backward);
    for (const LayerKind& k : d.layers) layers_.push_back(add_layer(k));
    if (splits_backward(d.strategy.pipeline.schedule)) {
      head_weights_ = d.add_block(d.head_weight_grads);
    }
    if (stages_ == 1) return;
    send_forward_ = exchange("send_forward", d.x, true, Stream::kSendForward, 1);
    recv_forward_ = exchange("recv_forward", d.x, false, Stream::kRecvForward, -1);
    send_backward_ = exchange("send_backward", d.dx, true, Stream::kSendBackward, -1);
    recv_backward_ = exchange("recv_backward", d.dx, false, Stream::kRecvBackward, 1);
  }

  Program write(std::int64_t stage) {
    Program program;
    calls_ = &program.calls;
    for (const Task& task :
         schedule(d_.strategy.pipeline.schedule, stages_, stage, chunks_, d_.microbatches)) {
      task_ = task;
      const std::int64_t piece = task.chunk * stages_ + stage;
      switch (task.pass) {
        case TaskPass::kForward: forward(piece); break;
        case TaskPass::kBackward: backward(piece); break;
        case TaskPass::kWeightGrad: weight_grads(piece); break;
      }
    }
    return program;
  }

 private:
  struct PassBlocks {
    BlockId forward = 0, backward = 0, weights = 0;
  };
  struct LayerBlocks {
    std::optional<BlockId> once;
    PassBlocks kept, recomputed;
  };
  LayerBlocks add_layer(const LayerKind& layer) {
    LayerBlocks out;
    if (!layer.once.ops.empty()) out.once = d_.add_block(layer.once);
    out.kept = add_passes(layer.kept);
    if (layer.recomputed) out.recomputed = add_passes(*layer.recomputed);
    return out;
  }
  PassBlocks add_passes(const LayerPasses& layer) {
    PassBlocks out{d_.add_block(layer.forward), d_.add_block(layer.backward)};
    if (splits_backward(d_.strategy.pipeline.schedule)) {
      out.weights = d_.add_block(layer.weight_grads);
    }
    return out;
  }
  const LayerBlocks& layer(std::int32_t l) const { return layers_[d_.kind_of(l)]; }
  const PassBlocks& passes(std::int64_t piece, std::int32_t l) const {
    return recomputes(piece, l) ? layer(l).recomputed : layer(l).kept;
  }
  BlockId exchange(const char* name, TensorId t, bool send, Stream stream, int offset) {
    const Bytes bytes = d_.tensors[t].bytes(d_.mesh());
    Body body = send ? Body(Send{Axis::kPp, offset, bytes}) : Body(Recv{Axis::kPp, offset, bytes});
    const Phase phase = stream == Stream::kSendForward || stream == Stream::kRecvForward
                            ? Phase::kForward
                            : Phase::kBackward;
    return d_.add_block({name, {{body, stream, phase, {{t, send ? Use::kRead : Use::kWrite, 0}}}}});
  }
  void call(BlockId block, std::int32_t layer) {
    calls_->push_back({block, task_.chunk, layer, task_.microbatch, -1});
  }
  /// Recomputed layers are the first ones of each chunk (Megatron-LM's "block" method), or each
  /// n-th one of the stage (torchtitan's selective checkpoints by layer).
  bool recomputes(std::int64_t piece, std::int32_t layer) const {
    const RecomputeOptions& r = d_.strategy.recompute;
    if (r.kind == Recompute::kNone) return false;
    const bool by_place = r.layers < 0 || layer - first(piece) < r.layers;
    return by_place && (layers_before(piece, layer) + 1) % r.every == 0;
  }
  /// Layers of the stage before this one, over all its chunks.
  std::int64_t layers_before(std::int64_t piece, std::int32_t layer) const {
    std::int64_t n = layer - first(piece);
    for (std::int64_t p = piece - stages_; p >= 0; p -= stages_) n += first(p + 1) - first(p);
    return n;
  }
  std::int32_t first(std::int64_t piece) const { return start_[static_cast<std::size_t>(piece)]; }
  bool is_last(std::int64_t piece) const { return piece == stages_ * chunks_ - 1; }

  void forward(std::int64_t piece) {
    const std::int32_t begin = first(piece), end = first(piece + 1);
    if (piece == 0)
      call(embed_forward_, 0);
    else if (stages_ > 1)
      call(recv_forward_, begin);
    for (std::int32_t l = begin; l < end; ++l) {
      if (layer(l).once && task_.microbatch == 0) call(*layer(l).once, l);
      call(passes(piece, l).forward, l);
    }
    if (is_last(piece))
      call(head_forward_, end);
    else if (stages_ > 1)
      call(send_forward_, end);
  }
  void backward(std::int64_t piece) {
    const std::int32_t begin = first(piece), end = first(piece + 1);
    if (is_last(piece))
      call(head_backward_, end);
    else if (stages_ > 1)
      call(recv_backward_, end);
    for (std::int32_t l = end; l-- > begin;) call(passes(piece, l).backward, l);
    if (piece == 0)
      call(embed_backward_, 0);
    else if (stages_ > 1)
      call(send_backward_, begin);
  }
  void weight_grads(std::int64_t piece) {
    const std::int32_t begin = first(piece), end = first(piece + 1);
    if (is_last(piece)) call(head_weights_, end);
    for (std::int32_t l = end; l-- > begin;) call(passes(piece, l).weights, l);
  }

  Draft& d_;
  std::int64_t stages_, chunks_;
  std::vector<std::int32_t> start_;
  BlockId embed_forward_, embed_backward_, head_forward_, head_backward_;
  std::vector<LayerBlocks> layers_;  // as Draft::layers
  BlockId head_weights_ = 0;
  BlockId send_forward_ = 0, recv_forward_ = 0, send_backward_ = 0, recv_backward_ = 0;
  std::vector<Call>* calls_ = nullptr;
  Task task_;
};

}  // namespace

void apply_pipeline(Draft& d) {
  require_schedule(d);
  ProgramWriter writer(d);
  for (std::int64_t stage = 0; stage < d.mesh()[Axis::kPp]; ++stage) {
    d.programs.push_back(writer.write(stage));
    d.program_units.push_back(units_of(d, d.programs.back()));
  }
}

}  // namespace plait
