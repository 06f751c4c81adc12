#pragma once
// torchtitan's job configuration, TOML. Keys: torchtitan/config/job_config.py of
// github.com/pytorch/torchtitan at commit 000204a4a8bf3d0f31adc44fc29855fbb6ea13d8.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/dialects/export_draft.h"

namespace plait::torchtitan {

/// What the ends count beside their layers, each as so many layers.
struct Ends {
  std::int64_t first = 0, last = 0;
};

/// Layers of each stage (torchtitan/distributed/pipeline.py, generate_module_names_per_stage): each
/// has an even share of layers and what the ends count, or one more, and the ends so many less.
std::vector<std::int64_t> shared_by_titan(std::int64_t layers, std::int64_t stages, Ends ends);

/// The key changes nothing of a step.
bool is_idle(std::string_view path);

/// The TOML: the text itself, or what a script writes of it before it starts torchtitan, on the
/// same lines; "": neither.
std::string config_in(const std::string& text);

void write(ExportDraft& draft);
Imported read(const std::string& text, const std::string& file);

}  // namespace plait::torchtitan
