#include "reports/profile/predicted_profile.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "costmodel/chain_cost.h"
#include "costmodel/costmodel.h"
#include "costmodel/gradient_sums.h"
#include "costmodel/projections.h"
#include "plan/places.h"
#include "plan/walk.h"

namespace plait {
namespace {

const MatMul* product_in(const Op& op) {
  const auto* compute = std::get_if<Compute>(&op.body);
  return compute == nullptr ? nullptr : std::get_if<MatMul>(compute);
}

/// Kernels or messages that an op is run as, where that can be told.
double calls_of(const Op& op, const Kernels& kernels) {
  if (const auto* c = std::get_if<Collective>(&op.body)) {
    return static_cast<double>(all_reduces_of(*c, kernels));
  }
  const MatMul* product = product_in(op);
  if (product == nullptr) return 1;
  const bool expert_by_expert = product->batch > 1 && kernels.experts == Fusion::kEager;
  return as_run(*product, kernels).count *
         (expert_by_expert ? static_cast<double>(product->batch) : 1.0);
}

struct MessageSize {
  std::int64_t ranks = 2, bytes = 0;
};

/// Sizes of a rank's messages; groups are counted once.
class MessageSizes {
 public:
  MessageSizes(const Plan& plan, const Track& track) : plan_(plan), track_(track) {}

  MessageSize operator()(const Op& op) {
    if (const auto* s = std::get_if<Send>(&op.body)) return {2, s->bytes.value};
    if (const auto* r = std::get_if<Recv>(&op.body)) return {2, r->bytes.value};
    const auto* c = std::get_if<Collective>(&op.body);
    if (c == nullptr) return {};
    return {c->kind == CollectiveKind::kShift ? 2 : ranks_of(*c), c->bytes().value};
  }

 private:
  std::int64_t ranks_of(const Collective& c) {
    std::int64_t& ranks = ranks_[{c.axes.bits(), c.stages}];
    if (ranks == 0) ranks = std::ssize(members(plan_, track_.rank, c.axes, c.stages));
    return ranks;
  }

  const Plan& plan_;
  const Track& track_;
  std::map<std::pair<std::uint8_t, Stages>, std::int64_t> ranks_;
};

/// The share of an op's time, a product's or that of a table's gradient, which the sum of gradients
/// behind it takes, where that is a kernel of its own.
class GradientSums {
 public:
  GradientSums(const Kernels& kernels, const Device& device)
      : costs_{.kernels = kernels}, device_(device) {}

  double operator()(const Op& op) {
    const auto known = shares_.find(&op);
    return known != shares_.end() ? known->second : shares_.emplace(&op, share(op)).first->second;
  }

 private:
  double share(const Op& op) const {
    const auto* compute = std::get_if<Compute>(&op.body);
    const auto* table = compute == nullptr ? nullptr : std::get_if<Embedding>(compute);
    if (table != nullptr) return share_of_table(*table);
    const MatMul* product = product_in(op);
    if (product == nullptr || gradient_sum_chain(*product, costs_.kernels).kernels == 0) return 0;
    MatMul alone = *product;
    alone.accumulate = false, alone.out = written_alone(*product);
    const double whole = costs_.compute(*product, device_).total().value;
    if (!(whole > 0)) return 0;
    return std::clamp(1 - costs_.compute(alone, device_).total().value / whole, 0.0, 1.0);
  }

  double share_of_table(const Embedding& table) const {
    const double sum = chain_cost(table_sum_chain(table, costs_.kernels), device_).total().value;
    const double whole = costs_.compute(table, device_).total().value;
    return whole > 0 ? std::clamp(sum / whole, 0.0, 1.0) : 0;
  }

  CostModel costs_;
  const Device& device_;
  std::unordered_map<const Op*, double> shares_;
};

template <class Body>
bool computes(const Op& op) {
  const auto* compute = std::get_if<Compute>(&op.body);
  return compute != nullptr && std::holds_alternative<Body>(*compute);
}

/// Casts beside a loss: of its logits and of their gradient.
std::unordered_set<const Op*> casts_of_losses(const Plan& plan) {
  std::unordered_set<const Op*> out;
  for (const Block& block : plan.blocks) {
    for (std::size_t i = 1; i < block.ops.size(); ++i) {
      const Op &a = block.ops[i - 1], &b = block.ops[i];
      if (computes<Cast>(a) && computes<CrossEntropy>(b)) out.insert(&a);
      if (computes<CrossEntropy>(a) && computes<Cast>(b)) out.insert(&b);
    }
  }
  return out;
}

/// What an op is as kernels: one span, or two with the sum of gradients behind it.
class PredictedSpans {
 public:
  PredictedSpans(const Plan& plan, const Kernels& kernels, const Device& device, KindsTold told)
      : kernels_(kernels),
        told_(told),
        gradient_sum_(kernels, device),
        of_losses_(casts_of_losses(plan)) {}

  void add(const Op& op, ProfiledSpan span) {
    if (told_ == KindsTold::kByNames) {
      if (is_told_by_operators(span.kind)) span.kind = KernelKind::kElementwise;
    } else if (of_losses_.contains(&op)) {
      span.kind = KernelKind::kCrossEntropy;
    } else if (const double share = gradient_sum_(op); share > 0) {
      ProfiledSpan sum = span;
      const MatMul* product = product_in(op);
      sum.kind = KernelKind::kGradientSum;
      sum.calls = product == nullptr ? 1 : as_run(*product, kernels_).count;
      const double length = share * static_cast<double>(span.end - span.start);
      sum.start = span.end = span.end - static_cast<SimTime>(length);
      all.push_back(sum);
    }
    all.push_back(span);
  }
  std::vector<ProfiledSpan> all;

 private:
  const Kernels& kernels_;
  KindsTold told_;
  GradientSums gradient_sum_;
  std::unordered_set<const Op*> of_losses_;
};

}  // namespace

StepProfile predicted_profile(const Plan& plan, const Track& track, const Kernels& kernels,
                              double step_s, const Device& device, KindsTold told) {
  PredictedSpans spans(plan, kernels, device, told);
  MessageSums messages;
  MessageSizes size_of(plan, track);
  const auto stage = static_cast<std::size_t>(track.stage);
  PLAIT_CHECK(std::ssize(track.start) == op_count(plan, stage), "a track has one span per op");
  for_each_op(plan, stage, [&](std::int64_t flat, const Call&, const Op& op) {
    const auto i = static_cast<std::size_t>(flat);
    const std::optional<KernelKind> kind = kernel_kind_of(op);
    if (!kind || track.end[i] <= track.start[i]) return;
    const double calls = calls_of(op, kernels);
    spans.add(op, {track.start[i], track.end[i], *kind, calls});
    if (!is_communication(*kind)) return;
    const MessageSize size = size_of(op);
    const double seconds = to_seconds(track.end[i] - track.start[i]).value / calls;
    for (double n = 0; n < calls; ++n) messages.add(*kind, size.ranks, size.bytes, seconds);
  });
  StepProfile out = account(spans.all, step_s);
  out.messages = messages.per_step(1);
  return out;
}

bool has_unfused_attention(const Plan& plan, std::int64_t stage) {
  bool found = false;
  const std::vector<std::int64_t> runs = runs_of_blocks(plan, static_cast<std::size_t>(stage));
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    if (runs[b] == 0) continue;
    for (const Op& op : plan.blocks[b].ops) {
      const auto* c = std::get_if<Compute>(&op.body);
      const auto* attention = c == nullptr ? nullptr : std::get_if<Attention>(c);
      found = found || (attention != nullptr && !attention->fused);
    }
  }
  return found;
}

}  // namespace plait
