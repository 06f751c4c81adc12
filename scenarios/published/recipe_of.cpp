#include "scenarios/published/recipe_of.h"

#include <algorithm>
#include <array>
#include <regex>

namespace plait {
namespace {

/// Year and month of the release that the source names, as one number: 2606. 0: none.
int release_of(const std::string& source) {
  static const std::regex kRelease(R"(release (\d\d)\.(\d\d))");
  std::smatch found;
  return std::regex_search(source, found, kRelease) ? std::stoi(found[1].str() + found[2].str())
                                                    : 0;
}

/// From release 26.06 on, recipes for mixtures in MXFP8 on these capture the whole step, hide
/// exchanges and have one kernel for the experts' products (Megatron-Bridge,
/// scripts/performance/configs/{qwen,gpt_oss,deepseek,kimi}/*_workload_base_configs.py: of Qwen3
/// 30B and GPT OSS on GB200, DeepSeek-V3 on GB300, Kimi K2 on B300).
constexpr int kFirstRelease = 2606;
constexpr std::array<std::string_view, 3> kGpus = {"GB200", "GB300", "B300"};

bool captures_by_release(const PublishedRun& run) {
  const bool gpu = std::ranges::any_of(kGpus, [&](auto name) { return run.gpu.starts_with(name); });
  const std::string precision = lower(run.precision);
  return run.model.experts > 0 && gpu && mentions(run.source, "Megatron-Bridge") &&
         (mentions(precision, "mxfp8") || mentions(precision, "fp8-mx")) &&
         release_of(run.source) >= kFirstRelease;
}

}  // namespace

Recipe recipe_of(const PublishedRun& run) {
  const std::string notes = lower(run.notes);
  if (!mentions(notes, "recipe ") && captures_by_release(run)) return {true, true, true};
  return {.whole_step_graph = mentions(notes, "cuda_graph=full_iteration"),
          .hides_exchanges = mentions(notes, "a2a_overlap=true") || mentions(notes, "a2a overlap")};
}

}  // namespace plait
