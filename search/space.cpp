#include "search/space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plait {

Space only(const Layout& l) {
  Space s;
  s.pp = {l.pp}, s.dp = {l.dp}, s.fsdp = {l.fsdp}, s.cp = {l.cp}, s.ep = {l.ep};
  s.tp = {l.tp};
  s.micro_batch = {l.micro_batch}, s.chunks = {l.chunks}, s.zero_stage = {l.zero_stage};
  s.schedule = {l.schedule}, s.recompute = {l.recompute};
  s.recompute_layers = {l.recompute_layers};
  s.sequence_parallel = {l.sequence_parallel}, s.reshard = {l.reshard};
  s.prefetch = {l.prefetch}, s.keep_weight_shard = {l.keep_weight_shard};
  return s;
}

bool recomputes(Recompute kind, const Model& model, const Workload& workload,
                const Strategy& strategy) {
  switch (kind) {
    case Recompute::kNone:
    case Recompute::kFull: return true;
    // It drops the probabilities, which fused attention never keeps.
    case Recompute::kSelective: return !workload.flash_attention;
    case Recompute::kModules: return !strategy.recompute.modules.empty();  // S129
    case Recompute::kOps:                                                  // S156, S163
      return model.layer_pattern.empty() && !workload.lora.any();
  }
  return false;
}

std::string text_of(const Space& s) {
  std::string out;
  const auto add = [&out](const char* name, const auto& values) {
    std::vector<std::int64_t> numbers;
    for (const auto& v : values) numbers.push_back(static_cast<std::int64_t>(v));
    out += fmt::format("{}=[{}] ", name, fmt::join(numbers, ","));
  };
  add("pp", s.pp), add("dp", s.dp), add("fsdp", s.fsdp), add("cp", s.cp), add("ep", s.ep);
  add("tp", s.tp);
  add("micro_batch", s.micro_batch), add("chunks", s.chunks), add("zero_stage", s.zero_stage);
  add("zero_follows_fsdp", std::vector<bool>{s.zero_follows_fsdp});
  add("recompute_layers", s.recompute_layers), add("schedule", s.schedule);
  add("framework_schedules", std::vector<bool>{s.framework_schedules});
  add("recompute", s.recompute), add("sequence_parallel", s.sequence_parallel);
  add("reshard", s.reshard), add("prefetch", s.prefetch);
  add("keep_weight_shard", s.keep_weight_shard);
  return out;
}

SpaceOf space_in(const Scenario& s, const Space& space) {
  return {space,
          s.model,
          s.workload,
          s.cluster.world_size(),
          layout_of(s.strategy, s.workload),
          std::ssize(listed_pieces(s.strategy, s.model.layers)) - 1,
          s.strategy};
}

}  // namespace plait
