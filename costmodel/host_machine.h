#pragma once
// What a node has besides devices, and whether that is described where a plan makes use of it.

#include "plan/plan.h"
#include "topologies/cluster.h"

namespace plait {

struct HostMachine {
  Device processor;                             // no name: none is described
  BytesPerSecond storage_bandwidth;             // what its drives read; 0: none is described
  BytesPerSecond storage_write_bandwidth = {};  // 0: as they read
  bool bound_cores = true;  // each rank's threads on cores of its own; else all on all of them
};

/// Throws InputError C014 where no processor is described.
void require_processor(const HostMachine& machine);
/// Throws InputError C013 where no drives are described.
void require_storage(const HostMachine& machine);

/// Kernels on operands in host memory run on the processor.
bool runs_on_processor(const Plan& plan, const Op& op);
/// What the plan puts on the processor and on drives is described. Throws InputError C014, C013.
void require_described(const Plan& plan, const HostMachine& machine);

}  // namespace plait
