// What is on the host of a node, where a task puts work or tensors there.
#include <fmt/format.h>

#include "scenarios/resolve.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

/// One memory is both the device's and the processor's: what would leave it counts twice.
void require_own_memory(const Device& device, bool serves) {
  if (!device.unified_memory) return;
  const std::string field = serves ? "serving.layers" : "strategy.offload";
  refuse_field("S200",
               fmt::format("the memory of {} is the processor's too: what leaves the device stays "
                           "in the same memory",
                           device.name),
               field, "a device with a memory of its own, or everything on the device",
               fmt::format("remove {}", field), {"cluster.preset", "cluster.device"});
}

}  // namespace

void resolve_processor(const OffloadOptions& offload, const Scenario& task, ClusterPart& part,
                       Warnings& warnings) {
  const bool leaves = task.serving ? task.serving->layers.leaves_devices() : offload.any();
  if (!leaves) return;
  require_own_memory(task.cluster.device, task.serving.has_value());
  Device& processor = part.processor.value;
  const std::string& usual = part.node.value.processor;
  if (processor.name.empty() && !usual.empty()) processor = find_device(usual);
  const bool works = task.serving || offload.state();  // C014
  if (works || !processor.name.empty()) return;
  warnings.push_back(
      {"W031", fmt::format("nothing says how large the host memory of {} is, to which "
                           "strategy.offload.activations moves tensors: it is not checked; set "
                           "cluster.processor to "
                           "what its nodes have, such as \"xeon-8480c-x2\" (plait list devices)",
                           part.node.value.name)});
}

}  // namespace plait
