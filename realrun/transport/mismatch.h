#pragma once
// The error of a channel whose two ends do not mean the same transfer.

#include "core/error.h"
#include "realrun/transport.h"

namespace plait {

inline InternalError mismatch(std::int64_t rank, const BytesOnTheWay& expected) {
  return InternalError("rank " + std::to_string(rank) + " and rank " +
                       std::to_string(expected.peer) + " disagree on what travels next (channel " +
                       std::to_string(expected.channel) + ", " + std::to_string(expected.bytes) +
                       " bytes expected)");
}

}  // namespace plait
