#include "search/frontier.h"

#include <algorithm>

#include "core/parallel.h"

namespace plait {
namespace {

/// Layouts that a thread orders at a time.
constexpr std::size_t kOrderedAtOnce = 4096;

struct Entered {
  std::vector<Candidate> heap;
  std::int64_t refused = 0, too_large = 0;
};

Entered enter(const Answers& bounds, std::int64_t memory, std::size_t begin, std::size_t end) {
  Entered out;
  for (std::size_t i = begin; i < end; ++i) {
    const Answer& bound = bounds[i];
    if (bound.refused()) {
      ++out.refused;
    } else if (bound.memory > memory) {
      ++out.too_large;
    } else {
      out.heap.push_back({bound.step, static_cast<std::uint32_t>(i)});
    }
  }
  std::make_heap(out.heap.begin(), out.heap.end());
  return out;
}

}  // namespace

Frontier::Frontier(const Answers& bounds, std::int64_t memory, int threads) {
  std::vector<Entered> pieces(piece_count(bounds.size(), kOrderedAtOnce));
  in_pieces(bounds.size(), kOrderedAtOnce, threads,
            [&](std::size_t p, std::size_t begin, std::size_t end) {
              pieces[p] = enter(bounds, memory, begin, end);
            });
  for (Entered& piece : pieces) {
    refused_ += piece.refused, too_large_ += piece.too_large;
    if (!piece.heap.empty()) heaps_.push_back(std::move(piece.heap));
  }
  std::ranges::make_heap(heaps_, behind);
}

Candidate Frontier::take_first() {
  const auto take = [](Heap& heap) {
    std::pop_heap(heap.begin(), heap.end());
    const Candidate out = heap.back();
    heap.pop_back();
    return out;
  };
  if (of_near()) return take(near_);
  std::ranges::pop_heap(heaps_, behind);
  const Candidate out = take(heaps_.back());
  if (heaps_.back().empty()) {
    heaps_.pop_back();
  } else {
    std::ranges::push_heap(heaps_, behind);
  }
  return out;
}

std::optional<Candidate> Frontier::take(std::uint32_t number, SimTime limit) {
  const auto take_from = [&](Heap& heap) -> std::optional<Candidate> {
    const auto at = std::ranges::find_if(
        heap, [&](const Candidate& c) { return c.number == number && c.bound <= limit; });
    if (at == heap.end()) return std::nullopt;
    const Candidate out = *at;
    heap.erase(at);
    std::make_heap(heap.begin(), heap.end());
    return out;
  };
  std::optional<Candidate> out = take_from(near_);
  for (Heap& heap : heaps_) {
    if (!out) out = take_from(heap);
  }
  std::erase_if(heaps_, [](const Heap& heap) { return heap.empty(); });
  std::ranges::make_heap(heaps_, behind);
  return out;
}

void Frontier::put_back(const Candidate& candidate) {
  near_.push_back(candidate);
  std::push_heap(near_.begin(), near_.end());
}

Frontier::Counts Frontier::count(SimTime limit) const {
  Counts out;
  const auto add = [&](const Heap& heap) {
    for (const Candidate& c : heap) ++(c.bound > limit ? out.beyond : out.within);
  };
  std::ranges::for_each(heaps_, add);
  add(near_);
  return out;
}

}  // namespace plait
