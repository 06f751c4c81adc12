// Which they are: the scale of the loss, learning rates, what is checked or written down, and what
// DeepSpeed does by default (deepspeed/runtime/config.py and deepspeed/runtime/zero/config.py).
// Nearly every file has a dozen, among which those that are not read for want of a word would be
// lost.
#include "scenarios/dialects/deepspeed/deepspeed_idle.h"

#include <algorithm>

namespace plait::deepspeed {
namespace {

constexpr std::string_view kKeys[] = {"steps_per_print",
                                      "wall_clock_breakdown",
                                      "memory_breakdown",
                                      "dump_state",
                                      "zero_allow_untested_optimizer",
                                      "zero_force_ds_cpu_optimizer",
                                      "seed",
                                      "fp16.loss_scale",
                                      "fp16.initial_scale_power",
                                      "fp16.loss_scale_window",
                                      "fp16.hysteresis",
                                      "fp16.consecutive_hysteresis",
                                      "fp16.min_loss_scale",
                                      "fp16.auto_cast",
                                      "zero_optimization.gather_16bit_weights_on_model_save",
                                      "zero_optimization.stage3_gather_16bit_weights_on_model_save",
                                      "zero_optimization.stage3_gather_fp16_weights_on_model_save",
                                      "zero_optimization.load_from_fp32_weights",
                                      "zero_optimization.elastic_checkpoint",
                                      "zero_optimization.ignore_unused_parameters",
                                      "zero_optimization.round_robin_gradients"};
/// With all that is in them.
constexpr std::string_view kParts[] = {
    "scheduler",      "tensorboard",  "wandb",        "csv_monitor",    "comet",
    "monitor_config", "comms_logger", "comms_config", "flops_profiler", "checkpoint"};

}  // namespace

bool is_idle(std::string_view path) {
  const std::string_view part = path.substr(0, path.find('.'));
  return std::ranges::find(kKeys, path) != std::end(kKeys) ||
         std::ranges::find(kParts, part) != std::end(kParts);
}

}  // namespace plait::deepspeed
