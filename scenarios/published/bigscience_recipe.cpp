// BigScience's runs on the V100 nodes of Jean Zay: their tables call a model by its size alone, and
// do not say through what its nodes were joined. Their scripts and notes do
// (bigscience-workshop/bigscience, experiments/).
#include <fmt/format.h>

#include <array>

#include "core/spelling.h"
#include "scenarios/published/not_representable.h"
#include "scenarios/published/recipe_of.h"

namespace plait {
namespace {

struct SizedModel {
  std::string_view size;
  std::int64_t layers, hidden;
};
/// MSIZE, NLAYERS and NHIDDEN of gpt2-meg/, gpt2-meg-ds-3d/, gpt2-meg-ds-zero/ and gpt2-hf-ds/; of
/// 22B, 50B and 78B, which were counted in units of 2^20, gpt2-16gb-nodes.md. What a model of 24B
/// was they do not say.
constexpr std::array<SizedModel, 13> kModels = {{{"GPT-7.5B", 36, 4096},
                                                 {"GPT-18B", 40, 6144},
                                                 {"GPT-22B", 32, 8192},
                                                 {"GPT-25B", 40, 7168},
                                                 {"GPT-30B", 48, 7168},
                                                 {"GPT-39B", 48, 8192},
                                                 {"GPT-50B", 64, 8192},
                                                 {"GPT-52B", 64, 8192},
                                                 {"GPT-65B", 64, 9216},
                                                 {"GPT-78B", 64, 10240},
                                                 {"GPT-97B", 64, 11264},
                                                 {"GPT-116B", 64, 12288},
                                                 {"GPT-206B", 64, 16384}}};
constexpr std::int64_t kHeads = 32;  // NHEADS of all

void add_shape(const PublishedRun& run, Recipe& recipe) {
  if (run.model.layers != 0) return;
  for (const SizedModel& m : kModels) {
    if (run.model.name != m.size) continue;
    recipe.layers = m.layers, recipe.hidden = m.hidden, recipe.heads = kHeads;
    recipe.by_release = "layers, width and heads of a model of this size, Omni-Path";
  }
}

/// Megatron-LM by itself reduces gradients by its own data parallelism, as no script says
/// otherwise; the branch with DeepSpeed's pipelines can leave them out (run.sh, "DS=N").
std::string framework(const PublishedRun& run) {
  if (mentions(run.source, "HF + Deepspeed")) return "deepspeed-zero3-2021";
  const bool alone = mentions(run.source, "\"Megatron\"") || mentions(run.notes, "DS=N");
  return alone ? "megatron-lm-2021-local" : "megatron-deepspeed";
}

/// What hf_ds_gpt2_n16.slurm keeps on the host in the tables' rows of the largest models, which
/// have no date, and which processors do Adam there (jz/hpc-specs.md).
void add_host(const PublishedRun& run, Recipe& recipe) {
  recipe.processors = "xeon-6248-x2";
  if (mentions(run.source, "HF + Deepspeed") && !mentions(run.notes, "Notes="))
    recipe.offload = "optimizer params";
}

/// Megatron-LM with ZeRO-3 deals each layer's input to its tensor-parallel ranks and keeps it on
/// the host (meg_ds_zero_gpt2_perf_n16.slurm: --partition-activations, --checkpoint-in-cpu), of
/// which the plan has the second; it is off in some rows of the table.
void add_checkpoints(const PublishedRun& run, Recipe& recipe) {
  if (!mentions(run.source, "Megatron + Deepspeed ZeRO")) return;
  if (mentions(run.notes, "PA_CPU=N"))
    throw NotRepresentable("inputs of layers are dealt to tensor-parallel ranks");
  recipe.offload = fmt::format("activation offload {} layers", recipe.layers);
}

}  // namespace

void complete_by_bigscience(const PublishedRun& run, Recipe& recipe) {
  if (!run.gpu.starts_with("V100")) return;
  // bandwidth/n16_32gb_all_reduce_bench.txt, NCCL 2.7.8 on 16 nodes in May 2021: two channels,
  // which use two of a node's four ports, and a bus bandwidth of 54.2 Gb/s.
  recipe.interconnect = "2x27.1Gb/s Omni-Path per node";
  recipe.by_release = "Omni-Path";
  if (!mentions(run.source, "gpt2.md")) return;
  recipe.framework = framework(run);
  add_shape(run, recipe);
  add_host(run, recipe);
  add_checkpoints(run, recipe);
  // transformers of 2021; the others' is Megatron-LM's.
  if (recipe.framework == "deepspeed-zero3-2021") recipe.kernel = "torch";
}

}  // namespace plait
