#include "costmodel/host_machine.h"

#include "core/error.h"

namespace plait {
namespace {

bool reaches_drives(const Op& op) {
  const auto* copy = std::get_if<Copy>(&op.body);
  return copy != nullptr && (copy->from == Place::kStorage || copy->to == Place::kStorage);
}

}  // namespace

void require_processor(const HostMachine& machine) {
  if (!machine.processor.name.empty()) return;
  throw InputError({"C014",
                    "work on a processor that is not described",
                    {"", 0, 0, "cluster.processor"},
                    "a processor of the catalogue (plait list devices)",
                    "set cluster.processor to what the nodes have, such as \"xeon-8480c-x2\""});
}

void require_storage(const HostMachine& machine) {
  if (machine.storage_bandwidth.value > 0) return;
  throw InputError({"C013",
                    "tensors on storage that is not described",
                    {"", 0, 0, "cluster.storage_bandwidth"},
                    "what a node's drives read, such as \"3 GB/s\"",
                    "set cluster.storage_bandwidth"});
}

bool runs_on_processor(const Plan& plan, const Op& op) {
  return std::holds_alternative<Compute>(op.body) && !op.operands.empty() &&
         plan.tensors[op.operands[0].tensor].place == Place::kHost;
}

void require_described(const Plan& plan, const HostMachine& machine) {
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      if (runs_on_processor(plan, op)) require_processor(machine);
      if (reaches_drives(op)) require_storage(machine);
    }
  }
}

}  // namespace plait
