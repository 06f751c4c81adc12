#pragma once
// What drivers and profilers call the devices of the catalogue: nvidia-smi, cudaGetDeviceProperties
// and, of it, torch.profiler.

#include <optional>
#include <string_view>

namespace plait {

/// "h100-sxm" of "NVIDIA H100 80GB HBM3"; nothing where the catalogue has no such device.
std::optional<std::string_view> device_reported_as(std::string_view name);

}  // namespace plait
