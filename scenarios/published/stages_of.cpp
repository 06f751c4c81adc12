#include "scenarios/published/stages_of.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <regex>

#include "scenarios/dialects/megatron/megatron.h"
#include "scenarios/published/model_names.h"
#include "scenarios/published/phrases.h"

namespace plait {
namespace {

/// "pp_layout=Et*4|(t*4|)*14tmL", "layout Et|(tt|)*30L", --pipeline-model-parallel-layout; empty:
/// none is said.
std::string layout_said(const PublishedRun& run) {
  static const std::regex kLayout(R"(layout[ =:]+["']?(E[tmL|()*0-9,]*L)(?![\w|(*]))");
  const std::string text = run.layout.schedule + "; " + run.notes + "; " + run.arguments;
  std::smatch found;
  return std::regex_search(text, found, kLayout) ? found.str(1) : "";
}

ListedStages as_said(const std::string& text, const megatron::Layout& layout) {
  ListedStages out{layout.layers, layout.mtp_layers, "layout " + text};
  if (!layout.mtp_is_last && megatron::fill_empty(out.layers))
    out.told += ", modules that predict further tokens behind the last layer";
  return out;
}

std::vector<std::int64_t> dealt(std::int64_t layers, std::int64_t pieces) {
  const std::int64_t each = (layers + pieces - 1) / pieces;
  std::vector<std::int64_t> out(static_cast<std::size_t>(pieces), each);
  out.back() = layers - (pieces - 1) * each;
  return out;
}

/// Megatron-Bridge's recipes of DeepSeek-V3 have mtp_num_layers 1 and, where they say no layout,
/// that of src/megatron/bridge/recipes/deepseek/deepseek_v3.py,
/// set_deepseek_v3_pipeline_model_parallel_layout, for their 4, 8 or 16 pieces; those in 32 pieces
/// have "Et|(tt|)*30mL" (scripts/performance/configs/deepseek/deepseek_llm_pretrain.py). Those of
/// Kimi K2 have the same layers and no module (recipes/kimi/kimi_k2.py,
/// _get_kimi_k2_pipeline_layout; scripts/performance/configs/kimi/kimi_workload_base_configs.py).
std::optional<ListedStages> by_recipe(const PublishedRun& run) {
  const bool deepseek = is_called(run.model.name, "deepseek-v3");
  const bool kimi = is_called(run.model.name, "kimi-k2");
  constexpr std::int64_t kLayers = 61;
  if (!mentions(run.source, "Megatron-Bridge") || (!deepseek && !kimi)) return std::nullopt;
  if (run.model.layers != kLayers) return std::nullopt;
  const bool predicts = deepseek && said_in(plain_text(run.notes), R"(\bmtp\b)") != false;
  ListedStages out;
  out.modules = predicts ? 1 : 0;
  out.told = "Megatron-Bridge's recipe";
  const std::int64_t pieces = run.layout.pp * std::max<std::int64_t>(1, run.layout.chunks);
  if (pieces == 4 || pieces == 8 || pieces == 16) out.layers = dealt(kLayers, pieces);
  if (pieces == 32) {
    out.layers.assign(32, 2);
    out.layers.front() = 1, out.layers.back() = 0;
  }
  if (out.layers.empty() && run.layout.pp > 1) return std::nullopt;
  return out;
}

/// All of the model's layers on all stages, with none but the ends empty.
bool fits(const ListedStages& stages, const PublishedRun& run) {
  const std::vector<std::int64_t>& each = stages.layers;
  const std::int64_t pieces = std::ssize(each);
  if (pieces % run.layout.pp != 0) return false;
  const bool empty = pieces > 2 && std::count(each.begin() + 1, each.end() - 1, 0) > 0;
  return !empty && std::reduce(each.begin(), each.end()) == run.model.layers;
}

}  // namespace

std::optional<ListedStages> stages_of(const PublishedRun& run) {
  const std::string text = layout_said(run);
  if (text.empty()) return by_recipe(run);
  const auto layout = megatron::read_layout(text);
  if (layout) {
    ListedStages out = as_said(text, *layout);
    if (fits(out, run)) return out;
  }
  return ListedStages{{}, 0, "not layout " + text + ", which is of other layers or stages"};
}

}  // namespace plait
