// Which they are: the scale of the loss, learning rates, what is checked or written down, and what
// DeepSpeed does by default (deepspeed/runtime/config.py and deepspeed/runtime/zero/config.py).
// Nearly every file has a dozen, among which those that are not read for want of a word would be
// lost.
#include "scenarios/dialects/deepspeed/deepspeed_idle.h"

#include <algorithm>
#include <string>

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

/// deepspeed/runtime/zero/config.py and constants.py; true is 1.
struct Usual {
  std::string_view path;
  double value;
};
constexpr Usual kUsual[] = {{"zero_optimization.contiguous_gradients", 1},
                            {"zero_optimization.reduce_scatter", 1},
                            {"zero_optimization.use_multi_rank_bucket_allreduce", 1},
                            {"zero_optimization.allgather_partitions", 1},
                            {"zero_optimization.allgather_bucket_size", 5e8},
                            {"zero_optimization.sub_group_size", 1e9},
                            {"zero_optimization.stage3_prefetch_bucket_size", 5e7},
                            {"zero_optimization.stage3_param_persistence_threshold", 1e5},
                            {"zero_optimization.stage3_max_live_parameters", 1e9},
                            {"zero_optimization.stage3_max_reuse_distance", 1e9},
                            {"prescale_gradients", 0},
                            {"sparse_gradients", 0}};

/// deepspeed/runtime/zero/offload_config.py. Where drives are is for the run to say.
constexpr std::string_view kOfPlaces[] = {"device", "ratio", "nvme_path", "fast_init"};
/// What copies to and from drives are alone.
constexpr std::string_view kOfDrives[] = {"buffer_count", "buffer_size", "max_in_cpu",
                                          "pipeline_read", "pipeline_write"};

bool is_usual(const Json& json) {
  const auto* usual = std::ranges::find(kUsual, json.path(), &Usual::path);
  if (usual == std::end(kUsual)) return false;
  if (json.is(Json::Kind::kBool)) return json.boolean() == (usual->value != 0);
  const bool counts = json.is(Json::Kind::kInteger) || json.is(Json::Kind::kNumber);
  return counts && json.number() == usual->value;
}

}  // namespace

bool is_place(const Json& json) {
  const std::string path = json.path();
  return json.is(Json::Kind::kObject) && (path == "zero_optimization.offload_optimizer" ||
                                          path == "zero_optimization.offload_param");
}

bool is_idle_in(const Json& place, const Json& key) {
  const std::string path = key.path(), name = path.substr(path.rfind('.') + 1);
  const auto is_at = [device = place.find("device")](std::string_view where) {
    return device != nullptr && device->is(Json::Kind::kText) && device->text() == where;
  };
  const bool off = key.is(Json::Kind::kBool) && !key.boolean();
  if (is_at("none") || std::ranges::count(kOfPlaces, name) != 0) return true;
  if (name == "pin_memory") return !off;  // copies are planned from page-locked memory
  return off || (!is_at("nvme") && std::ranges::count(kOfDrives, name) != 0);
}

bool is_idle(const Json& json) {
  if (is_usual(json)) return true;
  const std::string path = json.path(), part = path.substr(0, path.find('.'));
  return std::ranges::find(kKeys, path) != std::end(kKeys) ||
         std::ranges::find(kParts, part) != std::end(kParts);
}

}  // namespace plait::deepspeed
