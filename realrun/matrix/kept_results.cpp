// Which combinations are verified with results that recomputation op by op keeps by name.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

namespace {

void all_but_qkv_and_out_again(MatrixCase& c) {
  c.strategy.recompute = {.kind = Recompute::kOps, .keep = {KeptResult::kQkv, KeptResult::kOut}};
}
void all_but_attention_and_mlp_again(MatrixCase& c) {
  c.strategy.recompute = {.kind = Recompute::kOps,
                          .keep = {KeptResult::kAttention, KeptResult::kUp, KeptResult::kDown}};
}

}  // namespace

void kept_results(List& l) {
  l.add("keep qkv, out", llama(), {}, 0, {all_but_qkv_and_out_again});
  l.add("keep qkv, out, fsdp", llama(), {.fsdp = 2}, 3, {all_but_qkv_and_out_again});
  l.add("keep qkv, out, tp, unfused", gpt(), {.tp = 2}, 0, {all_but_qkv_and_out_again, unfused});
  l.add("keep qkv, out, tp, sp", qwen(), {.tp = 2}, 0, {all_but_qkv_and_out_again, sp});
  l.add("keep attention, mlp, tp", llama(), {.tp = 2}, 0, {all_but_attention_and_mlp_again});
  l.add("keep attention, mlp, tp, sp", falcon(), {.tp = 2}, 0,
        {all_but_attention_and_mlp_again, sp});
  l.add("keep attention, mlp, pp", gpt(), {.pp = 2}, 0, {all_but_attention_and_mlp_again});
  l.add("keep qkv, out, ep", mixtral(), {.ep = 2}, 0, {all_but_qkv_and_out_again});
  l.add("keep attention, mlp, ep", deepseek(), {.ep = 2}, 0, {all_but_attention_and_mlp_again});
  l.add("keep qkv, out", qwen3(), {.dp = 2}, 0, {all_but_qkv_and_out_again});
  l.add("keep qkv, out, tp", latent(), {.tp = 2}, 0, {all_but_qkv_and_out_again});
}

}  // namespace plait::matrix_changes
