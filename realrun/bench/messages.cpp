#include "realrun/bench/messages.h"

#include <algorithm>
#include <memory>

#include "realrun/collective.h"
#include "realrun/communicator.h"
#include "realrun/control.h"
#include "realrun/measure.h"
#include "realrun/pack.h"

namespace plait {
namespace {

constexpr int kChannel = static_cast<int>(Stream::kTp);
constexpr std::uint64_t kTag = 0x62656E6368ULL;  // "bench"
constexpr std::int64_t kWarmup = 3;

struct Costs {
  double wall = 0, cpu = 0;
};

/// One transfer on the calling thread, to its end.
Costs transfer(Transport& transport, Flow flow, std::int64_t peer, std::vector<std::byte>& data) {
  BytesOnTheWay t;
  t.flow = flow, t.peer = peer, t.channel = kChannel, t.tag = kTag;
  t.data = data.data(), t.bytes = data.size();
  const std::int64_t wall = now_ns(), cpu = thread_cpu_ns();
  transport.start(t);
  while (!t.done) transport.progress(1);
  return {static_cast<double>(now_ns() - wall) * 1e-9,
          static_cast<double>(thread_cpu_ns() - cpu) * 1e-9};
}

std::vector<std::byte> some_bytes(std::int64_t n) {
  return std::vector<std::byte>(static_cast<std::size_t>(n), std::byte{1});
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace

std::optional<MessageSample> measure_message(Transport& transport, std::int64_t bytes,
                                             std::int64_t repeats, double patience_s) {
  Control control(transport, patience_s);
  std::vector<std::byte> out = some_bytes(bytes), in = some_bytes(bytes);
  std::vector<double> round, sent, send_cpu, receive_cpu;
  const std::int64_t rank = transport.rank();
  control.barrier();
  for (std::int64_t i = 0; rank < 2 && i < kWarmup + repeats; ++i) {
    const std::int64_t start = now_ns();
    Costs gives, takes;
    if (rank == 0) gives = transfer(transport, Flow::kOut, 1, out);
    takes = transfer(transport, Flow::kIn, 1 - rank, in);
    if (rank == 1) gives = transfer(transport, Flow::kOut, 0, out);
    if (i < kWarmup) continue;
    round.push_back(static_cast<double>(now_ns() - start) * 1e-9);
    sent.push_back(gives.wall), send_cpu.push_back(gives.cpu), receive_cpu.push_back(takes.cpu);
  }
  // Each end has sent and received as often: its own medians are the other's, too.
  control.barrier();
  if (rank != 0) return std::nullopt;
  MessageSample sample;
  sample.bytes = bytes, sample.repeats = repeats;
  sample.half_round_trip_s = median(round) / 2;
  sample.sent_s = median(sent);
  sample.send_cpu_s = median(send_cpu), sample.receive_cpu_s = median(receive_cpu);
  return sample;
}

double measure_wake(Transport& transport, std::int64_t repeats) {
  std::vector<double> times;
  Communicator communicator(transport, 1, 60);
  for (std::int64_t i = 0; i < kWarmup + repeats; ++i) {
    Communicator::Work work;
    work.stream = Stream::kTp;
    work.communication = std::make_unique<LocalWork>([] {});
    const std::int64_t start = now_ns();
    communicator.hand_over(std::move(work));
    communicator.wait(0);
    if (i >= kWarmup) times.push_back(static_cast<double>(now_ns() - start) * 1e-9 / 2);
    communicator.finish_step();
  }
  return median(std::move(times));
}

double CollectiveSample::busbw() const {
  const auto n = static_cast<double>(ranks);
  return algbw() * (kind == CollectiveKind::kAllReduce ? 2 : 1) * (n - 1) / n;
}

std::optional<CollectiveSample> measure_collective(Transport& transport, CollectiveKind kind,
                                                   bool in_place, std::int64_t bytes,
                                                   std::int64_t repeats, double patience_s) {
  Control control(transport, patience_s);
  const std::int64_t n = transport.ranks();
  const std::int64_t share = bytes / static_cast<std::int64_t>(sizeof(float)) / n;
  std::vector<float> whole(static_cast<std::size_t>(share * n), 1.0F);
  std::vector<float> part(static_cast<std::size_t>(share), 1.0F);
  CollectiveCall<float> call;
  call.kind = kind, call.in_place = in_place, call.index = transport.rank();
  for (std::int64_t r = 0; r < n; ++r) call.group.push_back(r);
  call.channel = kChannel, call.tag = kTag;
  call.bytes = Bytes(share * n * static_cast<std::int64_t>(sizeof(float)));
  const Piece<float> all{whole.data(), share * n}, mine{part.data(), share};
  const bool gathers = kind == CollectiveKind::kAllGather;
  call.in = {in_place || !gathers ? all : mine};
  call.out = {in_place || gathers ? all : mine};
  std::vector<double> times;
  Communicator communicator(transport, 1, patience_s);
  for (std::int64_t i = 0; i < kWarmup + repeats; ++i) {
    Communicator::Work work;
    work.stream = Stream::kTp, work.what = "a measured collective";
    work.communication = std::make_unique<CollectiveRun<float>>(call);
    const std::int64_t start = control.common_start();
    communicator.hand_over(std::move(work));
    communicator.finish_step();
    const double mine_s = static_cast<double>(now_ns() - start) * 1e-9;
    Packer packed;
    packed.put(mine_s);
    const auto all_s = control.gather(packed.bytes());
    double longest = 0;
    for (const std::vector<std::byte>& b : all_s) {
      double one = 0;
      Unpacker(b).take(one);
      longest = std::max(longest, one);
    }
    if (i >= kWarmup) times.push_back(longest);
    std::ranges::fill(whole, 1.0F);  // sums must not grow beyond what a float holds
  }
  if (transport.rank() != 0) return std::nullopt;
  return CollectiveSample{kind,
                          n,
                          call.bytes.value,
                          repeats,
                          in_place,
                          median(times),
                          quantile(times, 0.1),
                          quantile(times, 0.9)};
}

double measure_combine(std::int64_t bytes, std::int64_t repeats) {
  const auto elements = static_cast<std::size_t>(bytes) / sizeof(float);
  std::vector<float> own(elements, 1.0F), received(elements, 1.0F);
  std::vector<double> times;
  for (std::int64_t i = 0; i < kWarmup + repeats; ++i) {
    const std::int64_t start = thread_cpu_ns();
    combine(own.data(), received.data(), static_cast<std::int64_t>(elements), Reduction::kSum);
    if (i >= kWarmup) times.push_back(static_cast<double>(thread_cpu_ns() - start) * 1e-9);
  }
  return median(std::move(times));
}

}  // namespace plait
