#include "plan/strategies/stage_tp.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "plan/refusal.h"
#include "plan/schedule.h"

namespace plait {
namespace {

constexpr const char* kPath = "strategy.stage_tp";

[[noreturn]] void refuse_degrees(std::string problem, std::string expected) {
  throw refusal("S052", std::move(problem), kPath, std::move(expected),
                "give every stage a degree that fits its neighbours");
}

void require_degrees(const Strategy& s) {
  const std::vector<std::int64_t>& tp = s.pipeline.stage_tp;
  const std::int64_t stages = s.mesh[Axis::kPp], widest = s.mesh.size_of(kTensorAxes);
  const std::string most = std::to_string(widest);
  if (static_cast<std::int64_t>(tp.size()) != stages || std::ranges::max(tp) != widest) {
    refuse_degrees(std::to_string(tp.size()) + " tensor-parallel degrees for " +
                       std::to_string(stages) + " stages of at most " + most,
                   std::to_string(stages) + " degrees, the largest of them " + most);
  }
  for (std::size_t i = 0; i < tp.size(); ++i) {
    // An interleaved schedule sends from the last stage to the first one.
    const std::int64_t own = tp[i], next = tp[(i + 1) % tp.size()];
    const bool meet = i + 1 < tp.size() || s.pipeline.chunks > 1;
    if (own >= 1 && widest % own == 0 && (!meet || std::gcd(own, next) == std::min(own, next))) {
      continue;
    }
    refuse_degrees("stage " + std::to_string(i) + " of degree " + std::to_string(own) +
                       " beside one of degree " + std::to_string(next),
                   "divisors of " + most +
                       ", of two stages that send to each other one a multiple "
                       "of the other");
  }
}

/// What needs all stages alike, and the field that asks for it.
struct Obstacle {
  bool there;
  const char* path;
  const char* what;
};

void require_alone(const Model& m, const Strategy& s) {
  const std::vector<std::int64_t>& tp = s.pipeline.stage_tp;
  const bool ends_differ = !ends_meet(s) && tp.front() != tp.back();
  const Obstacle obstacles[] = {
      {s.mesh[Axis::kEtp] > 1, "strategy.expert_tp",
       "experts split over some of the ranks along tp"},
      {both_ways(s), "strategy.pipeline.schedule", "a schedule that holds every piece twice"},
      {m.tied_embeddings && ends_differ, "model.tied_embeddings",
       "an embedding tied between ends of different degrees"},
      {m.mtp_layers > 0 && ends_differ, "model.mtp_layers",
       "an embedding on both of two ends of different degrees"},
  };
  for (const Obstacle& o : obstacles) {
    if (!o.there) continue;
    throw refusal(
        "S053",
        std::string(o.what) + " is not planned with stages of different tensor-parallel degrees",
        o.path, "one tensor-parallel degree with it",
        "remove strategy.stage_tp, or change " + std::string(o.path), {"strategy.stage_tp"});
  }
}

/// Takes programs from plans of several degrees into one.
class Joiner {
 public:
  explicit Joiner(Plan& out) : out_(out) {}

  void take(const Plan& from, const std::vector<std::size_t>& stages) {
    from_ = &from;
    block_of_.assign(from.blocks.size(), kNone);
    take_tensors();
    for (const std::size_t s : stages) take_program(s);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  /// What travels between stages is one tensor to both ends.
  void take_tensors() {
    tensor_of_.assign(from_->tensors.size(), kNoTensor);
    std::vector<std::size_t> own;
    for (const Block& block : from_->blocks) {
      for (const Op& op : block.ops) {
        if (is_message(op)) meet(op.operands.at(0).tensor);
      }
    }
    for (std::size_t t = 0; t < tensor_of_.size(); ++t) {
      if (tensor_of_[t] == kNoTensor) tensor_of_[t] = add(from_->tensors[t]), own.push_back(t);
    }
    for (const std::size_t t : own) {
      Tensor& mine = out_.tensors[tensor_of_[t]];
      if (mine.is_view()) mine.storage = tensor_of_[mine.storage];
    }
  }
  void meet(TensorId t) {
    if (tensor_of_[t] != kNoTensor) return;
    const auto [at, fresh] = travels_.try_emplace(from_->tensors[t].name, kNoTensor);
    if (fresh) at->second = add(from_->tensors[t]);
    tensor_of_[t] = at->second;
  }
  TensorId add(const Tensor& t) {
    out_.tensors.push_back(t);
    return static_cast<TensorId>(out_.tensors.size() - 1);
  }

  void take_program(std::size_t stage) {
    Program program = from_->programs.at(stage);
    for (Call& call : program.calls) call.block = block(call.block);
    out_.programs.at(stage) = std::move(program);
  }
  BlockId block(BlockId b) {
    if (block_of_[b] == kNone) {
      block_of_[b] = out_.blocks.size();
      Block& copy = out_.blocks.emplace_back(from_->blocks[b]);
      for (Op& op : copy.ops) {
        for (Operand& o : op.operands) o.tensor = tensor_of_[o.tensor];
      }
    }
    return static_cast<BlockId>(block_of_[b]);
  }

  Plan& out_;
  const Plan* from_ = nullptr;
  std::vector<TensorId> tensor_of_;
  std::vector<std::size_t> block_of_;
  std::map<std::string, TensorId> travels_;
};

}  // namespace

bool stages_differ(const Strategy& s) {
  return std::ranges::any_of(s.pipeline.stage_tp,
                             [&](std::int64_t tp) { return tp != s.mesh.size_of(kTensorAxes); });
}

void require_stage_tp(const Model& model, const Strategy& s) {
  if (s.pipeline.stage_tp.empty()) return;
  require_degrees(s);
  if (stages_differ(s)) require_alone(model, s);
}

std::int64_t tp_of_stage(const Strategy& s, std::int64_t stage) {
  return s.pipeline.stage_tp.empty() ? s.mesh.size_of(kTensorAxes)
                                     : s.pipeline.stage_tp.at(static_cast<std::size_t>(stage));
}

Fan fan_between(std::int64_t own, std::int64_t other) {
  return {static_cast<std::int32_t>(std::max<std::int64_t>(1, other / own)),
          static_cast<std::int32_t>(std::max<std::int64_t>(1, own / other))};
}

Strategy with_tp(const Strategy& strategy, std::int64_t degree) {
  Strategy out = strategy;
  out.mesh[Axis::kTp] = degree;
  return out;
}

Plan join_stages(const Strategy& strategy, const std::map<std::int64_t, Plan>& of_degree) {
  const std::vector<std::int64_t>& tp = strategy.pipeline.stage_tp;
  Plan out = of_degree.at(strategy.mesh[Axis::kTp]);
  out.stage_tp = tp;
  out.tensors.clear(), out.blocks.clear();
  out.programs.assign(tp.size(), {});
  Joiner joiner(out);
  for (auto d = of_degree.rbegin(); d != of_degree.rend(); ++d) {  // the widest first
    std::vector<std::size_t> stages;
    for (std::size_t s = 0; s < tp.size(); ++s) {
      if (tp[s] == d->first) stages.push_back(s);
    }
    joiner.take(d->second, stages);
  }
  return out;
}

}  // namespace plait
