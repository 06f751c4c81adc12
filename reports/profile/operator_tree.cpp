#include "reports/profile/operator_tree.h"

#include <algorithm>

namespace plait {

OperatorTree::OperatorTree(const KinetoTrace& trace) {
  for (const TraceThread& thread : trace.threads) {
    begins_.push_back(size());
    for (const TraceOperator& o : thread.operators) operators_.push_back(&o);
  }
  parents_.assign(operators_.size(), kNone);
  launches_.assign(operators_.size(), false);
  for (std::size_t t = 0; t < begins_.size(); ++t) {
    nest(begins_[t], t + 1 < begins_.size() ? begins_[t + 1] : size());
  }
  for (Index i = 0; i < size(); ++i) {
    if (at(i).sequence >= 0 && !at(i).backward) sequences_.push_back({at(i).sequence, i});
  }
  std::ranges::stable_sort(sequences_, {}, &Numbered::number);
  find_launching(trace);
}

void OperatorTree::nest(Index begin, Index end) {
  std::vector<Index> open;
  for (Index i = begin; i < end; ++i) {
    while (!open.empty() && at(open.back()).end_ns <= at(i).start_ns) open.pop_back();
    if (!open.empty()) parents_[static_cast<std::size_t>(i)] = open.back();
    open.push_back(i);
  }
}

void OperatorTree::find_launching(const KinetoTrace& trace) {
  std::vector<std::int64_t> launched;
  for (const TraceEvent& e : trace.events) {
    if (e.external >= 0) launched.push_back(e.external);
  }
  std::ranges::sort(launched);
  launched.erase(std::unique(launched.begin(), launched.end()), launched.end());
  for (Index i = 0; i < size(); ++i) {
    if (!std::ranges::binary_search(launched, at(i).external)) continue;
    externals_.push_back({at(i).external, i});
    for (Index o = i; o != kNone && !launches(o); o = parent(o)) {
      launches_[static_cast<std::size_t>(o)] = true;
    }
  }
  std::ranges::stable_sort(externals_, {}, &Numbered::number);
}

std::size_t OperatorTree::thread_of(Index i) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(begins_, i) - begins_.begin());
}

OperatorTree::Index OperatorTree::behind(Index i) const {
  Index next = i + 1;
  while (next < size() && same_thread(i, next) && at(next).start_ns < at(i).end_ns) ++next;
  return next;
}

OperatorTree::Index OperatorTree::launching(const TraceEvent& event) const {
  if (event.external < 0) return kNone;
  const auto found = std::ranges::lower_bound(externals_, event.external, {}, &Numbered::number);
  const bool same = found != externals_.end() && found->number == event.external;
  return same ? found->index : kNone;
}

OperatorTree::Index OperatorTree::forward_of(std::int32_t sequence) const {
  const auto first = std::ranges::lower_bound(sequences_, sequence, {}, &Numbered::number);
  const auto behind_last = std::ranges::upper_bound(sequences_, sequence, {}, &Numbered::number);
  if (first == behind_last) return kNone;
  const Index last = (behind_last - 1)->index;
  return same_thread(first->index, last) ? last : kNone;
}

OperatorTree::Index OperatorTree::node_around(Index i) const {
  while (i != kNone && !at(i).backward) i = parent(i);
  return i;
}

}  // namespace plait
