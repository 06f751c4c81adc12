#include "reports/profile/predicted_profile.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "costmodel/projections.h"
#include "plan/places.h"
#include "reports/walk.h"

namespace plait {
namespace {

/// Kernels or messages that an op is run as, where that can be told.
double calls_of(const Op& op, const Kernels& kernels) {
  if (const auto* c = std::get_if<Collective>(&op.body)) {
    return static_cast<double>(all_reduces_of(*c, kernels));
  }
  const auto* compute = std::get_if<Compute>(&op.body);
  const auto* product = compute == nullptr ? nullptr : std::get_if<MatMul>(compute);
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

}  // namespace

StepProfile predicted_profile(const Plan& plan, const Track& track, const Kernels& kernels,
                              double step_s) {
  std::vector<ProfiledSpan> spans;
  MessageSums messages;
  MessageSizes size_of(plan, track);
  const auto stage = static_cast<std::size_t>(track.stage);
  PLAIT_CHECK(std::ssize(track.start) == op_count(plan, stage), "a track has one span per op");
  for_each_op(plan, stage, [&](std::int64_t flat, const Call&, const Op& op) {
    const auto i = static_cast<std::size_t>(flat);
    const std::optional<KernelKind> kind = kernel_kind_of(op);
    if (!kind || track.end[i] <= track.start[i]) return;
    const double calls = calls_of(op, kernels);
    spans.push_back({track.start[i], track.end[i], *kind, calls});
    if (!is_communication(*kind)) return;
    const MessageSize size = size_of(op);
    const double seconds = to_seconds(track.end[i] - track.start[i]).value / calls;
    for (double n = 0; n < calls; ++n) messages.add(*kind, size.ranks, size.bytes, seconds);
  });
  StepProfile out = account(spans, step_s);
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
