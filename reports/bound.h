#pragma once
// What bounds a step, in the words of every report: the part of the critical path that takes most
// of it ("communication over fsdp"), and the hardware number that most of a part is spent on
// ("infiniband bandwidth").

#include <string>

#include "reports/report.h"

namespace plait {

/// The part, and of kernels and of communication the number where it has another name: "compute",
/// "compute (memory bandwidth)", "communication over fsdp (infiniband bandwidth)".
std::string bound_text(const Report& report);

/// The hardware number that most of the critical path is spent on ("compute", "memory bandwidth",
/// "infiniband latency", "host", ...), or "pipeline bubble" where ranks wait longer than that on
/// average, for others of their stage where there is one (kWaiting).
std::string bound_of(const Report& report);

}  // namespace plait
