#pragma once
// Devices of the catalogue by what people call them: "A100 80GB PCIe", "NVIDIA H100 NVL", "RTX
// 4090".

#include <set>
#include <string>

namespace plait {

/// The device whose model the words name. Where they leave the form or the memory open, SXM, and
/// the largest memory; where the catalogue has no board with theirs, one with another. Empty: none.
std::string device_called(const std::string& words);

/// The models of the catalogue that words name, without form and memory: h100 and h200 of
/// "H100/H200".
std::set<std::string> models_called(const std::string& words);

/// The memory in a board's name: 64 of "A100-64GB". 0: none is said.
double gigabytes_said(const std::string& words);
/// The same name with another memory.
std::string with_gigabytes(const std::string& words, double gigabytes);

/// A node of the catalogue with this device, none that a cloud rents out where there is another;
/// eight on PCIe where there is none.
std::string node_with(const std::string& device);

}  // namespace plait
