#pragma once
// What bench/gpu measured of PyTorch on GPUs: the files of reports/gpu.

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/op.h"
#include "tests/costmodel/errors.h"
#include "topologies/catalogue.h"

namespace plait {

struct MeasuredGpu {
  std::string folder;
  Device device;

  nlohmann::json read(const std::string& name) const {
    std::ifstream in(std::string(PLAIT_SOURCE_DIR "/reports/gpu/") + folder + "/" + name);
    return nlohmann::json::parse(in);
  }
  /// Calls f(kernels by call, rows, width) of the rows of torch-rows.json that are of `op`.
  template <class F>
  void for_each_row(const std::string& op, F&& f) const {
    const nlohmann::json all = read("torch-rows.json");
    for (const auto& row : all["rows"])
      if (row["op"] == op) f(row["kernels_us"], row["rows"], row["width"]);
  }
};

inline std::vector<MeasuredGpu> measured_gpus() {
  return {{"h200", find_device("h200-sxm")}, {"h100", find_device("h100-sxm")}};
}

/// Causal attention of a row of torch-ops.json.
inline Attention attention_of(const nlohmann::json& row, Pass pass) {
  return {.pass = pass,
          .batch = row["batch"],
          .heads = row["heads"],
          .kv_heads = row["kv_heads"],
          .seq_q = row["sequence"],
          .seq_kv = row["sequence"],
          .head_dim = row["head_dim"],
          .dropout = row.contains("dropout")};
}

/// Of a call's kernels the one at `place`, in microseconds, what sets memory left out.
inline double kernel_us(const nlohmann::json& kernels, std::size_t place) {
  std::vector<double> us;
  for (const auto& kernel : kernels)
    if (kernel[0] != "Memset") us.push_back(kernel[1]);
  return us.at(place);
}

}  // namespace plait
