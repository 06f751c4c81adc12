// Activations in host memory between a layer's forward and backward pass (Megatron-Core
// --cpu-offloading with Transformer Engine's offload context, torchtitan's activation offload): all
// that the backward pass of a layer reads of its forward pass is copied away behind the latter and
// back in front of the former. One layer is on its way at a time in each direction:
//
//   forward    F[l]     F[l+1]     F[l+2]           F[l+2] waits for the copy of l, whose device
//   copies         D[l]       D[l+1]                memory is free then
//
//   backward   B[l+2]   B[l+1]     B[l]             U[l] is issued in front of B[l+1] and begins
//   copies         U[l+1]     U[l]                  when B[l+2] has ended
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "plan/layer_names.h"
#include "plan/strategies/call_rewriter.h"
#include "plan/strategies/offload.h"

namespace plait {
namespace {

using Kept = std::pair<TensorId, std::int16_t>;  // a tensor family's member, from the call's layer
/// A layer and a microbatch of a chunk: what is copied together.
struct Passage {
  std::int32_t layer = 0, microbatch = 0;
  auto operator<=>(const Passage&) const = default;
};

class ActivationOffload {
 public:
  explicit ActivationOffload(Draft& d) : d_(d) {
    for (const Block& b : d.blocks) {
      touches_.push_back(touches_of(b));
    }
  }

  Program rewritten(const Program& program) {
    find(program);
    Program out;
    CallRewriter to(out);
    std::int32_t stored = -1, computed = -1;  // the last call that stores, that computes
    std::optional<Passage> pending;           // computed and not yet stored
    std::size_t next = 0;                     // of backward_
    for (std::size_t i = 0; i < program.calls.size(); ++i) {
      const Call& c = program.calls[i];
      const Passage at{c.layer, c.microbatch};
      const auto own = forward_.find(at);
      const bool forward = own != forward_.end() && own->second == i;
      const bool backward = next < backward_.size() && backward_[next] == i;
      std::int32_t wait = -1;
      if (pending && (forward || is_backward(c))) {
        if (forward) wait = stored;
        store(to, program, *pending, stored);
        pending.reset();
      }
      if (backward) fetch_ahead(to, program, next++, computed);
      const bool computes = touches_[c.block].computes;
      if (computes) computed = to.next();
      to.keep(c);
      if (wait >= 0 && to.last().after < 0) to.last().after = wait;
      if (forward && leaves(at)) pending = at;
    }
    return out;
  }

 private:
  struct Touches {
    std::set<Kept> used;   // activations of a layer and microbatch that the block touches
    std::set<Kept> taken;  // read before they are written
    bool layer = false, backward = false, computes = false;
  };
  Touches touches_of(const Block& block) const {
    Touches out;
    const std::string_view first = std::string_view(block.name).substr(0, block.name.find('.'));
    out.layer = std::ranges::find(kLayerNames, first, &LayerName::name) != std::end(kLayerNames);
    std::set<Kept> written;
    for (const Op& op : block.ops) {
      out.computes = out.computes || op.stream == Stream::kCompute;
      out.backward = out.backward || (op.phase != Phase::kForward && op.stream == Stream::kCompute);
      for (const Operand& o : op.operands) {
        const Tensor& t = d_.tensors[o.tensor];
        const Kept place{t.is_view() ? t.storage : o.tensor, o.shift};
        const Tensor& root = d_.tensors[place.first];
        const bool kept = root.scope == Scope::kLayerMicrobatch && !root.persistent &&
                          root.kind == TensorClass::kActivation && root.place == Place::kDevice;
        if (!kept) continue;
        out.used.insert(place);
        if (o.use != Use::kWrite && !written.contains(place)) out.taken.insert(place);
        if (o.use != Use::kRead && !t.is_view()) written.insert(place);
      }
    }
    return out;
  }
  bool is_backward(const Call& c) const {
    return touches_[c.block].layer && touches_[c.block].backward;
  }

