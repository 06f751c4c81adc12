#include "plan/strategies/processor.h"

#include <algorithm>
#include <map>
#include <set>

namespace plait {
namespace {

bool stays(const Tensor& t) {
  return t.kind == TensorClass::kWeight || t.kind == TensorClass::kKvCache;
}

/// `met` of `all` parts of it.
Op copy(const Draft& d, TensorId from, TensorId to, std::int16_t shift, std::int64_t met = 1,
        std::int64_t all = 1) {
  const Place source = d.tensors[from].place, target = d.tensors[to].place;
  return {Copy{source, target, Bytes(d.tensors[from].bytes(d.mesh()).value / all * met)},
          Stream::kCompute,
          Phase::kForward,
          {{from, Use::kRead, shift}, {to, Use::kWrite, shift}}};
}

/// Follows where the current value of each tensor is.
class Crossing {
 public:
  Crossing(Draft& d, Twins& host, bool whole) : d_(d), host_(host), whole_(whole) {}

  void on_host(Op op) {
    for (Operand& o : op.operands) {
      const TensorId twin = host_.of(o.tensor);
      const bool there = stays(d_.tensors[o.tensor]) || (whole_ && o.tensor == d_.x);
      if (!there && o.use != Use::kWrite && !on_host_.contains(o.tensor)) {
        out_.push_back(copy(d_, o.tensor, twin, o.shift));
      }
      if (!there) on_host_.insert_or_assign(o.tensor, o.use != Use::kRead);
      o.tensor = twin;
    }
    out_.push_back(std::move(op));
  }
  void on_device(Op op) {
    for (const Operand& o : op.operands) {
      const auto found = on_host_.find(o.tensor);
      if (found == on_host_.end()) continue;
      if (o.use != Use::kWrite && found->second) {
        out_.push_back(copy(d_, host_.of(o.tensor), o.tensor, o.shift));
      }
      on_host_.erase(found);
    }
    out_.push_back(std::move(op));
  }
  std::vector<Op> take() { return std::move(out_); }

 private:
  Draft& d_;
  Twins& host_;
  bool whole_;
  std::map<TensorId, bool> on_host_;  // true: and only there
  std::vector<Op> out_;
};

}  // namespace

TensorId Twins::of(TensorId tensor) {
  if (twin_.size() <= tensor) twin_.resize(tensor + std::size_t{1}, kNoTensor);
  if (twin_[tensor] == kNoTensor) {
    Tensor t = d_.tensors[tensor];
    t.name += place_ == Place::kHost ? ".host" : ".storage";
    t.place = place_;
    twin_[tensor] = d_.add(t);
  }
  return twin_[tensor];
}

Op copied(const Draft& d, TensorId from, TensorId to) { return copy(d, from, to, 0); }

Block on_processor(Draft& d, Twins& host, Block block,
                   const std::function<bool(const Op&)>& chosen) {
  const auto runs_there = [&](const Op& op) {
    return std::holds_alternative<Compute>(op.body) && chosen(op);
  };
  Crossing crossing(d, host, std::ranges::all_of(block.ops, runs_there));
  for (Op& op : block.ops) {
    runs_there(op) ? crossing.on_host(std::move(op)) : crossing.on_device(std::move(op));
  }
  return {block.name + ".processor", crossing.take()};
}

Block with_copied_weights(Draft& d, Twins& home, Place place, Block block,
                          const std::function<bool(const Op&)>& chosen) {
  std::map<TensorId, TensorId> staged;
  Block out{block.name + (place == Place::kHost ? ".from_host" : ".from_storage"), {}};
  for (Op& op : block.ops) {
    const bool copies = chosen(op), experts = multiplies_by_experts(d, op);
    for (Operand& o : op.operands) {
      if (!copies || d.tensors[o.tensor].kind != TensorClass::kWeight) continue;
      if (!staged.contains(o.tensor)) {
        Tensor t = d.tensors[o.tensor];
        t.name += ".staged", t.scope = Scope::kCall, t.persistent = false;
        const TensorId on_device = d.add(t);
        TensorId from = home.of(o.tensor);
        if (place == Place::kStorage) {  // read into memory, then copied
          t.name += ".read", t.place = Place::kHost;
          const TensorId in_memory = d.add(t);
          out.ops.push_back(copy(d, from, in_memory, 0));
          from = in_memory;
        }
        // Of experts those that have tokens, as llama.cpp does (ggml/src/ggml-backend.cpp,
        // ggml_backend_sched_compute_splits).
        const std::int64_t all = experts ? t.dims[0].local(d.mesh()) : 1;
        const std::int64_t met = experts ? body_of<MatMul>(op)->batch : 1;
        out.ops.push_back(copy(d, from, on_device, 0, met, all));
        staged[o.tensor] = on_device;
      }
      o.tensor = staged[o.tensor];
    }
    out.ops.push_back(std::move(op));
  }
  return out;
}

Block with_copied_cache(Draft& d, Twins& home, Block block) {
  Block out{block.name, {}};
  for (Op& op : block.ops) {
    const Attention* a = body_of<Attention>(op);
    for (Operand& o : op.operands) {
      if (a == nullptr || d.tensors[o.tensor].kind != TensorClass::kKvCache) continue;
      Tensor t = d.tensors[o.tensor];
      const std::int64_t rows = t.dims[0].global, read = a->batch * a->seq_kv;
      t.name += ".staged", t.dims[0] = Dim{read};
      t.scope = Scope::kCall, t.persistent = false;
      const TensorId on_device = d.add(t);
      out.ops.push_back(copy(d, home.of(o.tensor), on_device, 0, read, rows));
      o.tensor = on_device;
    }
    out.ops.push_back(std::move(op));
  }
  return out;
}

std::function<bool(const Op&)> ops_of_experts(const Draft& d, const Block& block) {
  std::set<TensorId> results;
  for (const Op& op : block.ops) {
    if (multiplies_by_experts(d, op)) results.insert(op.operands[2].tensor);
  }
  return [&d, results](const Op& op) {
    const bool between =
        body_of<Activation>(op) != nullptr && results.contains(op.operands[0].tensor);
    return between || body_of<Dispatch>(op) != nullptr || multiplies_by_experts(d, op);
  };
}

}  // namespace plait
