// How attention meets the tokens of other ranks: --cp-comm-type. Its a2a+p2p has two levels,
// --hierarchical-context-parallel-sizes A P: A neighbouring ranks exchange tokens for heads, and P
// such groups form a ring, A * P being all that share a sequence (megatron/training/arguments.py).
#include <fmt/format.h>

#include <vector>

#include "core/parse_number.h"
#include "plan/refusal.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kType = "--cp-comm-type", *kLevels = "--hierarchical-context-parallel-sizes";

/// strategy.context.kind, --cp-comm-type.
struct SameKind {
  std::string_view kind, argument;
};
constexpr SameKind kContextKinds[] = {
    {"ring", "p2p"}, {"all_gather", "all_gather"}, {"ulysses", "a2a"}, {"hybrid", "a2a+p2p"}};

/// The ranks that exchange heads.
std::int64_t first_level(Arguments& args, std::int64_t cp) {
  const Arguments::Option* const given = args.find(kLevels);
  if (given == nullptr) {
    args.malformed(kType, fmt::format("p2p, all_gather, a2a, or a2a+p2p with {}", kLevels));
  }
  std::vector<std::int64_t> sizes;
  for (const ShellWord& word : given->values) {
    sizes.push_back(parse_number<std::int64_t>(word.text).value_or(0));
  }
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1) args.malformed(kLevels, "two sizes");
  if (sizes[0] > cp || sizes[0] * (cp / sizes[0]) != cp || sizes[1] != cp / sizes[0]) {
    args.contradiction(kLevels, "--context-parallel-size, which is not their product");
  }
  return sizes[0];
}

/// D009: arguments.py wants each rank's tokens in two halves.
void require_halves(const Scenario& s, std::int64_t ranks) {
  if (s.workload.sequence_length % (2 * ranks) == 0) return;
  throw locate(
      refusal("D009", fmt::format("Megatron-LM cuts a sequence into 2 * cp = {} parts", 2 * ranks),
              "workload.sequence_length", fmt::format("a multiple of {}", 2 * ranks),
              fmt::format("--set workload.sequence_length={}",
                          (s.workload.sequence_length / (2 * ranks) + 1) * 2 * ranks)),
      s);
}

}  // namespace

void write_context(ExportDraft& d) {
  const Strategy& s = d.scenario.strategy;
  const std::int64_t ranks = s.mesh.size_of(kContextAxes);
  if (ranks == 1) return;
  require_halves(d.scenario, ranks);
  for (const auto& [kind, type] : kContextKinds) {
    if (kind == name_of(s.context.kind)) d.set(kType, std::string(type));
  }
  if (s.context.kind == ContextKind::kHybrid) {
    d.set(kLevels, fmt::format("{} {}", s.context.ulysses, ranks / s.context.ulysses));
  }
  d.say({"strategy.context.kind", "strategy.context.ulysses"});
}

void read_context(Arguments& args, Imported& out, std::int64_t cp) {
  const std::string type =
      args.one_of(kType, {"p2p", "all_gather", "a2a", "a2a+p2p"}).value_or("p2p");
  for (const auto& [kind, argument] : kContextKinds) {
    if (argument != type) continue;
    out.give("strategy.context.kind", fmt::format("\"{}\"", kind), args.line(kType));
  }
  const std::int64_t exchanging = type == "a2a+p2p" ? first_level(args, cp) : 1;
  out.give("strategy.context.ulysses", std::to_string(exchanging), args.line(kLevels));
}

}  // namespace plait::megatron
