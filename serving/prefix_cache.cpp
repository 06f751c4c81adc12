#include "serving/prefix_cache.h"

#include <algorithm>

#include "core/error.h"
#include "core/quantity.h"
#include "core/random.h"

namespace plait {
namespace {

/// Of the ring of free blocks: behind the last, before the first.
constexpr std::int32_t kIdleEnds = 0;

std::int32_t idle_number(std::int32_t block) { return block + 1; }

}  // namespace

std::size_t PrefixCache::Hash::operator()(const Contents& c) const {
  return scramble(scramble(static_cast<std::uint64_t>(c.text)) +
                  static_cast<std::uint64_t>(c.index));
}

PrefixCache::PrefixCache(std::int64_t blocks, std::int64_t block_size,
                         const std::vector<Request>& requests)
    : blocks_(blocks),
      block_size_(block_size),
      free_(blocks),
      requests_(requests),
      held_(requests.size()) {
  idle_.add();
}

/// What is not shared is a text of the request's own, below 0.
PrefixCache::Contents PrefixCache::contents_of(std::size_t r, std::int64_t index) const {
  const std::int64_t last = (index + 1) * block_size_ - 1;
  const std::vector<SharedSpan>& shared = requests_[r].shared;
  const auto span = std::ranges::upper_bound(shared, last, {}, &SharedSpan::until);
  return {span == shared.end() ? -1 - static_cast<std::int64_t>(r) : span->text, index};
}

std::int32_t PrefixCache::block_with(const Contents& contents) const {
  const auto found = known_.find(contents);
  return found == known_.end() ? kNone : found->second;
}

std::int64_t PrefixCache::found(std::size_t r, std::int64_t tokens) const {
  const std::int64_t most = (tokens - 1) / block_size_;
  std::int64_t blocks = 0;
  while (blocks < most && block_with(contents_of(r, blocks)) != kNone) ++blocks;
  return blocks * block_size_;
}

std::vector<std::int32_t> PrefixCache::hits(std::size_t r, std::int64_t computed) const {
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; held_[r].blocks.empty() && i < computed / block_size_; ++i) {
    out.push_back(block_with(contents_of(r, i)));
    PLAIT_CHECK(out.back() != kNone, "blocks that were found are not there");
  }
  return out;
}

std::int64_t PrefixCache::taken(std::size_t r, const std::vector<std::int32_t>& hits,
                                std::int64_t until) const {
  const std::int64_t before = std::ssize(held_[r].blocks) + std::ssize(hits);
  const std::int64_t more = ceil_div(until, block_size_) - before;
  const auto is_idle = [this](std::int32_t b) {
    return made_[static_cast<std::size_t>(b)].uses == 0;
  };
  return std::max<std::int64_t>(0, more) + std::ranges::count_if(hits, is_idle);
}

bool PrefixCache::has_room(std::size_t r, std::int64_t computed, std::int64_t tokens) const {
  return taken(r, hits(r, computed), tokens) <= free_;
}

bool PrefixCache::hold(std::size_t r, std::int64_t computed, std::int64_t tokens,
                       std::int64_t slots) {
  Held& held = held_[r];
  const std::vector<std::int32_t> found = hits(r, computed);
  const std::int64_t until = std::max(tokens, slots);
  if (taken(r, found, until) > free_) return false;
  for (const std::int32_t b : found) use(b);
  held.blocks.insert(held.blocks.end(), found.begin(), found.end());
  held.known += std::ssize(found);
  while (std::ssize(held.blocks) < ceil_div(until, block_size_)) held.blocks.push_back(take());
  for (std::int64_t& i = held.known; i < tokens / block_size_; ++i) {
    learn(held.blocks[static_cast<std::size_t>(i)], contents_of(r, i));
  }
  return true;
}

void PrefixCache::use(std::int32_t b) {
  if (block(b).uses++ > 0) return;
  idle_.leave(idle_number(b));
  --free_;
}

/// A block that holds nothing: one that was never used counts as such.
std::int32_t PrefixCache::take() {
  const std::int32_t first = idle_.next(kIdleEnds) - 1;
  const bool empty = first != kNone && block(first).contents.index < 0;
  std::int32_t b = first;
  if (!empty && static_cast<std::int64_t>(made_.size()) < blocks_) {
    b = twins_.add();
    made_.emplace_back();
    idle_.join(idle_.add(), kIdleEnds);
  }
  PLAIT_CHECK(b != kNone, "a block is taken where none is free");
  use(b);
  forget(b);
  return b;
}

void PrefixCache::learn(std::int32_t b, const Contents& contents) {
  block(b).contents = contents;
  const auto [oldest, is_first] = known_.emplace(contents, b);
  if (!is_first) twins_.join(b, oldest->second);
}

void PrefixCache::forget(std::int32_t b) {
  Contents& contents = block(b).contents;
  if (contents.index < 0) return;
  const auto known = known_.find(contents);
  if (twins_.alone(b)) {
    known_.erase(known);
  } else if (known->second == b) {
    known->second = twins_.next(b);
  }
  twins_.leave(b);
  contents = {};
}

void PrefixCache::release(std::size_t r) {
  std::vector<std::int32_t>& held = held_[r].blocks;
  held_[r].known = 0;
  while (!held.empty()) {
    const std::int32_t b = held.back();
    held.pop_back();
    if (--block(b).uses > 0) continue;
    const bool empty = block(b).contents.index < 0;
    idle_.join(idle_number(b), empty ? idle_.next(kIdleEnds) : kIdleEnds);
    ++free_;
  }
}

}  // namespace plait
