#include "search/sharers.h"

namespace plait {

Sharers sharers_of(const Layout& l, AxisSet apart) {
  Sharers out;
  std::int64_t alike = 1;  // along ep and cp, which lie within dp and fsdp
  out.stride = l.tp;
  (apart.has(Axis::kEp) ? out.stride : alike) *= l.ep;
  (apart.has(Axis::kCp) ? out.stride : alike) *= l.cp;
  out.copies = std::int64_t{l.dp} * l.fsdp * alike;
  const std::int64_t shards = l.fsdp > 1 ? l.fsdp * alike : out.copies;
  out.zero_stage = shards > 1 ? l.zero_stage : 0;
  if (out.zero_stage > 0) out.shards = shards;
  return out;
}

}  // namespace plait