  /// What each passage keeps, and the first call of its backward pass.
  void find(const Program& program) {
    forward_.clear(), kept_.clear(), backward_.clear(), stored_.clear(), fetched_.clear();
    std::map<Passage, std::set<Kept>> made;
    std::map<std::int16_t, std::set<std::int32_t>> layers;
    for (std::size_t i = 0; i < program.calls.size(); ++i) {
      const Call& c = program.calls[i];
      const Touches& t = touches_[c.block];
      if (!t.layer || !t.computes) continue;
      const Passage at{c.layer, c.microbatch};
      layers[c.chunk].insert(c.layer);
      if (!t.backward) {
        forward_[at] = i;  // the last part of it
        made[at].insert(t.used.begin(), t.used.end());
        continue;
      }
      if (!kept_.contains(at)) backward_.push_back(i);
      for (const Kept& p : t.taken) {
        if (made.at(at).contains(p)) kept_[at].insert(p);
      }
    }
    offloaded_.clear();
    const std::int64_t asked = d_.strategy.offload.activation_layers;
    for (const auto& [chunk, of_chunk] : layers) {
      const auto all = static_cast<std::int64_t>(of_chunk.size());
      std::int64_t left = asked < 0 ? all - 1 : asked;
      for (const std::int32_t layer : of_chunk) {
        if (left-- > 0) offloaded_.insert(layer);
      }
    }
  }
  bool leaves(const Passage& p) const {
    const auto kept = kept_.find(p);
    return offloaded_.contains(p.layer) && kept != kept_.end() && !kept->second.empty();
  }

  void store(CallRewriter& to, const Program& program, const Passage& p, std::int32_t& stored) {
    const Call& of = program.calls[forward_.at(p)];
    stored = to.next(), stored_.insert(p);
    to.add({block_of(kept_.at(p), true), of.chunk, p.layer, p.microbatch, -1});
  }
  /// In front of backward pass `n`: the copies back for the one behind it, and its own if they
  /// could not be had earlier.
  void fetch_ahead(CallRewriter& to, const Program& program, std::size_t n, std::int32_t computed) {
    for (std::size_t k = n; k < std::min(n + 2, backward_.size()); ++k) {
      const Call& c = program.calls[backward_[k]];
      const Passage p{c.layer, c.microbatch};
      if (!stored_.contains(p) || !fetched_.insert(p).second) continue;
      to.add({block_of(kept_.at(p), false), c.chunk, p.layer, p.microbatch, computed});
    }
  }

  BlockId block_of(const std::set<Kept>& kept, bool leaves) {
    const auto found = blocks_.find({kept, leaves});
    if (found != blocks_.end()) return found->second;
    Block block{leaves ? "offload.activations" : "offload.fetch_activations", {}};
    for (const auto& [tensor, shift] : kept) {
      const Operand device{tensor, leaves ? Use::kRead : Use::kWrite, shift};
      const Operand host{twin(tensor), leaves ? Use::kWrite : Use::kRead, shift};
      block.ops.push_back(leaves ? copy_op(Stream::kDeviceToHost, Phase::kForward, device, host)
                                 : copy_op(Stream::kHostToDevice, Phase::kBackward, host, device));
    }
    return blocks_[{kept, leaves}] = d_.add_block(std::move(block));
  }
  TensorId twin(TensorId tensor) {
    const auto found = twins_.find(tensor);
    if (found != twins_.end()) return found->second;
    return twins_[tensor] = add_twin(d_, tensor, ".host", Place::kHost, false);
  }

  Draft& d_;
  std::vector<Touches> touches_;  // by block
  std::map<std::pair<std::set<Kept>, bool>, BlockId> blocks_;
  std::map<TensorId, TensorId> twins_;
  // Of the current program:
  std::map<Passage, std::size_t> forward_;
  std::map<Passage, std::set<Kept>> kept_;
  std::vector<std::size_t> backward_;
  std::set<std::int32_t> offloaded_;
  std::set<Passage> stored_, fetched_;
};

}  // namespace

void offload_activations(Draft& d) {
  ActivationOffload offload(d);
  for (Program& program : d.programs) program = offload.rewritten(program);
}

}  // namespace plait
