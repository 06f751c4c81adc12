#include "realrun/collective.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "realrun/rounding.h"

namespace plait {
namespace {

template <class T>
std::int64_t total(const std::vector<Piece<T>>& pieces) {
  std::int64_t n = 0;
  for (const Piece<T>& p : pieces) n += p.elements;
  return n;
}

template <class T>
void copy(T* to, const T* from, std::int64_t elements) {
  if (elements > 0 && to != from) std::copy(from, from + elements, to);
}

}  // namespace

template <class T>
void combine(T* to, const T* with, std::int64_t elements, Reduction reduction) {
  if (reduction == Reduction::kSum) {
    for (std::int64_t i = 0; i < elements; ++i) to[i] += with[i];
  } else {
    for (std::int64_t i = 0; i < elements; ++i) to[i] = std::max(to[i], with[i]);
  }
}

template <class T>
CollectiveRun<T>::CollectiveRun(CollectiveCall<T> call) : call_(std::move(call)) {
  const auto n = static_cast<std::int64_t>(call_.group.size());
  const bool gathers = call_.kind == CollectiveKind::kAllGather;
  elements_ = total(gathers ? call_.out : call_.in);
  PLAIT_CHECK(call_.in_place || !gathers || total(call_.in) * n == elements_,
              "an all_gather whose shares do not make the whole");
  rounds_ =
      rounds_of({pattern_of(call_.kind, n, call_.bytes)}, call_.kind, n, call_.index, elements_);
}

template <class T>
bool CollectiveRun<T>::advance(Transport& transport) {
  if (!begun_) gather_input();
  begun_ = true;
  const bool alone = call_.group.size() == 1;
  const bool by_library = call_.library != nullptr && !alone;
  if (!(by_library ? advance_library() : advance_rounds(transport))) return false;
  scatter_output();
  return true;
}

template <class T>
bool CollectiveRun<T>::advance_library() {
  if (!started_) {
    const auto n = static_cast<std::int64_t>(call_.group.size());
    const Range own = share_of(elements_, n, call_.index);
    ticket_ = call_.library->start(call_.kind, call_.reduction, call_.channel, call_.group, own,
                                   reinterpret_cast<std::byte*>(work_), elements_, sizeof(T));
  }
  started_ = true;
  return call_.library->finished(ticket_);
}

template <class T>
bool CollectiveRun<T>::advance_rounds(Transport& transport) {
  while (round_ < rounds_.size()) {
    if (!started_) start_round(transport);
    started_ = true;
    if (!std::ranges::all_of(transfers_, &BytesOnTheWay::done)) return false;
    combine_round();
    started_ = false;
    ++round_;
  }
  return true;
}

/// One piece that is worked on in place is its own work buffer.
template <class T>
void CollectiveRun<T>::gather_input() {
  const bool gathers = call_.kind == CollectiveKind::kAllGather;
  const bool direct = gathers ? call_.out.size() == 1 : call_.in_place && call_.in.size() == 1;
  if (direct) {
    work_ = call_.out[0].data;
    if (gathers && !call_.in_place) {
      const Range own =
          share_of(elements_, static_cast<std::int64_t>(call_.group.size()), call_.index);
      copy(work_ + own.first, call_.in[0].data, own.elements);
    }
    return;
  }
  PLAIT_CHECK(!gathers, "an all_gather of several pieces");
  own_work_.resize(static_cast<std::size_t>(elements_));
  work_ = own_work_.data();
  std::int64_t at = 0;
  for (const Piece<T>& p : call_.in) {
    copy(work_ + at, p.data, p.elements);
    at += p.elements;
  }
}

template <class T>
void CollectiveRun<T>::start_round(Transport& transport) {
  const Round& round = rounds_[round_];
  std::int64_t extra = 0;
  for (const Transfer& t : round) extra += t.combine ? t.range.elements : 0;
  if (static_cast<std::int64_t>(received_.size()) < extra) {
    received_.resize(static_cast<std::size_t>(extra));
  }
  transfers_.clear();
  T* beside = received_.data();
  for (const Transfer& t : round) {
    T* data = work_ + t.range.first;
    if (t.combine) {
      data = beside;
      beside += t.range.elements;
    }
    transfers_.push_back({.flow = t.direction == Direction::kSend ? Flow::kOut : Flow::kIn,
                          .peer = call_.group[static_cast<std::size_t>(t.peer)],
                          .channel = call_.channel,
                          .tag = call_.tag,
                          .data = reinterpret_cast<std::byte*>(data),
                          .bytes = static_cast<std::size_t>(t.range.elements) * sizeof(T)});
  }
  for (BytesOnTheWay& t : transfers_) transport.start(t);
}

template <class T>
void CollectiveRun<T>::combine_round() {
  const T* beside = received_.data();
  for (const Transfer& t : rounds_[round_]) {
    if (!t.combine) continue;
    combine(work_ + t.range.first, beside, t.range.elements, call_.reduction);
    round_to(work_ + t.range.first, t.range.elements, call_.dtype);
    beside += t.range.elements;
  }
}

template <class T>
void CollectiveRun<T>::scatter_output() {
  if (call_.kind == CollectiveKind::kReduceScatter && !call_.in_place) {
    const Range own =
        share_of(elements_, static_cast<std::int64_t>(call_.group.size()), call_.index);
    return copy(call_.out[0].data, work_ + own.first, own.elements);
  }
  if (own_work_.empty()) return;
  std::int64_t at = 0;
  for (const Piece<T>& p : call_.out) {
    copy(p.data, work_ + at, p.elements);
    at += p.elements;
  }
}

template <class T>
std::string CollectiveRun<T>::waits_for() const {
  std::string peers;
  for (const BytesOnTheWay& t : transfers_) {
    if (t.done) continue;
    const std::string peer = "rank " + std::to_string(t.peer);
    if (peers.find(peer) == std::string::npos) peers += (peers.empty() ? "" : " and ") + peer;
  }
  return peers.empty() ? "nobody" : peers;
}

template void combine<float>(float*, const float*, std::int64_t, Reduction);
template void combine<double>(double*, const double*, std::int64_t, Reduction);
template class CollectiveRun<float>;
template class CollectiveRun<double>;

}  // namespace plait
