#include "plan/strategies/pieces.h"

#include <numeric>

#include "plan/refusal.h"

namespace plait {
namespace {

[[noreturn]] void refuse_list(std::int64_t layers, std::int64_t pieces, std::string problem) {
  throw refusal("S035", std::move(problem), "strategy.pipeline.stage_layers",
                std::to_string(pieces) + " numbers (pp x chunks) whose sum is " +
                    std::to_string(layers) + ", none of them 0 but the first and the last",
                "give each piece its layers, in the order of the model",
                {"strategy.pp", "strategy.pipeline.chunks", "model.layers"});
}

std::vector<std::int32_t> starts_of(const std::vector<std::int64_t>& each) {
  std::vector<std::int32_t> start = {0};
  for (const std::int64_t n : each) start.push_back(start.back() + static_cast<std::int32_t>(n));
  return start;
}

std::vector<std::int32_t> as_listed(std::int64_t layers, std::int64_t pieces,
                                    const PipelineOptions& options) {
  const std::vector<std::int64_t>& each = options.stage_layers;
  if (options.first_stage_layers >= 0 || options.last_stage_layers >= 0) {
    refuse_list(layers, pieces,
                "the layers of the ends are given twice, with the list and without");
  }
  const auto count = static_cast<std::int64_t>(each.size());
  const std::int64_t sum = std::accumulate(each.begin(), each.end(), std::int64_t{0});
  if (count != pieces || sum != layers) {
    refuse_list(layers, pieces,
                std::to_string(count) + " pieces with " + std::to_string(sum) +
                    " layers are not those of the model");
  }
  for (std::int64_t i = 0; i < pieces; ++i) {
    const bool between = i > 0 && i + 1 < pieces;
    const std::int64_t n = each[static_cast<std::size_t>(i)];
    // A piece between the ends without layers would send on the very tensor that it receives.
    if (n < 0 || (n == 0 && between)) {
      refuse_list(layers, pieces,
                  "piece " + std::to_string(i) + " cannot have " + std::to_string(n) + " layers");
    }
  }
  return starts_of(each);
}

// Modules of the model, in order, of which each piece has as many as the next, or one more.
std::vector<std::int32_t> shared_with_ends(std::int64_t layers, std::int64_t pieces) {
  constexpr std::int64_t kBefore = 1, kBehind = 2;  // embedding; last norm, output matrix
  const std::int64_t modules = kBefore + layers + kBehind;
  std::vector<std::int64_t> each(static_cast<std::size_t>(pieces), modules / pieces);
  for (std::int64_t i = 0; i < modules % pieces; ++i) ++each[static_cast<std::size_t>(i)];
  each.front() -= kBefore, each.back() -= kBehind;
  if (each.back() < 0 || (pieces > 2 && each[1] == 0)) {
    throw refusal("S030",
                  std::to_string(modules) + " modules are too few for " + std::to_string(pieces) +
                      " pipeline pieces (pp x chunks)",
                  "strategy.pipeline",
                  "3 modules or more for each piece, of " + std::to_string(layers) +
                      " layers and 3 at the ends",
                  "lower strategy.pp, or set strategy.pipeline.stage_layers",
                  {"strategy.pp", "strategy.pipeline.chunks", "model.layers"});
  }
  return starts_of(each);
}

/// The pieces whose layers no option says, and the layers that are left for them.
struct Rest {
  std::int64_t pieces = 0, layers = 0;
};
Rest beside_ends(std::int64_t layers, std::int64_t pieces, const PipelineOptions& options) {
  const std::int64_t first = options.first_stage_layers, last = options.last_stage_layers;
  Rest out = {pieces, layers};
  if (first >= 0) --out.pieces, out.layers -= first;
  if (last >= 0 && pieces > 1) --out.pieces, out.layers -= last;
  return out;
}

std::vector<std::int32_t> shared_evenly(std::int64_t layers, std::int64_t pieces,
                                        const PipelineOptions& options) {
  const std::int64_t first = options.first_stage_layers, last = options.last_stage_layers;
  const auto [sharing, rest] = beside_ends(layers, pieces, options);
  if (!can_share_evenly(layers, pieces, options)) {
    std::string ends;
    if (first >= 0) ends += ", " + std::to_string(first) + " of them on the first piece,";
    if (last >= 0) ends += ", " + std::to_string(last) + " of them on the last,";
    const std::string left = ends.empty() ? ""
                                          : ": " + std::to_string(rest) + " are left for " +
                                                std::to_string(sharing) + " others";
    throw refusal(
        "S030",
        std::to_string(layers) + " layers" + ends + " cannot be shared evenly by " +
            std::to_string(pieces) + (pieces == 1 ? " pipeline piece" : " pipeline pieces") +
            " (pp x chunks)" + left,
        "strategy.pipeline",
        "layers - first - last divisible by the pieces between, at least one each",
        "choose pp and chunks that divide the layers, or set "
        "strategy.pipeline.first_stage_layers and last_stage_layers, or stage_layers",
        {"strategy.pp", "strategy.pipeline.chunks", "strategy.pipeline.first_stage_layers",
         "strategy.pipeline.last_stage_layers", "model.layers"});
  }
  std::vector<std::int64_t> each(static_cast<std::size_t>(pieces),
                                 sharing > 0 ? rest / sharing : 0);
  if (first >= 0) each.front() = first;
  if (pieces > 1 && last >= 0) each.back() = last;
  return starts_of(each);
}

}  // namespace

bool can_share_evenly(std::int64_t layers, std::int64_t pieces, const PipelineOptions& options) {
  const std::int64_t last = options.last_stage_layers;
  const auto [sharing, rest] = beside_ends(layers, pieces, options);
  const bool divides = sharing > 0 ? rest >= 0 && rest % sharing == 0 : rest == 0;
  // A piece between the ends without layers would send on the very tensor that it receives.
  const bool empty_between = pieces > 2 && rest == 0;
  const bool contradicts = pieces == 1 && last >= 0 && last != layers;
  return divides && !empty_between && !contradicts;
}

std::vector<std::int32_t> first_layers(std::int64_t layers, std::int64_t pieces,
                                       const PipelineOptions& options) {
  if (!options.stage_layers.empty()) return as_listed(layers, pieces, options);
  const bool ends_given = options.first_stage_layers >= 0 || options.last_stage_layers >= 0;
  if (options.ends_are_layers && !ends_given && pieces > 1) return shared_with_ends(layers, pieces);
  return shared_evenly(layers, pieces, options);
}

}  // namespace plait
