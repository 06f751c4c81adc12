#include "search/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/json.h"
#include "plan/strategies/pieces.h"

namespace plait {

Strategy strategy_of(const Layout& l, const Strategy& base) {
  Strategy s = base;
  s.mesh = {};
  s.mesh[Axis::kPp] = l.pp, s.mesh[Axis::kDp] = l.dp, s.mesh[Axis::kFsdp] = l.fsdp;
  s.mesh[Axis::kEp] = l.ep;
  s.share_tokens(l.cp), s.split_layers(l.tp);
  s.sequence_parallel = l.sequence_parallel;
  s.zero_stage = l.zero_stage;
  s.pipeline.schedule = l.schedule, s.pipeline.chunks = l.chunks;
  s.pipeline.first_stage_layers = l.first_layers, s.pipeline.last_stage_layers = l.last_layers;
  if (l.pp != base.mesh[Axis::kPp]) s.pipeline.microbatch_group = 0;
  if (!l.listed_pieces) s.pipeline.stage_layers.clear();
  s.pipeline.ends_are_layers = false;
  s.pipeline.stage_tp.clear();
  s.recompute.kind = l.recompute;
  if (l.recompute != Recompute::kModules) s.recompute.modules.clear();
  if (l.recompute != Recompute::kOps) s.recompute.keep.clear();
  s.recompute.layers = l.recompute == Recompute::kFull ? l.recompute_layers : -1;
  // Each n-th layer goes with full recomputation of no fixed number.
  if (l.recompute != Recompute::kFull || l.recompute_layers >= 0) s.recompute.every = 1;
  s.fsdp.reshard_after_forward = l.reshard, s.fsdp.prefetch = l.prefetch;
  s.keep_weight_shard = l.keep_weight_shard;
  return s;
}

Layout layout_of(const Strategy& s, const Workload& w) {
  const auto size = [&](Axis a) { return static_cast<std::int32_t>(s.mesh[a]); };
  Layout l;
  l.pp = size(Axis::kPp), l.dp = size(Axis::kDp), l.fsdp = size(Axis::kFsdp);
  l.cp = static_cast<std::int32_t>(s.mesh.size_of(kContextAxes));
  l.tp = static_cast<std::int32_t>(s.mesh.size_of(kTensorAxes));
  l.ep = size(Axis::kEp);
  l.micro_batch = static_cast<std::int32_t>(w.micro_batch);
  l.chunks = static_cast<std::int16_t>(s.pipeline.chunks);
  l.first_layers = static_cast<std::int16_t>(s.pipeline.first_stage_layers);
  l.last_layers = static_cast<std::int16_t>(s.pipeline.last_stage_layers);
  l.listed_pieces = !s.pipeline.stage_layers.empty();
  l.zero_stage = static_cast<std::uint8_t>(s.zero_stage);
  l.schedule = s.pipeline.schedule, l.recompute = s.recompute.kind;
  l.recompute_layers = static_cast<std::int16_t>(s.recompute.layers);
  l.sequence_parallel = s.sequence_parallel;
  l.reshard = s.fsdp.reshard_after_forward;
  l.prefetch = static_cast<std::uint8_t>(s.fsdp.prefetch);
  l.keep_weight_shard = s.keep_weight_shard;
  return l;
}

std::vector<std::int32_t> listed_pieces(const Strategy& s, std::int64_t layers) {
  const std::int64_t pieces = std::ssize(s.pipeline.stage_layers);
  if (pieces == 0) return {};
  try {
    return first_layers(layers, pieces, s.pipeline);
  } catch (const InputError&) {
    return {};
  }
}

std::vector<Override> settings_of(const Layout& l) {
  const auto number = [](std::int64_t n) { return fmt::format("{}", n); };
  return {{"strategy.pp", number(l.pp)},
          {"strategy.dp", number(l.dp)},
          {"strategy.fsdp", number(l.fsdp)},
          {"strategy.cp", number(l.cp)},
          {"strategy.ep", number(l.ep)},
          {"strategy.tp", number(l.tp)},
          {"strategy.sequence_parallel", json_bool(l.sequence_parallel)},
          {"strategy.zero_stage", number(l.zero_stage)},
          {"strategy.pipeline.schedule", std::string(name_of(l.schedule))},
          {"strategy.pipeline.chunks", number(l.chunks)},
          {"strategy.pipeline.first_stage_layers", number(l.first_layers)},
          {"strategy.pipeline.last_stage_layers", number(l.last_layers)},
          {"strategy.recompute.kind", std::string(name_of(l.recompute))},
          {"strategy.recompute.layers", number(l.recompute_layers)},
          {"strategy.fsdp_options.reshard_after_forward", json_bool(l.reshard)},
          {"strategy.fsdp_options.prefetch", number(l.prefetch)},
          {"strategy.keep_weight_shard", json_bool(l.keep_weight_shard)},
          {"workload.micro_batch", number(l.micro_batch)}};
}

bool share_layers(std::int64_t layers, std::int64_t pieces, Layout& out) {
  out.first_layers = out.last_layers = -1;
  if (layers % pieces == 0) return true;
  const std::int64_t each = (layers + pieces - 1) / pieces, lacking = each * pieces - layers;
  const std::int64_t last = each - (lacking + 1) / 2, first = each - lacking / 2;
  if (pieces < 3 || last < 1) return false;
  out.first_layers = static_cast<std::int16_t>(first);
  out.last_layers = static_cast<std::int16_t>(last);
  return true;
}

}  // namespace plait
