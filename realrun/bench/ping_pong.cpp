#include "realrun/bench/ping_pong.h"

#include <memory>

#include "core/error.h"
#include "realrun/communicator.h"
#include "realrun/op_time.h"

namespace plait {
namespace {

constexpr double kAnswerPatience = 60;  // seconds without an answer

/// Until `t` is done. Returns the processor time that this thread used for it.
double carry_out(Transport& transport, BytesOnTheWay t) {
  const std::int64_t start = now_ns(), cpu = thread_cpu_ns();
  transport.start(t);
  while (!t.done) {
    transport.progress(0.1);
    if (static_cast<double>(now_ns() - start) * kSecondsPerNs > kAnswerPatience) {
      throw EnvironmentError("no answer from rank " + std::to_string(t.peer));
    }
  }
  return static_cast<double>(thread_cpu_ns() - cpu) * kSecondsPerNs;
}

}  // namespace

PingPong ping_pong(Transport& transport, std::int64_t bytes, std::int64_t rounds) {
  std::vector<std::byte> outgoing(static_cast<std::size_t>(bytes)), incoming = outgoing;
  BytesOnTheWay out, in;
  out.peer = in.peer = 1 - transport.rank();
  out.tag = in.tag = 1;
  out.bytes = in.bytes = outgoing.size();
  out.flow = Flow::kOut, out.data = outgoing.data();
  in.flow = Flow::kIn, in.data = incoming.data();
  PingPong result;
  for (std::int64_t i = 0; i < rounds; ++i) {
    const std::int64_t start = now_ns();
    if (transport.rank() == 0) result.send_cpu.push_back(carry_out(transport, out));
    result.receive_cpu.push_back(carry_out(transport, in));
    if (transport.rank() != 0) result.send_cpu.push_back(carry_out(transport, out));
    result.one_way.push_back(static_cast<double>(now_ns() - start) * kSecondsPerNs / 2);
  }
  return result;
}

namespace {

/// A message to the peer and one from it.
class Swap : public Communication {
 public:
  Swap(std::int64_t peer, std::vector<std::byte>& out, std::vector<std::byte>& in) {
    out_.peer = in_.peer = peer;
    out_.tag = in_.tag = 2;
    out_.flow = Flow::kOut, out_.data = out.data(), out_.bytes = out.size();
    in_.flow = Flow::kIn, in_.data = in.data(), in_.bytes = in.size();
  }
  bool advance(Transport& transport) override {
    if (!started_) transport.start(in_), transport.start(out_);
    started_ = true;
    return in_.done && out_.done;
  }
  std::string waits_for() const override { return "rank " + std::to_string(in_.peer); }

 private:
  BytesOnTheWay out_, in_;
  bool started_ = false;
};

constexpr std::int64_t kWorkNs = 300'000;  // computed before each hand-over: a kernel or two

/// Seconds from the hand-over of `communication` to the end of the wait for it, behind work that
/// begins at the same time on all ranks.
double behind_work(Communicator& communicator, Control& control,
                   std::unique_ptr<Communication> communication) {
  const std::int64_t work_ends = control.common_start() + kWorkNs;
  while (now_ns() < work_ends) {
  }
  Communicator::Work work;
  work.communication = std::move(communication);
  const std::int64_t start = now_ns();
  communicator.hand_over(std::move(work));
  communicator.wait(0);
  const double seconds = static_cast<double>(now_ns() - start) * kSecondsPerNs;
  communicator.finish_step();
  return seconds;
}

}  // namespace

WakeTimes wake_times(Transport& transport, Control& control, std::int64_t repeats) {
  Communicator communicator(transport, 1, kAnswerPatience);
  std::vector<std::byte> out(kExchanged), in(kExchanged);
  const bool exchanges = transport.rank() < 2;
  const auto nothing = [] { return std::make_unique<LocalWork>([] {}); };
  WakeTimes times;
  for (std::int64_t i = 0; i < repeats; ++i) {
    times.wake.push_back(behind_work(communicator, control, nothing()) / 2);
    std::unique_ptr<Communication> work = nothing();
    if (exchanges) work = std::make_unique<Swap>(1 - transport.rank(), out, in);
    times.exchange.push_back(behind_work(communicator, control, std::move(work)));
  }
  return times;
}

}  // namespace plait
