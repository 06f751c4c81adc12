#pragma once
// Measured products as rows of the fit: AIConfigurator's gemm_perf tables, and the layers of
// Vidur's profiles, which no constant was fitted to.

#include <tuple>

#include "costmodel/fit/gemm.h"
#include "tests/costmodel/measured_collectives.h"

namespace plait {

/// Of the pairs (n, k), three of ten are held out, by a fixed hash.
inline bool is_held_out(std::int64_t n, std::int64_t k) {
  auto h = static_cast<std::uint64_t>(n) * 0x9E3779B97F4A7C15u ^
           static_cast<std::uint64_t>(k) * 0xC2B2AE3D27D4EB4Fu;
  h = (h ^ (h >> 31)) * 0xD6E8FEB86659FD93u;
  return (h >> 32) % 10 < 3;
}

/// One row for each shape with n and k from 64 up: the median over the engines in bf16,
/// TensorRT-LLM's time in fp8.
inline std::vector<GemmRow> gemm_rows(const Machine& machine, DType dtype,
                                      const std::filesystem::path& kernels) {
  const bool fp8 = dtype == DType::kFp8;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<double>> times;
  for (const auto& table : tables(kernels / "aiconfigurator" / machine.folder,
                                  fp8 ? "gemm_perf__trtllm" : "gemm_perf")) {
    for (const Record& r : read_table(table)) {
      const auto type = r.find("gemm_dtype");  // a table of bf16 alone does not name it
      if ((type == r.end() ? "bfloat16" : type->second) != (fp8 ? "fp8" : "bfloat16")) continue;
      const std::int64_t n = std::stoll(r.at("n")), k = std::stoll(r.at("k"));
      if (std::min(n, k) >= 64)
        times[{std::stoll(r.at("m")), n, k}].push_back(std::stod(r.at("latency_us")));
    }
  }
  std::vector<GemmRow> rows;
  for (const auto& [key, us] : times) {
    const auto& [m, n, k] = key;
    rows.push_back({{.m = m, .n = n, .k = k, .in = dtype}, Seconds(median(us) * 1e-6)});
  }
  return rows;
}

}  // namespace plait
