#pragma once
// The layouts to choose among: for each knob the values that it may take, and the walk over all
// that divide.

#include <cstdint>
#include <string>
#include <vector>

#include "core/filled_later.h"
#include "model/model.h"
#include "scenarios/scenario.h"
#include "search/layout.h"

namespace plait {

/// Values that each knob may take; an empty list: all that divide. Context parallelism is then left
/// at 1 for sequences that would give a rank less than kFewestTokens.
struct Space {
  std::vector<std::int64_t> pp, dp, fsdp, cp, ep, tp, micro_batch, chunks, zero_stage;
  bool zero_follows_fsdp = false;  // 3 where fsdp is above 1, else 0
  std::vector<std::int64_t>
      recompute_layers;  // -1: all; empty: also a half and quarters of a piece
  std::vector<Schedule> schedule;
  bool framework_schedules = false;  // they are what a framework has, and nobody's wish
  std::vector<Recompute> recompute;
  std::vector<bool> sequence_parallel, reshard;
  // Of gathered weights; empty: as in `SpaceOf::base`.
  std::vector<std::int64_t> prefetch;
  std::vector<bool> keep_weight_shard;
};
inline constexpr std::int64_t kFewestTokens = 1024;

/// The space of one layout: every knob as it is there.
Space only(const Layout& layout);

/// Whether recomputation of this kind does something that is planned.
bool recomputes(Recompute kind, const Model& model, const Workload& workload,
                const Strategy& strategy);

/// The values of every knob, in a fixed order: "pp=[1,2] dp=[] ...".
std::string text_of(const Space& space);

/// What sizes must divide.
struct SpaceOf {
  const Space& space;
  const Model& model;
  const Workload& workload;
  std::int64_t devices = 1;
  /// Its first_layers and last_layers hold for as many stages and chunks; with one stage, for all.
  Layout base = {};
  std::int64_t listed_pieces = -1;  // whose layers the scenario lists; of layouts with as many
  Strategy strategy = {};           // what no layout says
};

/// What a scenario says of its layouts, whatever the space.
SpaceOf space_in(const Scenario& scenario, const Space& space);

using Layouts = FilledLater<Layout>;

/// Each layout whose sizes divide, in an order that depends on the space alone. Of layouts that
/// make the same plan only one comes: options without effect are at their defaults, and training
/// state sharded over all replicas by zero_stage 1 or 2 is sharded over dp, by zero_stage 3 over
/// fsdp, where the space has both.
Layouts all_layouts(const SpaceOf& of, int threads = 1);

}  // namespace plait
