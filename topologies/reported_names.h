#pragma once
// What drivers and profilers call the devices of the catalogue: nvidia-smi, cudaGetDeviceProperties
// and, of it, torch.profiler.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// "h100-sxm" of "NVIDIA H100 80GB HBM3"; nothing where the catalogue has no such device.
std::optional<std::string_view> device_reported_as(std::string_view name);

/// The devices that a name may stand for, sorted: of one that is cut off ("NVIDIA A100-SXM...", as
/// in the table of nvidia-smi) all whose names begin so. Drivers before 465 leave "NVIDIA " out.
std::vector<std::string> devices_reported_like(std::string_view name);

}  // namespace plait
