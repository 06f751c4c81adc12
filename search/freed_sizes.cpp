#include "search/freed_sizes.h"

#include <set>

namespace plait {
namespace {

struct Size {
  std::string_view field;
  std::vector<std::int64_t> Space::*asked;
  std::int32_t Layout::*chosen;
};
constexpr Size kSizes[] = {{"strategy.tp", &Space::tp, &Layout::tp},
                           {"strategy.cp", &Space::cp, &Layout::cp},
                           {"strategy.pp", &Space::pp, &Layout::pp},
                           {"strategy.ep", &Space::ep, &Layout::ep},
                           {"strategy.fsdp", &Space::fsdp, &Layout::fsdp},
                           {"strategy.dp", &Space::dp, &Layout::dp},
                           {"workload.micro_batch", &Space::micro_batch, &Layout::micro_batch}};

}  // namespace

std::vector<FreedSize> freed_sizes(const SpaceOf& of) {
  std::vector<FreedSize> out;
  for (const Size& size : kSizes) {
    const std::vector<std::int64_t>& asked = of.space.*size.asked;
    if (asked.empty()) continue;
    Space freed = of.space;
    (freed.*size.asked).clear();
    const SpaceOf other = {freed,   of.model,         of.workload, of.devices,
                           of.base, of.listed_pieces, of.strategy};
    const Layouts layouts = all_layouts(other);
    std::set<std::int64_t> values;
    for (const Layout& layout : layouts) values.insert(layout.*size.chosen);
    if (!values.empty()) out.push_back({size.field, asked, {values.begin(), values.end()}});
  }
  return out;
}

std::vector<UntriedSize> untried_sizes(const Space& space, const Layouts& layouts) {
  std::vector<UntriedSize> out;
  const bool both = space.dp.size() > 1 && space.fsdp.size() > 1;
  for (const Size& size : kSizes) {
    const bool replicas = size.asked == &Space::dp || size.asked == &Space::fsdp;
    const std::vector<std::int64_t>& asked = space.*size.asked;
    if (asked.size() < 2 || (replicas && both)) continue;
    std::set<std::int64_t> left(asked.begin(), asked.end());
    for (std::size_t i = 0; i < layouts.size() && !left.empty(); ++i)
      left.erase(layouts[i].*size.chosen);
    if (!left.empty()) out.push_back({size.field, {left.begin(), left.end()}});
  }
  return out;
}

}  // namespace plait
