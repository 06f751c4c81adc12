#pragma once
// Issues the ops of one step: runs compute, hands communication over. Part of walk.h.

#include <string>

#include "realrun/collective.h"
#include "realrun/walk.h"

namespace plait {

template <class T>
class Walker<T>::Issue {
 public:
  explicit Issue(Walker& w) : w_(w), plan_(w.context_.plan) {}
  void run();

 private:
  void issue(const Op& op, const Call& call);
  void compute_now(const Op& op, const Call& call);
  void compute_in_time(OpTime& time);
  void catch_up();
  std::unique_ptr<Communication> communication(const Op& op, const Call& call,
                                               const std::shared_ptr<Operands>& operands);
  std::unique_ptr<Communication> message(const Op& op, const Operands& operands, Axis axis,
                                         int offset, Flow flow);
  std::unique_ptr<Communication> collective(const Collective& c, const Op& op,
                                            const Operands& operands);
  Piece<T> whole(const Op& op, const Operands& operands, std::size_t i) const;
  std::vector<Piece<T>> contiguous(const Op& op, const Operands& operands, std::int64_t first,
                                   std::int64_t elements) const;
  void add_share(std::vector<Piece<T>>& to, const Op& op, const Operands& operands,
                 std::int64_t rank) const;

  /// What a reduce_scatter in place left on each rank: elements [first, end) of the shares of its
  /// operands, one behind the other. An all_reduce right behind it goes on with these.
  struct Scattered {
    const Op* op = nullptr;
    std::int64_t shares = 0, own = 0, first = 0, end = 0;
  };
  /// Whether `op` goes on with the own share.
  bool continues_scattered(const Collective& c, const Op& op) const;
  std::string name_of_op(const Op& op, const Call& call) const;

  Walker& w_;
  const Plan& plan_;
  std::int64_t flat_ = 0;
  OpClock clock_;
  /// When timed compute will have come to its end. Compute that follows on compute is not slept one
  /// by one, so that waking up late adds nothing: `catch_up` sleeps before anybody else could
  /// notice.
  std::int64_t free_at_ns_ = 0;
  Scattered scattered_;
};

}  // namespace plait
