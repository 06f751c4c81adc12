#pragma once
// Measured collectives as rows of the fit: AIConfigurator's nccl_perf tables for one island, and
// digitised plots of all-reduces between islands of 8 H100.

#include <bit>
#include <tuple>

#include "tests/costmodel/devices.h"
#include "tests/costmodel/fit/collectives.h"
#include "tests/costmodel/published.h"

namespace plait {

struct MeasuredMachine {
  const char* name;
  const char* folder;
  Device device;
};
inline std::vector<MeasuredMachine> machines() {
  return {{"A100", "a100_sxm", a100()}, {"H100", "h100_sxm", h100()}, {"B200", "b200_sxm", b200()}};
}

/// Of an even number the upper one in the middle, which was measured.
inline double measured_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

struct MeasuredCollective {
  Device device;
  GroupPlacement group;
  CollectiveFitRow row;
};
inline MeasuredCollective measured(CollectiveKind kind, const GroupPlacement& group,
                                   const Device& device, Bytes bytes, Seconds time) {
  return {device, group, {nccl_group(kind, group, cluster_of(device)), bytes, time}};
}

/// Every other size is fitted: odd powers of two, 512 B to 512 MiB. Between islands, groups of 64
/// and 512 GPUs are not fitted at all.
inline bool is_fitted(const MeasuredCollective& m) {
  const double nodes = m.row.group.nodes;
  return std::bit_width(static_cast<std::uint64_t>(m.row.bytes.value)) % 2 == 0 && nodes != 8 &&
         nodes != 64;
}
inline std::vector<CollectiveFitRow> fitted_rows(const std::vector<MeasuredCollective>& all,
                                                 auto&& wanted) {
  std::vector<CollectiveFitRow> rows;
  for (const MeasuredCollective& m : all)
    if (is_fitted(m) && wanted(m.row.group.kind)) rows.push_back(m.row);
  return rows;
}

/// All-reduces of 1 GiB and more on 8 GPUs, larger than AIConfigurator's: Azure's AI benchmarking
/// guide (A100, H100) and ml-engineering (B200: from 8 GiB, below which AWS's tuner plugin
/// chooses).
inline std::vector<MeasuredCollective> large_rows(const MeasuredMachine& machine,
                                                  const std::filesystem::path& kernels) {
  const std::map<std::string, std::pair<std::string, std::int64_t>> sources = {
      {"A100", {"Azure/AI-benchmarking-guide Azure_Results/ND_A100_v4_results.md", kGiB}},
      {"H100", {"Azure/AI-benchmarking-guide Azure_Results/ND_H100_v5_results.md", kGiB}},
      {"B200", {"stas00/ml-engineering network/README.md", 8 * kGiB}}};
  const auto& [source, smallest] = sources.at(machine.name);
  std::vector<MeasuredCollective> rows;
  for (const Record& r : read_table(kernels / "collectives_published_tables.csv")) {
    const Bytes bytes(std::stoll(r.at("size_bytes")));
    if (r.at("source") != source || !r.at("hw").starts_with(machine.name) || r.at("nodes") != "1" ||
        r.at("gpus") != "8" || bytes.value < smallest || r.at("algo").starts_with("NVLS_ENABLE=0"))
      continue;
    rows.push_back(measured(CollectiveKind::kAllReduce, island(machine.device, 8), machine.device,
                            bytes, Seconds(std::stod(r.at("time_us")) * 1e-6)));
  }
  return rows;
}

/// One row for each collective, number of GPUs and size: the median over NCCL 2.27 to 2.29 and
/// repeated runs, half precision. NCCL 2.23, older than the model of its choice, is left out.
inline std::vector<MeasuredCollective> island_rows(const MeasuredMachine& machine,
                                                   const std::filesystem::path& kernels) {
  const std::map<std::string, CollectiveKind> kinds = {
      {"all_reduce", CollectiveKind::kAllReduce},
      {"all_gather", CollectiveKind::kAllGather},
      {"reduce_scatter", CollectiveKind::kReduceScatter},
      {"alltoall", CollectiveKind::kAllToAll}};
  std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t>, std::vector<double>> times;
  for (const auto& table : tables(kernels / "aiconfigurator" / machine.folder, "nccl_perf")) {
    if (table.string().find("nccl_2.23") != std::string::npos) continue;
    for (const Record& r : read_table(table)) {
      if (r.at("nccl_dtype") != "half") continue;
      const std::int64_t bytes = 2 * std::stoll(r.at("message_size"));  // counted in elements
      times[{kinds.at(r.at("op_name")), std::stoll(r.at("num_gpus")), bytes}].push_back(
          std::stod(r.at("latency_us")));
    }
  }
  std::vector<MeasuredCollective> rows;
  for (const auto& [key, us] : times) {
    const auto& [kind, ranks, bytes] = key;
    rows.push_back(measured(kind, island(machine.device, ranks), machine.device, Bytes(bytes),
                            Seconds(measured_median(us) * 1e-6)));
  }
  std::ranges::move(large_rows(machine, kernels), std::back_inserter(rows));
  return rows;
}

/// All-reduces of 32 to 1024 H100 by `source`. Below 5 GB/s of bus bandwidth the plots cannot be
/// read.
inline std::vector<MeasuredCollective> fabric_rows(const std::string& source,
                                                   const std::filesystem::path& kernels) {
  std::vector<MeasuredCollective> rows;
  for (const Record& r : read_table(kernels / "collectives_digitised_plots.csv")) {
    const double busbw = std::stod(r.at("busbw_GBps"));
    if (!r.at("source").starts_with(source) || busbw < 5) continue;
    const auto ranks = std::stod(r.at("gpus"));
    const Bytes bytes(std::stoll(r.at("size_bytes")));
    rows.push_back(measured(CollectiveKind::kAllReduce,
                            islands(h100(), std::stoll(r.at("nodes")), 8), h100(), bytes,
                            bytes / BytesPerSecond(busbw * 1e9) * (2 * (ranks - 1) / ranks)));
  }
  return rows;
}
inline constexpr const char* kFabricSources[] = {"NVIDIA GTC24 S62129", "arXiv 2411.13055"};

}  // namespace plait
