#include "scenarios/dialects/idle_layout.h"

#include <algorithm>

namespace plait {

void leave_out_idle(ScenarioTree& tree, bool keeps_ranks) {
  using Node = ScenarioTree::Node;
  Node& strategy = tree.root["strategy"];
  const Node* all = tree.find("strategy.zero_plus_plus");
  const auto is_no = [](const Node& v) { return v == false; };
  if (all && std::ranges::all_of(*all, is_no)) strategy.erase("zero_plus_plus");
  const bool whole = tree.size("tp") == 1 && !tree.find("strategy.stage_tp") && !keeps_ranks;
  if (whole && tree.find("strategy.sequence_parallel")) strategy["sequence_parallel"] = false;
  const Node* chunks = tree.find("strategy.pipeline.chunks");
  const Node* turns = tree.find("strategy.pipeline.exchange_overlap");
  const bool one_chunk = chunks && *chunks == 1 && !(turns && *turns == "passes");
  if (tree.size("pp") == 1 && one_chunk) strategy.erase("pipeline");
}

}  // namespace plait
