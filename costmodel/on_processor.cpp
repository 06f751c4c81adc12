// Ops that a plan puts on the processor of the host.
#include <utility>

#include "costmodel/costmodel.h"

namespace plait {
namespace {

// Adam on the processors of a server reaches less of their memory bandwidth than a copy does (0.75,
// efficiency.cpp): 0.5. DeepSpeed's CPU-Adam moves its 30 bytes per parameter at 0.39 to 0.53 of
// the 256 GB/s of a DGX-2's two (0.22, 0.51, 1.03, 2.41 and 2.57 s for 1, 2, 4, 8 and 10 billion
// parameters: Ren et al. 2021, table 4).
constexpr double kAdamOverCopy = 0.5 / 0.75;

// Where each rank has as many threads as the node has cores they wait for one another: Qwen2.5-3B
// with ZeRO-Offload on two A100 of a host of 128 cores takes 3.084 s a step without
// --bind_cores_to_rank and 2.383 s with it (DeepSpeed pull request 7474); Adam of 3.09 billion
// parameters takes 0.422 s of the latter by the rate above, on two EPYC 7742.
constexpr double kUnboundAdam = 1 + (3.084 - 2.383) / 0.422;

/// What one of `sharers` ranks has of a processor when all of them are at work.
Device share_of(Device processor, std::int64_t sharers) {
  const double n = static_cast<double>(sharers);
  processor.memory_bandwidth = processor.memory_bandwidth / n;
  for (FlopsPerSecond* peak :
       {&processor.peak_fp64, &processor.peak_fp32, &processor.peak_bf16, &processor.peak_fp16,
        &processor.peak_fp8, &processor.peak_fp4, &processor.vector_fp32}) {
    *peak = *peak / n;
  }
  processor.l2_cache = Bytes(processor.l2_cache.value / sharers);
  return processor;
}

}  // namespace

Cost CostModel::on_processor(const Compute& op, std::int64_t sharers) const {
  require_processor(machine);
  Device processor = share_of(machine.processor, sharers);
  if (std::holds_alternative<Adam>(op)) {
    const double wait = machine.bound_cores || sharers == 1 ? 1 : kUnboundAdam;
    processor.memory_bandwidth = processor.memory_bandwidth * (kAdamOverCopy / wait);
  }
  Cost cost = compute(op, processor);
  for (const auto& [of_device, of_host] :
       {std::pair(kPeakFlops, kHostFlops), std::pair(kMemoryBandwidth, kHostMemory)}) {
    std::swap(cost.share[of_device], cost.share[of_host]);
  }
  return cost;
}

}  // namespace plait
