#include "search/work.h"

#include <mutex>

#include "core/error.h"
#include "core/parallel.h"
#include "search/refusals.h"

namespace plait {
namespace {

/// Layouts that a thread bounds at a time: neighbours, many of which have a shape in common, but
/// with enough pieces for many threads.
constexpr std::size_t kBoundsAtOnce = 4096;

}  // namespace

SearchWork::SearchWork(const Scenario& scenario, const CostModel& costs, const Space& space,
                       int threads)
    : scenario_(scenario),
      costs_(costs),
      bounds_(scenario, costs),
      layouts_(all_layouts(space_in(scenario, space), threads)) {}

Answers SearchWork::answer(const Question& q, int threads, const Heard& heard) {
  Answers out(q.layouts.size());
  const bool bounds = q.kind == Question::Kind::kBound;
  if (bounds) bound(q.layouts, threads, out);
  if (q.kind == Question::Kind::kCloserBound) {
    bounds_.prepare_memory(layouts_, q.layouts, threads);
    bounds_.prepare_time(layouts_, q.layouts, threads);
  }
  std::mutex mutex;
  in_parallel(bounds && !heard ? 0 : out.size(), threads, [&](std::size_t i) {
    const std::uint32_t number = q.layouts[i];
    if (q.kind == Question::Kind::kCloserBound) out[i].step = bounds_.closer(layouts_[number]);
    if (q.kind == Question::Kind::kSimulate) out[i] = simulated(number, q.limit);
    if (!heard) return;
    const std::lock_guard lock(mutex);
    heard(i, out[i]);
  });
  return out;
}

/// First the memory: layouts that no device has room for are asked no more.
void SearchWork::bound(const std::vector<std::uint32_t>& numbers, int threads, Answers& out) {
  bounds_.prepare_memory(layouts_, numbers, threads);
  std::vector<std::vector<std::uint32_t>> fitting(piece_count(numbers.size(), kBoundsAtOnce));
  in_pieces(numbers.size(), kBoundsAtOnce, threads,
            [&](std::size_t p, std::size_t begin, std::size_t end) {
              Bounds::Recent recent;
              for (std::size_t i = begin; i < end; ++i) {
                const std::optional<Bytes> least = bounds_.memory(layouts_[numbers[i]], recent);
                out[i] = least ? Answer{0, least->value} : Answer{};
                const bool fits = least && *least <= bounds_.most_memory();
                if (fits) fitting[p].push_back(static_cast<std::uint32_t>(i));
              }
            });
  std::size_t count = 0;
  for (const auto& piece : fitting) count += piece.size();
  std::vector<std::uint32_t> left;
  left.reserve(count);
  for (const auto& piece : fitting) {
    for (const std::uint32_t i : piece) left.push_back(numbers[i]);
  }
  bounds_.prepare_time(layouts_, left, threads);
  in_parallel(fitting.size(), threads, [&](std::size_t p) {
    Bounds::Recent recent;
    for (const std::uint32_t i : fitting[p]) {
      const std::optional<SimTime> step = bounds_.step(layouts_[numbers[i]], recent);
      out[i] = step ? Answer{*step, out[i].memory} : Answer{};
    }
  });
}

Answer SearchWork::simulated(std::uint32_t number, SimTime limit) {
  try {
    Priced priced = price(scenario_, costs_, layouts_[number], limit);
    const Evaluation& e = priced.result;
    if (e.fits()) kept_.offer(number, std::move(priced.step));
    return {e.step, e.memory.value, e.room.value};
  } catch (const InputError& e) {
    return {-number_of(e.text().code)};
  }
}

}  // namespace plait
