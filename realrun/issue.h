#pragma once
// Issues the ops of one step: compute to the device, communication to its thread. Part of walk.h.

#include <string>

#include "realrun/exchange.h"
#include "realrun/walk.h"

namespace plait {

class Walker::Issue {
 public:
  explicit Issue(Walker& w) : w_(w), plan_(w.context_.plan), exchanges_(plan_, w.context_.rank) {}
  void run();

 private:
  void issue(const Issued& issued);
  void compute(const Issued& issued);
  void compute_in_time(std::int64_t flat);
  void catch_up();
  std::unique_ptr<Communication> communication(const Issued& issued,
                                               std::shared_ptr<Operands> operands);
  std::string name_of_op(const Issued& issued) const;

  Walker& w_;
  const Plan& plan_;
  ExchangeReader exchanges_;
  /// When timed compute will have come to its end. Compute that follows on compute is not slept one
  /// by one, so that waking up late adds nothing: `catch_up` sleeps before anybody else could
  /// notice.
  std::int64_t free_at_ns_ = 0;
};

}  // namespace plait
