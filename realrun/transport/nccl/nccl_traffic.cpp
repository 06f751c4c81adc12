#include "realrun/transport/nccl/nccl_traffic.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace plait::nccl {
namespace {

constexpr CollectiveKind kMeasuredBesideCompute[] = {
    CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
    CollectiveKind::kAllToAll};

RankGroup everybody(const Transport& transport) {
  RankGroup out(static_cast<std::size_t>(transport.ranks()));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

NcclTraffic::NcclTraffic(Transport& transport, std::int64_t bytes)
    : all_(everybody(transport)), comm_(transport, {all_}, bytes) {}

std::vector<std::string> NcclTraffic::communications() const {
  std::vector<std::string> out;
  for (const CollectiveKind kind : kMeasuredBesideCompute) out.emplace_back(name_of(kind));
  return out;
}

/// Every member's share has as many elements.
void NcclTraffic::take(const std::string& communication, std::int64_t bytes) {
  const auto* const found = std::ranges::find(kMeasuredBesideCompute, communication,
                                              [](CollectiveKind k) { return name_of(k); });
  PLAIT_CHECK(found != std::end(kMeasuredBesideCompute), "a collective that is not measured");
  kind_ = *found;
  elements_ = bytes / (ranks() * size_of(DType::kFp32)) * ranks();
}

}  // namespace plait::nccl
