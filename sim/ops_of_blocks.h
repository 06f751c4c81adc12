#pragma once
// Ops of one sort of a program, found by a look at each block once and not at each call.

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace plait {

/// By block: its ops of the sort.
using OpsOfBlocks = std::vector<std::vector<std::uint16_t>>;

/// Those for which `wanted(block, i)` holds.
template <class Wanted>
OpsOfBlocks ops_of_blocks(const Plan& plan, Wanted&& wanted) {
  OpsOfBlocks out(plan.blocks.size());
  for (std::size_t b = 0; b < out.size(); ++b) {
    for (std::size_t i = 0; i < plan.blocks[b].ops.size(); ++i) {
      const auto op = static_cast<std::uint16_t>(i);
      if (wanted(static_cast<BlockId>(b), op)) out[b].push_back(op);
    }
  }
  return out;
}

/// Those of a stage's program in their order: visit(flat index, number of its call, op).
template <class Visit>
void for_each_op(const Plan& plan, std::size_t stage, const OpsOfBlocks& ops, Visit&& visit) {
  const std::vector<Call>& calls = plan.programs[stage].calls;
  std::uint32_t first = 0;  // flat index of the call's
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const std::vector<Op>& of_block = plan.blocks[calls[c].block].ops;
    for (const std::uint16_t i : ops[calls[c].block]) visit(first + i, c, of_block[i]);
    first += static_cast<std::uint32_t>(of_block.size());
  }
}

}  // namespace plait
