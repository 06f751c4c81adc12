#include "reports/profile/kernel_names.h"

#include <algorithm>
#include <string>

#include "core/spelling.h"

namespace plait {
namespace {

using kernel_patterns::NamePattern;

bool fits(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  while (!pattern.empty()) {
    const std::size_t star = std::min(pattern.find('*'), pattern.size());
    const std::string_view piece = pattern.substr(0, star);
    at = name.find(piece, at);
    if (at == std::string_view::npos) return false;
    at += piece.size();
    pattern.remove_prefix(std::min(star + 1, pattern.size()));
  }
  return true;
}

const NamePattern* find_in(std::span<const NamePattern> table, std::string_view name) {
  const auto found =
      std::ranges::find_if(table, [&](const NamePattern& p) { return fits(name, p.pattern); });
  return found == table.end() ? nullptr : &*found;
}

template <class... Tables>
const NamePattern* first_in(std::string_view name, const Tables&... tables) {
  const NamePattern* found = nullptr;
  (void)((found = find_in(tables, name), found != nullptr) || ...);
  return found;
}

}  // namespace

KernelName kernel_name(std::string_view name) {
  using namespace kernel_patterns;
  const std::string lower = lower_case(name);
  const NamePattern* p =
      first_in(lower, kNccl, kOtherLibraries, kAttentionNames, kOptimizerNames, kLossNames, kTriton,
               kRecurrenceNames, kProductNames, kNormNames, kRestOfTheLayer, kElementwiseNames);
  if (p == nullptr) return {};
  return {p->kind, p->of == Of::kPart, p->of == Of::kSoftmax};
}

KernelKind first_kind(std::span<const NamePattern> table, std::string_view name) {
  const NamePattern* found = find_in(table, lower_case(name));
  return found == nullptr ? KernelKind::kUnknown : found->kind;
}

KernelKind kind_of_memcpy(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("HtoD") || has("DtoH")) return KernelKind::kCopy;
  return has("PtoP") ? KernelKind::kOtherCommunication : KernelKind::kElementwise;
}

KernelKind kind_of_collective(std::string_view c10d_name) {
  const std::string name = lower_case(c10d_name);
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("reduce_scatter") || has("reducescatter")) return KernelKind::kReduceScatter;
  if (has("allreduce") || has("all_reduce")) return KernelKind::kAllReduce;
  if (has("allgather") || has("all_gather")) return KernelKind::kAllGather;
  if (has("all_to_all") || has("alltoall")) return KernelKind::kAllToAll;
  if (has("broadcast")) return KernelKind::kBroadcast;
  if (has("send") || has("recv")) return KernelKind::kSendRecv;
  return KernelKind::kOtherCommunication;
}

}  // namespace plait
