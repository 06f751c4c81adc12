#pragma once
// What a cache keeps of a sequence, in blocks of a pool that all layers share. A layer that sees
// all tokens keeps all of them. One with a window keeps the last window - 1 that have been computed
// and those that a step computes, in the blocks where these stand; blocks before go back to the
// pool (vLLM's SlidingWindowManager, remove_skipped_blocks). One with states keeps a sequence's
// state in one block, however long the sequence is (MambaSpec, without prefix caching). Where all
// layers keep all tokens a block is of all layers, and else of one.

#include <cstdint>

namespace plait {

struct KeptLayers {
  std::int64_t all = 1;       // that keep all tokens, each with blocks of its own
  std::int64_t windowed = 0;  // that keep those of a window
  std::int64_t window = 0;    // in tokens
  std::int64_t states = 0;    // that keep a state

  std::int64_t layers() const { return all + windowed + states; }
  bool differ() const { return windowed + states > 0; }
  /// Of a sequence with `computed` tokens while `more` are computed.
  std::int64_t blocks(std::int64_t computed, std::int64_t more, std::int64_t block_size) const;
  /// At most, until a sequence has `tokens`, up to `at_once` of them of one step: vLLM's
  /// SlidingWindowSpec.max_memory_usage_bytes, a window that begins within a block included.
  std::int64_t most_blocks(std::int64_t tokens, std::int64_t at_once,
                           std::int64_t block_size) const;
  /// The longest sequence that so many blocks hold.
  std::int64_t most_tokens(std::int64_t blocks, std::int64_t at_once,
                           std::int64_t block_size) const;
};

}  // namespace plait
