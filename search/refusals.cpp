#include "search/refusals.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "core/parallel.h"
#include "plan/schedule.h"
#include "search/evaluate.h"

namespace plait {
namespace {

/// Layouts that are refused for one reason: by its number, or those that are cut alike, whose
/// bounds are made of one plan.
using Reason = std::tuple<SimTime, std::int32_t, std::int32_t, std::int32_t, bool, Recompute, bool,
                          std::int32_t, bool>;

Reason reason_of(const Layout& l, const Answer& answer) {
  if (answer.step != Answer::kRefused) return {answer.step, 0, 0, 0, false, {}, false, 0, false};
  return {answer.step,
          l.tp,
          l.cp,
          l.ep,
          l.sequence_parallel,
          l.recompute,
          l.recompute_layers >= 0,
          l.micro_batch,
          splits_backward(l.schedule)};
}

std::optional<InputError::Text> error_of(const SearchWork& work, const Layout& layout) {
  try {
    price(work.scenario(), work.costs(), layout, std::numeric_limits<SimTime>::max());
    return std::nullopt;
  } catch (const InputError& e) {
    return e.text();
  }
}

}  // namespace

std::int64_t number_of(std::string_view code) {
  constexpr std::int64_t kCodesOfALetter = 1000;
  std::int64_t number = 0;
  std::from_chars(code.data() + 1, code.data() + code.size(), number);
  return code.front() * kCodesOfALetter + number;
}

std::vector<Refusal> refusals(const SearchWork& work,
                              const std::vector<std::pair<std::uint32_t, Answer>>& refused,
                              int threads) {
  struct Alike {
    const Layout* first;
    std::int64_t count = 0;
  };
  std::map<Reason, Alike> reasons;
  for (const auto& [number, answer] : refused) {
    const Layout& layout = work.layouts()[number];
    ++reasons.try_emplace(reason_of(layout, answer), Alike{&layout}).first->second.count;
  }
  std::vector<Alike> alike;
  for (const auto& [reason, found] : reasons) alike.push_back(found);
  std::vector<std::optional<InputError::Text>> errors(alike.size());
  in_parallel(alike.size(), threads,
              [&](std::size_t i) { errors[i] = error_of(work, *alike[i].first); });
  std::vector<Refusal> out;
  for (std::size_t i = 0; i < alike.size(); ++i) {
    if (!errors[i]) continue;
    auto same =
        std::ranges::find_if(out, [&](const Refusal& r) { return r.why.code == errors[i]->code; });
    if (same == out.end()) same = out.insert(same, Refusal{*errors[i]});
    same->layouts += alike[i].count;
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &Refusal::layouts);
  return out;
}

}  // namespace plait
