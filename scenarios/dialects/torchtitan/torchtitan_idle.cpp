// Keys of torchtitan that change nothing of a step (torchtitan/config/job_config.py): what is
// written down, which data, rates. Nearly every file has a dozen, among which those that are not
// read for want of a word would be lost.
#include <algorithm>
#include <iterator>

#include "scenarios/dialects/torchtitan/torchtitan.h"

namespace plait::torchtitan {
namespace {

/// With all that is in them.
constexpr std::string_view kSections[] = {
    "job", "profiling", "metrics", "checkpoint", "lr_scheduler", "comm", "fault_tolerance"};
constexpr std::string_view kIdle[] = {
    "model.tokenizer_path",  "model.hf_assets_path",    "model.print_after_conversion",
    "optimizer.lr",          "optimizer.beta1",         "optimizer.beta2",
    "optimizer.eps",         "optimizer.weight_decay",  "training.dataset",
    "training.dataset_path", "training.gc_freq",        "training.gc_debug",
    "training.seed",         "training.warmup_steps",   "debug.seed",
    "validation.dataset",    "validation.dataset_path", "experimental.custom_args_module"};

}  // namespace

bool is_idle(std::string_view path) {
  const std::string_view section = path.substr(0, path.find('.'));
  return std::ranges::find(kSections, section) != std::end(kSections) ||
         std::ranges::find(kIdle, path) != std::end(kIdle);
}

}  // namespace plait::torchtitan
