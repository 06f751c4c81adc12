#include "scenarios/dialects/vllm/vllm_experts.h"

#include <string>

#include "core/json.h"
#include "model/presets.h"

namespace plait::vllm {
namespace {

/// Replicas of one server have experts together, dealt or divided.
void read_shared_experts(Arguments& args, Imported& out, const NamedModel& model) {
  const Model* known = find_preset(model.preset);
  const bool dense = known != nullptr && known->experts == 0;
  if (dense || args.flag("--enable-expert-parallel")) return;
  out.give("serving.divide_experts", "true", args.line("--data-parallel-size"));
}

/// vllm/config/parallel.py, All2AllBackend: by default tokens are gathered from all ranks, and
/// results summed, which is what served experts do here (docs/strategies/vllm.md).
void read_exchange(Arguments& args, Imported& out) {
  const char* option = "--all2all-backend";
  const std::string backend = args.text(option).value_or("");
  if (backend.empty() || backend == "allgather_reducescatter") return;
  if (backend.starts_with("deepep_")) {
    return out.give("kernels.exchange", json_quote("deepep"), args.line(option));
  }
  warn_unread({std::string(option) + " " + backend}, out.warnings);
}

}  // namespace

void read_experts(Arguments& args, Imported& out, const NamedModel& model) {
  const char *on = "--enable-expert-parallel", *off = "--no-enable-expert-parallel";
  args.exclusive(on, off);
  const std::string dealt = json_bool(args.flag(on));
  if (args.flag(on) || args.flag(off)) {
    out.give("serving.expert_parallel", dealt, args.line(args.flag(off) ? off : on));
  } else {
    out.give_default("serving.expert_parallel", dealt);
  }
  if (args.integer("--data-parallel-size").value_or(1) > 1) read_shared_experts(args, out, model);
  read_exchange(args, out);
}

}  // namespace plait::vllm
