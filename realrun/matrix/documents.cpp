// Which combinations are verified with sequences that hold documents.

#include "realrun/matrix/changes.h"
#include "realrun/matrix/models.h"

namespace plait::matrix_changes {

using namespace matrix_models;

void packed_documents(List& l) {
  l.add("documents, one rank, pairs of sequences", gpt(), {}, 0, {documents, pairs});
  l.add("documents, dp", llama(), {.dp = 2}, 0, {documents});
  l.add("documents of 3, dp, zero 1", gpt(), {.dp = 2}, 1, {documents_of_3});
  l.add("documents, fsdp", qwen(), {.fsdp = 4}, 3, {documents});
  l.add("documents, tp", falcon(), {.tp = 2}, 0, {documents});
  l.add("documents, tp, sp", gpt(), {.tp = 2}, 0, {documents, sp});
  l.add("documents, unfused, tp, sp", gpt(), {.tp = 2}, 0, {documents, unfused, sp});
  l.add("documents of 3, tp in pieces, fsdp", plain(), {.fsdp = 2, .tp = 2}, 3,
        {documents_of_3, in_pieces});
  l.add("documents, ulysses", llama(), {.cp = 2}, 0, {documents, ulysses});
  l.add("documents of 3, ulysses of 4, pairs", gpt(), {.cp = 4}, 0,
        {documents_of_3, ulysses, pairs});
  l.add("documents, ulysses, unfused, recompute attention", plain(), {.cp = 2}, 0,
        {documents, ulysses, unfused, attention_again});
  l.add("documents, cp", llama(), {.cp = 2}, 0, {documents});
  l.add("documents of 3, cp of 4, tp, sp", gpt(), {.tp = 2, .cp = 4}, 0, {documents_of_3, sp});
  l.add("documents, cp, fsdp, unfused", plain(), {.fsdp = 2, .cp = 2}, 3, {documents, unfused});
  l.add("documents, pp, zb-h1", llama(), {.pp = 2}, 0, {documents, zb_h1});
  l.add("documents, pp, tp, sp, recompute all", llama(), {.pp = 2, .tp = 2}, 0,
        {documents, sp, all_again});
  l.add("documents, ep, dp, zero 1", mixtral(), {.dp = 2, .ep = 2}, 1, {documents});
  l.add("documents, tp", latent(), {.tp = 2}, 0, {documents, one_layer});
  l.add("documents, mtp, dp", llama(), {.dp = 2}, 0, {documents, mtp});
  l.add("padded, dp of 3", gpt(), {.dp = 3}, 0, {padded, batch_of_6});
  l.add("padded, fsdp", llama(), {.fsdp = 2}, 3, {padded});
  l.add("padded, tp, sp, pairs", gpt(), {.tp = 2}, 0, {padded, sp, pairs});
  l.add("padded, pp, dp, zero 1", llama(), {.pp = 2, .dp = 2}, 1, {padded});
  l.add("padded, cp", qwen(), {.cp = 2}, 0, {padded});
  l.add("padded, ring of 4, tp", llama(), {.tp = 2, .cp = 4}, 0, {padded, ring});
  l.add("padded, ulysses, mtp", plain(), {.cp = 2}, 0, {padded, ulysses, mtp});
}

}  // namespace plait::matrix_changes
