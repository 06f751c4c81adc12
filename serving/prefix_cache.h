#pragma once
// The pool of blocks of a cache in which requests that begin alike find each other's keys and
// values (vLLM's automatic prefix caching: vllm/v1/core/kv_cache_manager.py, block_pool.py).
//
// A block of B tokens is known by its text, which stands for all tokens up to its last, once all B
// are computed or about to be. A request finds the longest run of known blocks from its beginning,
// but computes its last token itself: of n tokens at most B floor((n - 1) / B) are found. A block
// is used by as many requests as have it; one that nobody uses is free, keeps what it holds, and
// may be found again. New blocks are those that hold nothing, then the free ones that were given
// back first; a request gives its own back from the last to the first, so that ends are forgotten
// before beginnings. Two blocks may hold the same (the last of a prompt that was found): either
// serves.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "serving/requests.h"
#include "serving/rings.h"

namespace plait {

class PrefixCache {
 public:
  /// `requests` outlives the cache.
  PrefixCache(std::int64_t blocks, std::int64_t block_size, const std::vector<Request>& requests);

  /// How many of the first `tokens` tokens of request r are found.
  std::int64_t found(std::size_t r, std::int64_t tokens) const;
  /// r gets blocks for its first `tokens` tokens, of which `computed` were before, or are found by
  /// one that has none yet, and for what comes behind them up to `slots`. False: there are too few,
  /// and nothing changes.
  bool hold(std::size_t r, std::int64_t computed, std::int64_t tokens, std::int64_t slots = 0);
  /// Whether `hold` would find enough of them free.
  bool has_room(std::size_t r, std::int64_t computed, std::int64_t tokens) const;
  /// r gives all of its blocks back.
  void release(std::size_t r);

  /// That no request uses.
  std::int64_t free_blocks() const { return free_; }

 private:
  struct Contents {
    std::int64_t text = 0, index = -1;  // the index-th block of a sequence; -1: nothing
    bool operator==(const Contents&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Contents& c) const;
  };
  struct Block {
    Contents contents;
    std::int32_t uses = 0;
  };
  struct Held {
    std::vector<std::int32_t> blocks;  // in order
    std::int64_t known = 0;            // of these
  };
  static constexpr std::int32_t kNone = -1;

  Contents contents_of(std::size_t r, std::int64_t index) const;
  std::int32_t block_with(const Contents& contents) const;
  /// What r would find, where it has no blocks yet.
  std::vector<std::int32_t> hits(std::size_t r, std::int64_t computed) const;
  /// Of those that are free, for as many tokens as `until`.
  std::int64_t taken(std::size_t r, const std::vector<std::int32_t>& hits,
                     std::int64_t until) const;
  Block& block(std::int32_t b) { return made_[static_cast<std::size_t>(b)]; }
  void use(std::int32_t b);
  std::int32_t take();
  void learn(std::int32_t b, const Contents& contents);
  void forget(std::int32_t b);

  std::int64_t blocks_ = 0, block_size_ = 1, free_ = 0;
  const std::vector<Request>& requests_;
  std::vector<Held> held_;   // of each request
  std::vector<Block> made_;  // so far: the others hold nothing
  Rings idle_;   // free blocks in the order in which they are taken, from number 0 on; block b is
                 // number b + 1
  Rings twins_;  // blocks that hold the same, the oldest of which is known
  std::unordered_map<Contents, std::int32_t, Hash> known_;
};

}  // namespace plait
