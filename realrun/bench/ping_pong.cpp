#include "realrun/bench/ping_pong.h"

#include <memory>

#include "core/error.h"
#include "realrun/communicator.h"
#include "realrun/op_time.h"

namespace plait {
namespace {

constexpr double kSecondsPerNs = 1e-9;
constexpr double kPatience = 60;  // seconds without an answer

/// Until `t` is done. Returns the processor time that this thread used for it.
double carry_out(Transport& transport, BytesOnTheWay t) {
  const std::int64_t start = now_ns(), cpu = thread_cpu_ns();
  transport.start(t);
  while (!t.done) {
    transport.progress(0.1);
    if (static_cast<double>(now_ns() - start) * kSecondsPerNs > kPatience) {
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

std::vector<double> wake_times(Transport& transport, std::int64_t repeats) {
  Communicator communicator(transport, 1, kPatience);
  std::vector<double> times;
  for (std::int64_t i = 0; i < repeats; ++i) {
    Communicator::Work work;
    work.communication = std::make_unique<LocalWork>([] {});
    const std::int64_t start = now_ns();
    communicator.hand_over(std::move(work));
    communicator.wait(0);
    times.push_back(static_cast<double>(now_ns() - start) * kSecondsPerNs / 2);
    communicator.finish_step();
  }
  return times;
}

}  // namespace plait
