#pragma once
// What an op waits for besides its own stream: derived from the operands (read after write, write
// after read, write after write), once per plan, into flat arrays that an engine walks without
// looking at tensors again.
//
// Within a call the dependencies are the same every time the block runs, so they belong to the
// block. Between calls they become *events*: an op signals one, later ops of other streams wait for
// it. Event numbers are reused once nobody waits any more, so an engine needs `events` cells per
// program.
//
// Besides data, order: on the streams where a communication library is handed work behind what
// compute has been handed (`behind_compute`), an op starts no earlier than the end of the compute
// op issued before it. This is how PyTorch's process groups synchronise with the current stream.

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace plait {

constexpr bool behind_compute(Stream s) {
  switch (s) {
    case Stream::kTp:
    case Stream::kCp:
    case Stream::kEp:
    case Stream::kSendForward:
    case Stream::kRecvForward:
    case Stream::kSendBackward:
    case Stream::kRecvBackward: return true;
    case Stream::kCompute:
    case Stream::kGradSync:
    case Stream::kParamGather:
    case Stream::kHostToDevice:
    case Stream::kDeviceToHost:
    case Stream::kHost:
    case Stream::kStorageRead:
    case Stream::kStorageWrite: return false;
  }
  return false;
}

/// Op i of the block waits for the earlier ops before[first[i]] .. before[first[i + 1] - 1] of it.
struct BlockDependencies {
  std::vector<std::uint16_t> first, before;
};

struct EventUse {
  std::uint16_t op = 0;  // within the call's block
  std::uint32_t event = 0;
  std::uint32_t source = 0;  // flat index of the op that signals it
};

inline constexpr std::uint32_t kNoMessage = 0xFFFFFFFF;

/// Entry i + 1 of a `first` array ends call i's range.
struct ProgramDependencies {
  std::vector<std::uint32_t> wait_first, signal_first;
  std::vector<EventUse> waits, signals;  // by call, then by op
  std::vector<std::uint32_t>
      message;  // per call: of its Send or Recv (a block has at most one), or kNoMessage
  std::uint32_t events = 0;
};

struct Dependencies {
  std::vector<BlockDependencies> blocks;
  std::vector<ProgramDependencies> programs;
  std::uint32_t messages = 0;  // distinct (tensor, layer, microbatch) that travel
};

Dependencies dependencies(const Plan& plan);
/// Those of blocks alone.
std::vector<BlockDependencies> dependencies_within_blocks(const Plan& plan);

/// Renumbers events so that a number is used again once nobody waits for it any more: an engine
/// that keeps a vector per event then needs few of them.
void reuse_events(ProgramDependencies& program);

}  // namespace plait
