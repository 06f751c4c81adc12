#include "realrun/bench/timed_collective.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "realrun/collective.h"
#include "realrun/op_time.h"

namespace plait {
namespace {

constexpr double kProgressPatience = 60;  // seconds without progress

void carry_out(Transport& transport, CollectiveRun<float> run) {
  std::int64_t moved = now_ns();
  while (!run.advance(transport)) {
    if (transport.progress(0.1)) moved = now_ns();
    if (static_cast<double>(now_ns() - moved) * kSecondsPerNs > kProgressPatience) {
      throw EnvironmentError("no answer from " + run.waits_for());
    }
  }
}

/// Buffers of one member, and the call on them.
struct RoundsMember {
  std::vector<float> in, out;
  CollectiveCall<float> call;

  RoundsMember(CollectiveKind kind, std::int64_t index, std::int64_t members, std::int64_t elements,
               bool in_place) {
    const std::int64_t share = elements / members;
    const bool gathers = kind == CollectiveKind::kAllGather;
    const bool scatters = kind == CollectiveKind::kReduceScatter;
    call.kind = kind;
    call.group.resize(static_cast<std::size_t>(members));
    std::iota(call.group.begin(), call.group.end(), 0);
    call.index = index;
    call.bytes = Bytes(elements * size_of(DType::kFp32));
    call.in_place = in_place || kind == CollectiveKind::kAllReduce;
    out.resize(static_cast<std::size_t>(scatters && !in_place ? share : elements));
    in.assign(static_cast<std::size_t>(gathers ? share : elements), 1.0F);
    call.out = {{out.data(), static_cast<std::int64_t>(out.size())}};
    call.in = call.in_place
                  ? call.out
                  : std::vector<Piece<float>>{{in.data(), static_cast<std::int64_t>(in.size())}};
  }
};

}  // namespace

CollectiveTimes time_collective(Transport& transport, Control& control, CollectiveKind kind,
                                std::int64_t members, std::int64_t elements, bool in_place,
                                std::int64_t repeats) {
  CollectiveTimes times;
  if (transport.rank() >= members) return control.common_start(), times;
  RoundsMember member(kind, transport.rank(), members, elements, in_place);
  const bool copies = kind == CollectiveKind::kAllReduce && !in_place;
  const std::int64_t start = control.common_start(), cpu = thread_cpu_ns();
  for (std::int64_t i = 0; i < repeats; ++i) {
    if (copies) std::ranges::copy(member.in, member.out.begin());
    carry_out(transport, CollectiveRun<float>(member.call));
  }
  const double scale = kSecondsPerNs / static_cast<double>(repeats);
  times.wall = static_cast<double>(now_ns() - start) * scale;
  times.cpu = static_cast<double>(thread_cpu_ns() - cpu) * scale;
  return times;
}

double bus_factor(CollectiveKind kind, std::int64_t members) {
  const auto n = static_cast<double>(members);
  return (kind == CollectiveKind::kAllReduce ? 2 : 1) * (n - 1) / n;
}

}  // namespace plait
