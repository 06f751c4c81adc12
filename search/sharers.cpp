#include "search/sharers.h"

namespace plait {

Sharers sharers_of(const Layout& l, const Strategy& base, AxisSet apart) {
  Sharers out;
  std::int64_t alike = 1;  // along ep and cp, which lie within dp and fsdp
  out.stride = l.tp;
  (apart.has(Axis::kEp) ? out.stride : alike) *= l.ep;
  (apart.has(Axis::kCp) ? out.stride : alike) *= l.cp;
  out.copies = std::int64_t{l.dp} * l.fsdp * alike;
  const bool within_fsdp = l.fsdp > 1 && !base.zero_plus_plus.secondary_shard;
  const std::int64_t shards = within_fsdp ? l.fsdp * alike : out.copies;
  out.zero_stage = shards > 1 || base.fetches_shards(l.zero_stage) ? l.zero_stage : 0;
  if (out.zero_stage > 0) out.shards = shards;
  return out;
}

PlacedSharers placed_sharers(const Layout& l, const Strategy& base, const RankOrder& order,
                             AxisSet apart) {
  const Sharers sharers = sharers_of(l, base, apart);
  const std::int64_t replicas = std::int64_t{l.dp} * l.fsdp;
  const Lattice::Run alike = {sharers.copies / replicas, sharers.stride};
  const Lattice::Run fsdp = {l.fsdp, order.stride(l, Axis::kFsdp)};
  const Lattice::Run dp = {l.dp, order.stride(l, Axis::kDp)};
  const bool within_fsdp = sharers.shards < sharers.copies;
  PlacedSharers out = {sharers, {alike, fsdp, dp}, {}, {}};
  out.sharing = within_fsdp ? Lattice{alike, fsdp} : out.all;
  if (within_fsdp) out.between = {dp};
  return out;
}

}  // namespace plait
