#include "realrun/rounds_run.h"

#include <algorithm>

#include "core/error.h"
#include "realrun/rounding.h"

namespace plait {
namespace {

/// to = to + with, or the larger of the two, element by element.
template <class T>
void combine(T* to, const T* with, std::int64_t elements, Reduction reduction) {
  if (reduction == Reduction::kSum) {
    for (std::int64_t i = 0; i < elements; ++i) to[i] = static_cast<T>(to[i] + with[i]);
  } else {
    for (std::int64_t i = 0; i < elements; ++i) to[i] = std::max(to[i], with[i]);
  }
}

}  // namespace

template <class T>
bool RoundsRun<T>::advance(Transport& transport, T* work) {
  while (round_ < call_.rounds.size()) {
    if (!started_) start_round(transport, work);
    started_ = true;
    if (!std::ranges::all_of(transfers_, &BytesOnTheWay::done)) return false;
    combine_round(work);
    started_ = false;
    ++round_;
  }
  return true;
}

template <class T>
void RoundsRun<T>::start_round(Transport& transport, T* work) {
  const Round& round = call_.rounds[round_];
  std::int64_t extra = 0;
  for (const Transfer& t : round) extra += t.combine ? t.range.elements : 0;
  if (static_cast<std::int64_t>(received_.size()) < extra) {
    received_.resize(static_cast<std::size_t>(extra));
  }
  transfers_.clear();
  T* beside = received_.data();
  for (const Transfer& t : round) {
    PLAIT_CHECK(t.peer != kSwitch, "ranks have no switch that adds");
    T* data = work + t.range.first;
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
void RoundsRun<T>::combine_round(T* work) {
  const T* beside = received_.data();
  for (const Transfer& t : call_.rounds[round_]) {
    if (!t.combine) continue;
    combine(work + t.range.first, beside, t.range.elements, call_.reduction);
    round_to(work + t.range.first, t.range.elements, call_.dtype);
    beside += t.range.elements;
  }
}

template <class T>
std::string RoundsRun<T>::waits_for() const {
  std::string peers;
  for (const BytesOnTheWay& t : transfers_) {
    if (t.done) continue;
    const std::string peer = "rank " + std::to_string(t.peer);
    if (peers.find(peer) == std::string::npos) peers += (peers.empty() ? "" : " and ") + peer;
  }
  return peers.empty() ? "nobody" : peers;
}

template class RoundsRun<std::uint8_t>;
template class RoundsRun<std::int64_t>;
template class RoundsRun<float>;
template class RoundsRun<double>;

}  // namespace plait
