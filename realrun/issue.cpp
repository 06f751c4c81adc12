#include "realrun/issue.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"
#include "realrun/start_values.h"

namespace plait {

template <class T>
void Walker<T>::Issue::run() {
  clock_.restart();
  // Timed compute ends when it should, not up to 50 us later, by when Linux would bundle timers.
  if (!w_.options_.timed_compute_s.empty()) prctl(PR_SET_TIMERSLACK, 1UL);
  for (const Call& call : plan_.programs[w_.rank().stage].calls) {
    for (const Op& op : plan_.blocks[call.block].ops) {
      issue(op, call);
      w_.buffers_.release_after(flat_++);
    }
  }
  catch_up();
}

template <class T>
void Walker<T>::Issue::issue(const Op& op, const Call& call) {
  if (op.stream == Stream::kCompute) return compute_now(op, call);
  catch_up();
  const auto operands = std::make_shared<Operands>(w_.buffers_.operands(op, call));
  Communicator::Work work;
  work.op = flat_, work.stream = op.stream;
  work.after = w_.after_[static_cast<std::size_t>(flat_)];
  work.what = name_of_op(op, call);
  work.keeps = operands;
  work.communication = communication(op, call, operands);
  w_.communicator_.hand_over(std::move(work));
}

template <class T>
void Walker<T>::Issue::compute_now(const Op& op, const Call& call) {
  PLAIT_CHECK(std::holds_alternative<Compute>(op.body), "communication in the compute stream");
  const auto flat = static_cast<std::size_t>(flat_);
  const Operands operands = w_.buffers_.operands(op, call);
  for (std::uint32_t other : w_.after_[flat]) w_.communicator_.wait(other);
  OpTime& time = w_.compute_times_[flat];
  if (!w_.options_.timed_compute_s.empty()) return compute_in_time(time);
  time = OpClock::begin();
  compute<T>(w_.context_, operands, op, call);
  clock_.end(time);
}

/// Begins when the compute before it and what it waited for had ended.
template <class T>
void Walker<T>::Issue::compute_in_time(OpTime& time) {
  const auto flat = static_cast<std::size_t>(flat_);
  if (free_at_ns_ == 0) free_at_ns_ = now_ns();
  for (std::uint32_t other : w_.after_[flat]) {
    free_at_ns_ = std::max(free_at_ns_, w_.communicator_.time(other).end_ns);
  }
  time = {.start_ns = free_at_ns_};
  free_at_ns_ += static_cast<std::int64_t>(w_.options_.timed_compute_s[flat] * 1e9);
  time.end_ns = free_at_ns_;
}

template <class T>
void Walker<T>::Issue::catch_up() {
  const timespec until{static_cast<time_t>(free_at_ns_ / 1'000'000'000),
                       static_cast<long>(free_at_ns_ % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

template <class T>
std::unique_ptr<Communication> Walker<T>::Issue::communication(
    const Op& op, const Call& call, const std::shared_ptr<Operands>& operands) {
  if (const Collective* c = std::get_if<Collective>(&op.body)) return collective(*c, op, *operands);
  scattered_ = {};
  if (const Send* s = std::get_if<Send>(&op.body)) {
    return message(op, *operands, s->axis, s->offset, Flow::kOut);
  }
  if (const Recv* r = std::get_if<Recv>(&op.body)) {
    return message(op, *operands, r->axis, r->offset, Flow::kIn);
  }
  PLAIT_CHECK(std::holds_alternative<Compute>(op.body), "copies between places are not run");
  if (!w_.options_.timed_compute_s.empty()) return std::make_unique<LocalWork>([] {});
  return std::make_unique<LocalWork>(
      [&w = w_, &op, &call, operands] { compute<T>(w.context_, *operands, op, call); });
}

template <class T>
std::unique_ptr<Communication> Walker<T>::Issue::message(const Op& op, const Operands& operands,
                                                         Axis axis, int offset, Flow flow) {
  const Piece<T> piece = whole(op, operands, 0);
  BytesOnTheWay bytes;
  bytes.flow = flow;
  bytes.peer = plan_.mesh.neighbour(w_.rank().id, axis, offset);
  // Both ends use the direction of travel: a peer that is next and previous at once is two.
  const bool forward = (offset > 0) == (flow == Flow::kOut);
  bytes.channel = static_cast<int>(forward ? Stream::kSendForward : Stream::kSendBackward);
  bytes.tag = hash_of(plan_.tensors[op.operands.at(0).tensor].name);
  bytes.data = reinterpret_cast<std::byte*>(piece.data);
  bytes.bytes = static_cast<std::size_t>(piece.elements) * sizeof(T);
  return std::make_unique<Message>(bytes);
}

template <class T>
Piece<T> Walker<T>::Issue::whole(const Op& op, const Operands& operands, std::size_t i) const {
  return {operands.at<T>(i), plan_.tensors[op.operands.at(i).tensor].elements(plan_.mesh)};
}

/// Elements [first, first + elements) of the operands, one behind the other.
template <class T>
std::vector<Piece<T>> Walker<T>::Issue::contiguous(const Op& op, const Operands& operands,
                                                   std::int64_t first,
                                                   std::int64_t elements) const {
  std::vector<Piece<T>> out;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    Piece<T> p = whole(op, operands, i);
    const std::int64_t skip = std::min(first, p.elements);
    first -= skip;
    p.data += skip, p.elements = std::min(p.elements - skip, elements);
    elements -= p.elements;
    if (p.elements > 0) out.push_back(p);
  }
  return out;
}

/// Rank `rank`'s part of what is scattered.
template <class T>
void Walker<T>::Issue::add_share(std::vector<Piece<T>>& to, const Op& op, const Operands& operands,
                                 std::int64_t rank) const {
  std::int64_t begin = 0;  // of this operand among the shares
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Piece<T> p = whole(op, operands, i);
    const std::int64_t share = p.elements / scattered_.shares;
    PLAIT_CHECK(share * scattered_.shares == p.elements, "a buffer without equal shares");
    const std::int64_t from = std::max(begin, scattered_.first);
    const std::int64_t to_end = std::min(begin + share, scattered_.end);
    if (from < to_end) to.push_back({p.data + rank * share + (from - begin), to_end - from});
    begin += share;
  }
}

template <class T>
bool Walker<T>::Issue::continues_scattered(const Collective& c, const Op& op) const {
  if (scattered_.op == nullptr) return false;
  const Collective& before = std::get<Collective>(scattered_.op->body);
  const auto same_member = [](const Operand& a, const Operand& b) {
    return a.tensor == b.tensor && a.shift == b.shift;
  };
  return c.kind == CollectiveKind::kAllReduce && c.first == before.first &&
         c.elements == before.elements / scattered_.shares &&
         std::ranges::equal(op.operands, scattered_.op->operands, same_member);
}

template <class T>
std::unique_ptr<Communication> Walker<T>::Issue::collective(const Collective& c, const Op& op,
                                                            const Operands& operands) {
  CollectiveCall<T> run;
  run.kind = c.kind, run.reduction = c.reduction;
  run.group = members(plan_.mesh, w_.rank().id, c.axes, c.stages);
  run.index = std::find(run.group.begin(), run.group.end(), w_.rank().id) - run.group.begin();
  if (w_.options_.library_collectives) run.library = w_.transport_.library();
  run.in_place = op.operands[0].use == Use::kUpdate;
  run.channel = static_cast<int>(op.stream);
  run.tag = hash_of(name_of(op)) + static_cast<std::uint64_t>(c.axes.bits());
  run.bytes = c.bytes(), run.dtype = c.dtype;
  const bool scatters = c.kind == CollectiveKind::kReduceScatter;
  if (!run.in_place) {
    run.in = {whole(op, operands, 0)}, run.out = {whole(op, operands, 1)};
  } else if (c.kind == CollectiveKind::kAllGather) {
    run.in = {whole(op, operands, 0)};
  } else if (scatters) {
    const auto n = static_cast<std::int64_t>(run.group.size());
    scattered_ = {&op, n, run.index, c.first / n, (c.first + c.elements) / n};
    for (std::int64_t r = 0; r < n; ++r) add_share(run.in, op, operands, r);
  } else if (continues_scattered(c, op)) {
    add_share(run.in, op, operands, scattered_.own);
  } else {
    run.in = contiguous(op, operands, c.first, c.elements);
  }
  if (run.in_place) run.out = run.in;
  if (!(scatters && run.in_place)) scattered_ = {};
  return std::make_unique<CollectiveRun<T>>(std::move(run));
}

template <class T>
std::string Walker<T>::Issue::name_of_op(const Op& op, const Call& call) const {
  std::string out = std::string(plait::name_of(op)) + " of " +
                    plan_.tensors[op.operands.at(0).tensor].name + " in " +
                    plan_.blocks[call.block].name + ", layer " + std::to_string(call.layer) +
                    ", microbatch " + std::to_string(call.microbatch);
  if (const Collective* c = std::get_if<Collective>(&op.body)) out += ", over " + name_of(c->axes);
  return out;
}

template class Walker<float>::Issue;
template class Walker<double>::Issue;

}  // namespace plait
