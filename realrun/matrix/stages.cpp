// Verified combinations of stages that differ in their tensor-parallel degree.

#include <algorithm>

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {
namespace {

using namespace matrix_models;

/// Of the model's stages; the mesh has the largest.
template <std::int64_t... kDegrees>
void tp(MatrixCase& c) {
  c.strategy.pipeline.stage_tp = {kDegrees...};
  c.strategy.mesh[Axis::kTp] = std::max({kDegrees...});
  c.strategy.mesh[Axis::kPp] = sizeof...(kDegrees);
}

}  // namespace

void uneven_stages(List& l) {
  l.add("tp of 2 + 1", llama(), {}, 0, {tp<2, 1>});
  l.add("tp of 1 + 2, dropout", plain(), {}, 0, {tp<1, 2>});
  l.add("tp of 4 + 2 + 2, 1 + 2 + 1 layers", plain(), {}, 0, {deep, short_ends, tp<4, 2, 2>});
  l.add("tp of 1 + 4, gpipe", plain(), {}, 0, {gpipe, tp<1, 4>});
  l.add("tp of 1 + 2 + 1, tied", gpt(), {}, 0, {deep, short_ends, tp<1, 2, 1>});
  l.add("tp of 4 + 1, interleaved", plain(), {}, 0, {deep, interleaved, tp<4, 1>});
  l.add("tp of 1 + 2, interleaved, recompute all", plain(), {}, 0,
        {deep, interleaved, all_again, tp<1, 2>});
  l.add("tp of 2 + 1, zb-h1", llama(), {}, 0, {zb_h1, tp<2, 1>});
  l.add("tp of 2 + 1, zb-v, tied", gpt(), {}, 0, {deep, zb_v, tp<2, 1>});
  l.add("tp of 4 + 2, sp", gpt(), {}, 0, {untied, sp, tp<4, 2>});
  l.add("tp of 1 + 2, sp", falcon(), {}, 0, {sp, tp<1, 2>});
  l.add("tp of 2 + 1, sp, in pieces", llama(), {}, 0, {in_pieces, tp<2, 1>});
  l.add("tp of 2 + 4, sp, recompute attention", plain(), {}, 0, {sp, attention_again, tp<2, 4>});
  l.add("tp of 2 + 1, dp, zero 1", llama(), {.dp = 2}, 1, {tp<2, 1>});
  l.add("tp of 1 + 2, dp, sp, zero 2", falcon(), {.dp = 2}, 2, {sp, tp<1, 2>});
  l.add("tp of 2 + 1, fsdp, sp", llama(), {.fsdp = 2}, 3, {sp, tp<2, 1>});
  l.add("tp of 2 + 1, cp", llama(), {.cp = 2}, 0, {tp<2, 1>});
  l.add("tp of 1 + 2, ring, sp", plain(), {.cp = 2}, 0, {ring, sp, tp<1, 2>});
  l.add("tp of 2 + 1, experts", mixtral(), {.ep = 2}, 0, {tp<2, 1>});
  l.add("tp of 1 + 2, experts over tp, sp", mixtral(), {}, 0, {experts_over_tp, sp, tp<1, 2>});
  l.add("tp of 2 + 1, fsdp, state on host", llama(), {.fsdp = 2}, 3, {state_on_host, tp<2, 1>});
  l.add("tp of 1 + 2, small buckets", llama(), {.dp = 2}, 0, {small_buckets, tp<1, 2>});
}

}  // namespace plait::matrix_changes
