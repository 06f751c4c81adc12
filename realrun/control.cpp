#include "realrun/control.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "plan/op.h"
#include "realrun/op_time.h"
#include "realrun/patience.h"

namespace plait {
namespace {

constexpr int kControlChannel = kStreams;
constexpr std::uint64_t kControlTag = 0x636F6E74726F6CULL;  // "control"
// Long enough for the message that names the moment to reach everybody.
constexpr std::int64_t kLeadNs = 3'000'000;
// Messages of one machine do not take so long.
constexpr std::int64_t kSameClockNs = 1'000'000'000;

}  // namespace

int transport_channels() { return kControlChannel + 1; }

BytesOnTheWay Control::transfer(Flow flow, std::int64_t peer, std::byte* data,
                                std::size_t bytes) const {
  BytesOnTheWay t;
  t.flow = flow, t.peer = peer, t.channel = kControlChannel, t.tag = kControlTag;
  t.data = data, t.bytes = bytes;
  return t;
}

void Control::run(std::vector<BytesOnTheWay>& transfers) {
  for (BytesOnTheWay& t : transfers) transport_.start(t);
  std::int64_t last = now_ns();
  while (!std::ranges::all_of(transfers, &BytesOnTheWay::done)) {
    if (transport_.progress(0.1)) last = now_ns();
    if (static_cast<double>(now_ns() - last) < patience_s_ * 1e9) continue;
    const auto missing = std::ranges::find(transfers, false, &BytesOnTheWay::done);
    throw EnvironmentError("rank " + std::to_string(rank()) + " heard nothing from rank " +
                           std::to_string(missing->peer) + " between steps" +
                           after_patience(patience_s_));
  }
}

void Control::send(std::int64_t to, const std::vector<std::byte>& bytes) {
  std::uint64_t size = bytes.size();
  std::vector<BytesOnTheWay> transfers = {
      transfer(Flow::kOut, to, reinterpret_cast<std::byte*>(&size), sizeof size),
      transfer(Flow::kOut, to, const_cast<std::byte*>(bytes.data()), bytes.size())};
  run(transfers);
}

std::vector<std::byte> Control::receive(std::int64_t from) {
  std::uint64_t size = 0;
  std::vector<BytesOnTheWay> first = {
      transfer(Flow::kIn, from, reinterpret_cast<std::byte*>(&size), sizeof size)};
  run(first);
  std::vector<std::byte> out(size);
  std::vector<BytesOnTheWay> second = {transfer(Flow::kIn, from, out.data(), out.size())};
  run(second);
  return out;
}

std::vector<std::vector<std::byte>> Control::gather(const std::vector<std::byte>& mine) {
  std::vector<std::vector<std::byte>> out;
  if (rank() != 0) {
    send(0, mine);
    return out;
  }
  out.push_back(mine);
  for (std::int64_t r = 1; r < ranks(); ++r) out.push_back(receive(r));
  return out;
}

std::vector<std::byte> Control::broadcast(const std::vector<std::byte>& from_rank_0) {
  if (rank() != 0) return receive(0);
  for (std::int64_t r = 1; r < ranks(); ++r) send(r, from_rank_0);
  return from_rank_0;
}

void Control::barrier() {
  gather({});
  broadcast({});
}

std::int64_t Control::common_start() {
  gather({});
  const auto at = agreed<std::int64_t>(now_ns() + kLeadNs);
  // Another machine has another clock: its ranks start when they hear of it.
  if (std::abs(at - now_ns()) > kSameClockNs) return now_ns();
  std::this_thread::sleep_for(std::chrono::nanoseconds(at - now_ns()));
  while (now_ns() < at) {
  }
  return std::max(at, now_ns());
}

}  // namespace plait
