#include "realrun/collective.h"

#include <algorithm>
#include <type_traits>

#include "core/error.h"

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
CollectiveRun<T>::CollectiveRun(CollectiveCall<T> call, CollectiveLibrary* library)
    : call_(std::move(call)), library_(library) {
  const auto n = static_cast<std::int64_t>(call_.group.size());
  const bool gathers = call_.kind == CollectiveKind::kAllGather;
  elements_ = total(gathers ? call_.out : call_.in);
  PLAIT_CHECK(call_.in_place || !gathers || total(call_.in) * n == elements_,
              "an all_gather whose shares do not make the whole");
  const bool scatters = call_.kind == CollectiveKind::kReduceScatter;
  PLAIT_CHECK(call_.in_place || !scatters || total(call_.out) * n == elements_,
              "a reduce_scatter whose shares do not make the whole");
  if (is_served(call_.kind)) elements_ = call_.bytes.value / size_of(call_.dtype);
  Arrangement arrangement{pattern_of(call_.kind, n, call_.bytes)};
  arrangement.servers = call_.servers;
  rounds_.emplace(
      RoundsCall{.rounds = rounds_of(arrangement, call_.kind, n, call_.index, elements_),
                 .group = call_.group,
                 .channel = call_.channel,
                 .tag = call_.tag,
                 .reduction = call_.reduction,
                 .dtype = call_.dtype});
}

template <class T>
bool CollectiveRun<T>::advance(Transport& transport) {
  if (!begun_) gather_input();
  begun_ = true;
  const bool alone = call_.group.size() == 1;
  const bool in_library =
      call_.kind != CollectiveKind::kShift && !is_served(call_.kind) && std::is_floating_point_v<T>;
  const bool by_library = library_ != nullptr && !alone && in_library;
  if (!(by_library ? advance_library() : rounds_->advance(transport, work_))) return false;
  scatter_output();
  return true;
}

/// From one tensor to another of the same size.
template <class T>
bool CollectiveRun<T>::exchanges() const {
  return call_.kind == CollectiveKind::kAllToAll || call_.kind == CollectiveKind::kShift;
}

/// As the rounds need it (plan/collectives/rounds.h).
template <class T>
std::int64_t CollectiveRun<T>::work_elements() const {
  if (call_.kind == CollectiveKind::kAllToAll) return 3 * elements_;
  return call_.kind == CollectiveKind::kShift ? 2 * elements_ : elements_;
}

template <class T>
bool CollectiveRun<T>::advance_library() {
  if (!started_) {
    const auto n = static_cast<std::int64_t>(call_.group.size());
    const Range own = share_of(elements_, n, call_.index);
    ticket_ = library_->start(call_.kind, call_.reduction, call_.channel, call_.group, own,
                              reinterpret_cast<std::byte*>(work_), elements_, sizeof(T));
  }
  started_ = true;
  return library_->finished(ticket_);
}

/// One piece that is worked on in place is its own work buffer.
template <class T>
void CollectiveRun<T>::gather_input() {
  if (is_served(call_.kind)) return gather_served();
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
  own_work_.resize(static_cast<std::size_t>(work_elements()));
  work_ = own_work_.data();
  std::int64_t at = 0;
  for (const Piece<T>& p : call_.in) {
    copy(work_ + at, p.data, p.elements);
    at += p.elements;
  }
  if (call_.kind != CollectiveKind::kAllToAll) return;
  const Range own = share_of(elements_, static_cast<std::int64_t>(call_.group.size()), call_.index);
  copy(work_ + elements_ + own.first, work_ + own.first, own.elements);
}

/// What a server keeps of the buffer of a push or pull.
template <class T>
Range CollectiveRun<T>::kept() const {
  const std::int64_t share =
      call_.servers.share_of(static_cast<std::int64_t>(call_.group.size()), call_.index);
  return share < 0 ? Range{} : share_of(elements_, call_.servers.count, share);
}

/// Of a push what the worker has, else zeros; of a pull the server's share.
template <class T>
void CollectiveRun<T>::gather_served() {
  own_work_.resize(static_cast<std::size_t>(elements_));
  work_ = own_work_.data();
  if (call_.in.empty()) return;
  const std::int64_t first = call_.kind == CollectiveKind::kPull ? kept().first : 0;
  copy(work_ + first, call_.in[0].data, call_.in[0].elements);
}

template <class T>
void CollectiveRun<T>::scatter_output() {
  if (is_served(call_.kind)) {
    if (call_.out.empty()) return;
    const std::int64_t first = call_.kind == CollectiveKind::kPush ? kept().first : 0;
    return copy(call_.out[0].data, work_ + first, call_.out[0].elements);
  }
  if (exchanges()) return copy(call_.out[0].data, work_ + elements_, elements_);
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

namespace {

template <class T>
std::vector<Piece<T>> pieces_of(const std::vector<Part>& parts, const Operands& operands) {
  std::vector<Piece<T>> out;
  for (const Part& p : parts) out.push_back({operands.at<T>(p.operand) + p.first, p.elements});
  return out;
}

template <class T>
CollectiveCall<T> call_of(const CollectiveOf<Part>& c, const Operands& operands) {
  return {c.kind,
          c.reduction,
          c.group,
          c.index,
          pieces_of<T>(c.in, operands),
          pieces_of<T>(c.out, operands),
          c.in_place,
          c.channel,
          c.tag,
          c.bytes,
          c.servers,
          c.dtype};
}

template <class T>
std::unique_ptr<Communication> messages_of(const PointToPoint& end, const Operands& operands) {
  std::vector<std::unique_ptr<Communication>> all;
  for (const auto& [peer, part] : end.messages) {
    BytesOnTheWay bytes;
    bytes.flow = end.flow, bytes.peer = peer, bytes.channel = end.channel, bytes.tag = end.tag;
    bytes.data = reinterpret_cast<std::byte*>(operands.at<T>(part.operand) + part.first);
    bytes.bytes = static_cast<std::size_t>(part.elements) * sizeof(T);
    all.push_back(std::make_unique<Message>(bytes));
  }
  if (all.size() == 1) return std::move(all[0]);
  return std::make_unique<Together>(std::move(all));
}

}  // namespace

template <class T>
std::unique_ptr<Communication> communication_of(const Exchange& exchange, const Operands& operands,
                                                CollectiveLibrary* library) {
  if (const auto* m = std::get_if<PointToPoint>(&exchange)) {
    return messages_of<T>(*m, operands);
  }
  const auto& collective = std::get<CollectiveOf<Part>>(exchange);
  if (collective.dtype == DType::kInt8) {
    return std::make_unique<CollectiveRun<std::uint8_t>>(
        call_of<std::uint8_t>(collective, operands), library);
  }
  if (collective.dtype == DType::kInt64) {
    return std::make_unique<CollectiveRun<std::int64_t>>(
        call_of<std::int64_t>(collective, operands), library);
  }
  return std::make_unique<CollectiveRun<T>>(call_of<T>(collective, operands), library);
}

template class CollectiveRun<std::uint8_t>;
template class CollectiveRun<std::int64_t>;
template class CollectiveRun<float>;
template class CollectiveRun<double>;
template std::unique_ptr<Communication> communication_of<float>(const Exchange&, const Operands&,
                                                                CollectiveLibrary*);
template std::unique_ptr<Communication> communication_of<double>(const Exchange&, const Operands&,
                                                                 CollectiveLibrary*);

}  // namespace plait
