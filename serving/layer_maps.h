#pragma once
// Where each layer goes, by the rules of the programs that people run:
//   even            vLLM: even_layers
//   gpu_layers      llama.cpp's -ngl n: the embedding on the processor (where none is described and
//                   all else is on devices, there too), the last n of all layers and the head
//                   behind them on devices, dealt evenly (src/llama-model.cpp, i_gpu_start, in
//                   2026; until the winter before, the head came last, where n > L); n = -1: as
//                   many as fit
//   host_experts    llama.cpp's --n-cpu-moe n: experts of the first n layers in host memory;
//                   n = -1: as few as leave room for all else
//   sequential, balanced, balanced_low_0
//                   Accelerate's infer_auto_device_map: layers in order on device 0, 1, ..., each
//                   up to its allowance, what is left in host memory up to its own, then on
//                   storage; these are copied to device 0 whenever they run. Balanced: the
//                   allowance is the mean, the last device's its memory; low_0: device 0 gets what
//                   does not go on the others (get_balanced_memory).

#include <string>

#include "plan/framework_memory.h"
#include "plan/requests.h"
#include "serving/step_costs.h"

namespace plait {

/// The map of `rule` for served.model, .precision and .cluster, on .layout.mesh. `limits` says what
/// a device keeps free and how long sequences are.
LayerMap deal_layers(const ServedModel& served, const LayerRule& rule, const EngineLimits& limits,
                     const FrameworkMemory& framework);

/// Copies between devices and pageable host memory: over PCIe 0.43 of what page-locked memory gets
/// (Harris 2012, How to Optimize Data Transfers in CUDA C/C++).
void copy_pageable(Cluster& cluster);

/// What of the layers is not on the device that runs them, and how matrices are split, in words:
/// ", 12 of 32 layers on the processor". "": all as one would think.
std::string words_of(const ServingLayout& layout);

}  // namespace plait
