#include "search/work.h"

#include <mutex>
#include <utility>

#include "core/error.h"
#include "core/parallel.h"
#include "plan/schedule.h"
#include "search/few_microbatches.h"
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

void SearchWork::answer(const Question& q, int threads, std::span<Answer> out, const Heard& heard) {
  switch (q.kind) {
    case Question::Kind::kBound: return bound(q.layouts, threads, out);
    case Question::Kind::kCloserBound: return bound_closer(q.layouts, threads, out);
    case Question::Kind::kSimulate: return simulate(q, threads, out, heard);
  }
}

/// First the memory: layouts that no device has room for are asked no more.
void SearchWork::bound(const std::vector<std::uint32_t>& numbers, int threads,
                       std::span<Answer> out) {
  bounds_.prepare_memory(layouts_, numbers, threads);
  std::vector<std::vector<std::uint32_t>> fitting(piece_count(numbers.size(), kBoundsAtOnce));
  in_pieces(numbers.size(), kBoundsAtOnce, threads,
            [&](std::size_t p, std::size_t begin, std::size_t end) {
              Bounds::Recent recent;
              std::vector<std::uint32_t> fit;  // no other thread writes beside it
              for (std::size_t i = begin; i < end; ++i) {
                const std::optional<Bytes> least = bounds_.memory(layouts_[numbers[i]], recent);
                out[i] = least ? Answer{0, least->value} : Answer{};
                const bool fits = least && *least <= bounds_.most_memory();
                if (fits) fit.push_back(static_cast<std::uint32_t>(i));
              }
              fitting[p] = std::move(fit);
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

void SearchWork::bound_closer(const std::vector<std::uint32_t>& numbers, int threads,
                              std::span<Answer> out) {
  bounds_.prepare_memory(layouts_, numbers, threads);
  bounds_.prepare_time(layouts_, numbers, threads);
  in_parallel(numbers.size(), threads,
              [&](std::size_t i) { out[i] = {.step = bounds_.closer(layouts_[numbers[i]])}; });
}

void SearchWork::simulate(const Question& q, int threads, std::span<Answer> out,
                          const Heard& heard) {
  const auto length = [&](std::size_t i) { return simulated_calls(layouts_[q.layouts[i]]); };
  const std::vector<std::size_t> order = longest_first(q.layouts.size(), length);
  std::mutex mutex;
  in_parallel(order.size(), threads, [&](std::size_t nth) {
    const std::size_t i = order[nth];
    out[i] = simulated(q.layouts[i], q.limit);
    if (!heard) return;
    const std::lock_guard lock(mutex);
    heard(i, out[i]);
  });
}

/// About: of each microbatch the passes of all layers, and what each piece receives and sends. Each
/// call takes about as long.
std::int64_t SearchWork::simulated_calls(const Layout& l) const {
  const Strategy strategy = strategy_of(l, scenario_.strategy);
  const std::int64_t passes = splits_backward(l.schedule) ? 3 : 2;
  const std::int64_t all = l.microbatches(scenario_.workload.global_batch);
  return fewest_microbatches(strategy, all) *
         (passes * scenario_.model.layers + std::int64_t{4} * l.pp * l.chunks);
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
