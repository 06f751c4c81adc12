// The communication thread: what keeps a stream waiting, and what does not.
#include "realrun/communicator.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace plait::communicator_test {

constexpr double kPatience = 0.2;  // seconds

/// Transfers to and from each peer are done when `opened` of it is set, as over a network whose
/// receivers take nothing before they ask for it.
class Rendezvous : public Transport {
 public:
  explicit Rendezvous(std::vector<bool> opened) : opened_(std::move(opened)) {}
  std::int64_t rank() const override { return 0; }
  std::int64_t ranks() const override { return static_cast<std::int64_t>(opened_.size()); }
  std::string name() const override { return "rendezvous"; }
  void start(BytesOnTheWay& t) override {
    started.push_back(t.peer);
    on_the_way_.push_back(&t);
  }
  bool progress(double) override {
    bool any = false;
    for (BytesOnTheWay* t : on_the_way_) {
      if (t->done || !opened_[static_cast<std::size_t>(t->peer)]) continue;
      t->done = any = true;
      if (opens_next) opened_[static_cast<std::size_t>(t->peer - 1)] = true;
    }
    return any;
  }
  void wake() override {}

  std::vector<std::int64_t> started;  // peers
  bool opens_next = true;             // who got something asks the one before for more

 private:
  std::vector<bool> opened_;
  std::vector<BytesOnTheWay*> on_the_way_;
};

Communicator::Work message(std::int64_t op, Flow flow, std::int64_t peer) {
  BytesOnTheWay bytes;
  bytes.flow = flow, bytes.peer = peer;
  Communicator::Work work;
  work.op = op, work.stream = Stream::kSendForward, work.what = "message " + std::to_string(op);
  work.communication = std::make_unique<Message>(bytes);
  return work;
}

/// Rank 1 asks for its message only when rank 2 has got the one that stands behind it.
TEST(Communicator, SendsDoNotKeepThoseBehindThemWaiting) {
  Rendezvous transport({false, false, true});
  Communicator communicator(transport, 2, kPatience);
  communicator.hand_over(message(0, Flow::kOut, 1));
  communicator.hand_over(message(1, Flow::kOut, 2));
  communicator.finish_step();
  EXPECT_EQ(transport.started, (std::vector<std::int64_t>{1, 2}));
}

TEST(Communicator, ReceivesAndCollectivesOfAStreamFollowOneAnother) {
  Rendezvous transport({false, false, true});
  Communicator communicator(transport, 2, kPatience);
  communicator.hand_over(message(0, Flow::kIn, 1));
  communicator.hand_over(message(1, Flow::kIn, 2));
  EXPECT_THROW(communicator.finish_step(), EnvironmentError);
  EXPECT_EQ(transport.started, (std::vector<std::int64_t>{1}));
}

/// Whoever waits for the second one may rely on the first one's end, though it ended later.
TEST(Communicator, SendsEndInTheirOrder) {
  Rendezvous transport({false, false, true});
  transport.opens_next = false;
  Communicator communicator(transport, 2, kPatience);
  communicator.hand_over(message(0, Flow::kOut, 1));
  communicator.hand_over(message(1, Flow::kOut, 2));
  EXPECT_THROW(communicator.wait(1), EnvironmentError);
}

}  // namespace plait::communicator_test
