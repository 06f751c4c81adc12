#pragma once
// Megatron-LM's command line. Names, defaults and checks: megatron/training/arguments.py of
// github.com/NVIDIA/Megatron-LM at commit 000c4ac24f61159c138b0975def722c65245983c.

#include <string>
#include <string_view>
#include <vector>

#include "core/warning.h"
#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/export_draft.h"

namespace plait::megatron {

/// The words with options of forks by the names that Megatron-LM has for them.
std::vector<ShellWord> with_names_of_forks(std::vector<ShellWord> words);

/// Arguments that are a field of the scenario under another name.
struct Same {
  std::string_view argument, path;
};
inline constexpr Same kModelSizes[] = {
    {"--num-layers", "model.layers"},
    {"--hidden-size", "model.hidden"},
    {"--num-attention-heads", "model.heads"},
    {"--ffn-hidden-size", "model.ffn_hidden"},
};
inline constexpr Same kSizes[] = {
    {"--seq-length", "workload.sequence_length"},
    {"--global-batch-size", "workload.global_batch"},
    {"--micro-batch-size", "workload.micro_batch"},
};
/// One where absent.
inline constexpr Same kAxes[] = {
    {"--tensor-model-parallel-size", "strategy.tp"},
    {"--pipeline-model-parallel-size", "strategy.pp"},
    {"--context-parallel-size", "strategy.cp"},
};
/// Gradients in a bucket where --ddp-bucket-size is absent: the larger of two numbers. Without
/// overlap a bucket is of all, and so of more than devices hold
/// (megatron/core/distributed/distributed_data_parallel.py).
inline constexpr std::int64_t kLeastBucket = 40'000'000, kBucketOfReplica = 1'000'000;
inline constexpr Bytes kWholeBucket{1'000'000'000'000};

/// Megatron-DeepSpeed, where the arguments are of that.
struct Fork {
  bool deepspeed = false, flash_attention = false;
  std::int64_t zero_stage = 0;
  /// What the file of --deepspeed_config says beside the stage, where the script writes that file.
  std::vector<Given> written = {};
};
Fork fork_of(Arguments& arguments, const std::string& script, const std::string& file,
             Warnings& warnings);
std::string framework_of(const Fork& fork);

/// Attention's heads: their sizes and groups, latents, norms; `rms`: the model's norms are RMSNorm.
void write_heads(ExportDraft& draft);
void read_heads(Arguments& arguments, Imported& out, std::int64_t hidden, std::int64_t heads,
                bool rms);

/// Sliding windows; `layers` of the model.
void write_windows(ExportDraft& draft);
void read_windows(Arguments& arguments, Imported& out, std::int64_t layers);

/// Which layers of a hybrid have states, attention and an MLP, and what states are.
/// `has_pattern`: the model is a hybrid that it has.
bool has_pattern(const Model& model);
/// As many as --hybrid-layer-pattern has; 0: it is absent.
std::int64_t layers_of_pattern(Arguments& arguments);
void write_hybrid(ExportDraft& draft);
void read_hybrid(Arguments& arguments, Imported& out, std::int64_t layers, std::int64_t hidden);

/// Layers that have a gated delta net where others have attention; false: there are none.
bool read_delta_nets(Arguments& arguments, Imported& out, std::int64_t layers);

/// Attention over the ranks of a sequence; `cp` of them.
void write_context(ExportDraft& draft);
void read_context(Arguments& arguments, Imported& out, std::int64_t cp);

/// Schedule, and layers of stages; `layers` of the model, 0 where the arguments have none.
void write_pipeline(ExportDraft& draft);
void read_pipeline(Arguments& arguments, Imported& out, std::int64_t pp, std::int64_t layers);

/// --pipeline-model-parallel-layout: layers of each piece, in the order of the model.
std::string layout_of(const std::vector<std::int64_t>& layers, std::int64_t mtp_layers);
struct Layout {
  std::vector<std::int64_t> layers;
  std::int64_t mtp_layers = 0;
  bool mtp_is_last = true;  // where there is multi-token prediction: in the piece of the loss
};
/// Nothing where the text is no layout.
std::optional<Layout> read_layout(std::string text);
/// A piece between others that had its m alone gets a layer, which takes about as long: the last
/// one of the piece before, if that has another. True where there is one.
bool fill_empty(std::vector<std::int64_t>& layers);

void write_recompute(ExportDraft& draft);
void read_recompute(Arguments& arguments, Imported& out);

/// Products in 8 or 4 bits; `weights`: the type of the others.
void write_narrow(ExportDraft& draft);
void read_narrow(Arguments& arguments, Imported& out, const std::string& weights);

/// Mixtures of experts: the model's, and where experts are; `layers` of the model, 0 where the
/// arguments have none.
struct Ranks {
  std::int64_t tp = 1, cp = 1;
};
void write_experts(ExportDraft& draft);
/// Experts' groups are ones that Megatron-LM makes: not those that leave out the ranks along cp.
bool counts_ranks_of_experts(const Strategy& strategy);
void read_experts(Arguments& arguments, Imported& out, const Ranks& of, std::int64_t layers,
                  std::int64_t ffn_hidden);

/// Ranks of DeepSpeed's sequence parallelism, which exchanges tokens for heads; 1: there is none.
std::int64_t read_ulysses(Arguments& arguments, Imported& out);
/// How many experts the arguments have; 0: the model is dense.
std::int64_t experts_of(Arguments& arguments, const Fork& fork);
/// The same of Megatron-DeepSpeed's mixtures, with `tp` ranks.
void read_deepspeed_experts(Arguments& arguments, Imported& out, std::int64_t tp,
                            std::int64_t layers, std::int64_t ffn_hidden);

/// Options without effect on a step count as read.
void pass_over_idle(Arguments& arguments);

/// Of weights, and bytes of an element of gradients where they are reduced.
struct ArgumentTypes {
  std::string weights;
  std::int64_t bytes_reduced = 4;
};
/// What the script lets Transformer Engine's attention run on: NVTE_FLASH_ATTN, NVTE_FUSED_ATTN.
struct AllowedKernels {
  bool flash = true, fused = true;
};
AllowedKernels allowed_kernels(const std::string& script);
/// Which kernels attention has. Throws InputError D009 for context parallelism where none has it.
void write_attention(ExportDraft& draft);
void read_attention(Arguments& arguments, Imported& out, const Fork& fork,
                    const AllowedKernels& allowed);
/// Layers are Megatron-LM's own code, not Transformer Engine's.
bool has_own_layers(Arguments& arguments, const Fork& fork);

/// Which kernels are fused beside attention's. Reading comes behind the model and the precision.
void write_fusions(ExportDraft& draft);
void read_fusions(Arguments& arguments, Imported& out);

ArgumentTypes read_precision(Arguments& arguments, Imported& out, const Fork& fork);
/// Sharding as DeepSpeed has it, and how it reduces gradients.
void read_zero(Arguments& arguments, Imported& out, const Fork& fork, const ArgumentTypes& types);

void write(ExportDraft& draft);
Imported read(const std::string& text, const std::string& file);

}  // namespace plait::megatron
