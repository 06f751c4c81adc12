#pragma once
// Is the plan executable? Checks what both executors rely on: references exist, collectives have
// all their members, messages meet, every read is ordered behind a write, nothing is written in
// vain, no op is larger than its tensors, collectives have those of one type, and the stages cannot
// block one another. make_plan's plans pass; a fault is our bug or a hand-made plan's.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace plait {

enum class FaultKind : std::uint8_t {
  kReference,      // P001: an index out of range
  kMember,         // P002: stages disagree about a collective that spans them
  kGroup,          // P003: a collective or message over a group of one
  kMessage,        // P004: a send without its receive, or the reverse
  kBytes,          // P005: two ends of a transfer disagree about its size
  kUnorderedRead,  // P006: a read that no write is ordered before
  kLeak,           // P007: written, never read, and kept beyond its call
  kDeadlock,       // P008: stages wait for one another in a circle
  kSize,           // P009: an op that works on more than a tensor has
  kType,           // P010: a collective of tensors of another type
};

struct PlanFault {
  FaultKind kind = FaultKind::kReference;
  std::int64_t stage = 0;
  std::int64_t call = 0;
  std::string text;
};

/// "P001" ... "P010".
std::string code_of(FaultKind kind);

std::vector<PlanFault> validate(const Plan& plan);

}  // namespace plait
