#pragma once
// The peak of device memory that a record states: under names that say its unit and what it counts.

#include "scenarios/published/record.h"
#include "scenarios/published/record_part.h"

namespace plait {

/// "peak_memory_gb", "peak_memory_gb_nvidia_smi", "peak_memory_allocated_gib",
/// "mem_max_allocated_bytes", ... Of several members the one that says most exactly what it counts
/// is taken.
void read_peak_memory(RecordPart& measured, Measured& out);

}  // namespace plait
