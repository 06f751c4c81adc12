#pragma once
// Accelerate's configuration file. Keys: src/accelerate/commands/config/config_args.py (at commit
// 002dd35a), src/accelerate/parallelism_config.py (0422db7e) and the guide "FSDP1 vs FSDP2" of
// github.com/huggingface/accelerate.
//
// With FSDP parameters are fp32 (accelerator.py, prepare_model, upcasts those that are trained) and
// are gathered, and their gradients reduced, in the type of mixed_precision (utils/dataclasses.py,
// FullyShardedDataParallelPlugin.set_mixed_precision). A shard of the sum is cast to the type of
// its parameter before it is kept: FSDP1 by _cast_grad_to_param_dtype
// (torch/distributed/fsdp/_runtime_utils.py), FSDP2 in foreach_reduce, as orig_dtype
// (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py).

#include <optional>
#include <string>

#include "scenarios/dialects/export_draft.h"

namespace plait::accelerate {

void write(ExportDraft& draft);
/// Where the file is: the text itself, or what a script writes (cat > fsdp.yaml <<EOF) and starts
/// `accelerate launch` with, on the same lines; nothing: neither.
std::optional<std::string> config_in(const std::string& text);

/// Also reads FSDP1's sharding strategies. Of a script its command's options count too.
Imported read(const std::string& text, const std::string& file);

}  // namespace plait::accelerate
