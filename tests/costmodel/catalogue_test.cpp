// The cost model on the machines of the catalogue: the constants hold for the latencies and launch
// overheads written there.

#include "topologies/catalogue.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "costmodel/gemm_fits.h"
#include "tests/costmodel/devices.h"

namespace plait::catalogue_test {

Cluster machine(const char* preset, std::int64_t nodes) {
  ClusterSpec spec;
  spec.preset = preset;
  spec.nodes = nodes;
  return make_cluster(spec);
}
GroupPlacement first(const Cluster& cluster, std::int64_t n) {
  std::vector<std::int64_t> devices(static_cast<std::size_t>(n));
  std::iota(devices.begin(), devices.end(), 0);
  return place_group(cluster, devices);
}

// Small all-reduces of 8 GPUs, measured: H100 15.6 us, A100 21.3, B200 25.1.
TEST(Catalogue, SmallAllReducesTakeTheMeasuredTime) {
  const auto us = [](const char* preset) {
    const Cluster cluster = machine(preset, 1);
    const Collective op = collective(CollectiveKind::kAllReduce, 1024);
    return CostModel{}.collective(op, first(cluster, 8), cluster).cost.total().value * 1e6;
  };
  EXPECT_NEAR(us("hgx-h100"), 15.6, 1.6);
  EXPECT_NEAR(us("dgx-a100"), 21.3, 2.2);
  EXPECT_NEAR(us("hgx-b200"), 25.1, 2.6);
}

// Peaks of bus bandwidth: H100 8 GPUs 476 GB/s, 64 GPUs over 400 Gbit/s InfiniBand 370-387.
TEST(Catalogue, LargeAllReducesReachTheMeasuredBusBandwidth) {
  const Cluster cluster = machine("hgx-h100", 8);
  const auto busbw = [&](std::int64_t n) {
    const Collective op = collective(CollectiveKind::kAllReduce, 16 * kGiB);
    const Seconds t = CostModel{}.collective(op, first(cluster, n), cluster).cost.total();
    const auto ranks = static_cast<double>(n);
    return 2 * (ranks - 1) / ranks * 16 * kGiB / t.value / 1e9;
  };
  EXPECT_NEAR(busbw(8), 476, 0.03 * 476);
  EXPECT_NEAR(busbw(64), 378, 0.06 * 378);
}

// The same chip with less power and lower clocks.
TEST(Catalogue, NoCardOnPcieMultipliesFasterThanItsChipOnSxm) {
  const auto seconds = [](const char* device) {
    MatMul op;
    op.m = op.n = op.k = 8192;
    return CostModel{}.compute(op, find_device(device)).total().value;
  };
  constexpr std::array<std::array<const char*, 2>, 7> kChips = {{{"a100-40-pcie", "a100-40-sxm"},
                                                                 {"a100-80-pcie", "a100-80-sxm"},
                                                                 {"a800-80-pcie", "a800-80-sxm"},
                                                                 {"h100-pcie", "h100-sxm"},
                                                                 {"h100-nvl", "h100-sxm"},
                                                                 {"h800-pcie", "h800-sxm"},
                                                                 {"h200-nvl", "h200-sxm"}}};
  for (const auto& [pcie, sxm] : kChips) EXPECT_GE(seconds(pcie), 0.998 * seconds(sxm)) << pcie;
}

TEST(Catalogue, EveryMachineHasACostForEverything) {
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = machine(name.c_str(), find_node(name).nics > 0 ? 2 : 1);
    const std::int64_t n = cluster.world_size();
    for (CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                CollectiveKind::kAllToAll, CollectiveKind::kBroadcast}) {
      const Cost cost =
          CostModel{}.collective(collective(kind, kMiB), first(cluster, n), cluster).cost;
      EXPECT_GT(cost.total().value, 0) << name;
      EXPECT_LT(cost.total().value, 1) << name;
    }
    MatMul product;
    product.m = product.n = product.k = 1024;
    EXPECT_GT(CostModel{}.compute(product, cluster.device).total().value, 0) << name;
    EXPECT_GT(CostModel{}.transfer(Bytes(1), route(cluster, 0, n - 1)).total().value, 0) << name;
    Copy copy;
    copy.bytes = Bytes(kMiB);
    const Seconds copied = CostModel{}.copy(copy, cluster).total();
    EXPECT_TRUE(std::isfinite(copied.value)) << name;
  }
}

// Products of these were measured; what is said of any other GPU is from its data sheet.
TEST(Catalogue, OnlyMeasuredGpusHaveFittedProducts) {
  const std::set<std::string> measured = {
      "a100-40-sxm",  "a100-80-sxm", "a100-40-pcie", "a100-80-pcie", "a800-80-sxm",
      "a800-80-pcie", "h100-sxm",    "h100-96-sxm",  "h800-sxm",     "b200"};
  MatMul product;
  product.m = product.n = product.k = 4096;
  product.in = product.out = DType::kFp16;
  for (const std::string& name : device_names()) {
    const Cost cost = CostModel{}.compute(product, find_device(name));
    const bool fitted = measured.contains(name);
    EXPECT_EQ(cost.provenance, fitted ? Provenance::kFitted : Provenance::kDatasheet) << name;
    EXPECT_GE(cost.band, fitted ? 0 : 0.2) << name;
  }
}

// No kernel of AMD's GPUs was measured: theirs are no processor's, and say how little is known.
TEST(Catalogue, AmdsGpusAreTakenFromTheDataSheetWithAWideBand) {
  MatMul product;
  product.m = product.n = product.k = 8192;
  product.in = product.out = DType::kBf16;
  for (const char* name : {"mi300x", "mi325x", "mi355x"}) {
    const Device device = find_device(name);
    EXPECT_EQ(generation_of(device), Generation::kCdna);
    const Cost cost = CostModel{}.compute(product, device);
    EXPECT_EQ(cost.provenance, Provenance::kDatasheet) << name;
    EXPECT_GE(cost.band, 0.4) << name;
    // Between what the best product reaches there (ml-engineering: 668, 785, 1565 TFLOP/s) and
    // half.
    const double best = device.peak_bf16.value * 0.511 * device.matmul_yield;
    const double rate = (hardware_flops(product) / cost.total()).value;
    EXPECT_LT(rate, best) << name;
    EXPECT_GT(rate, best / 2) << name;
  }
}

// Seven links of 64 GB/s, of which RCCL counts on 48 (ROCm/rccl issue 1210).
TEST(Catalogue, RingsOverAMeshUseTheLinksToAllOthers) {
  const Cluster cluster = machine("mi300x-8", 1);
  const Collective op = collective(CollectiveKind::kAllReduce, 4 * kGiB);
  const CollectiveCost c = CostModel{}.collective(op, first(cluster, 8), cluster);
  const double busbw = 2 * 7.0 / 8 * 4 * kGiB / c.cost.total().value;
  EXPECT_NEAR(busbw, 7 * 48e9, 0.02 * 7 * 48e9);
  EXPECT_EQ(c.cost.provenance, Provenance::kDatasheet);
  const CollectiveCost exchange = CostModel{}.collective(
      collective(CollectiveKind::kAllToAll, kGiB), first(cluster, 8), cluster);
  EXPECT_EQ(exchange.cost.provenance, Provenance::kExtrapolated);
}

TEST(Catalogue, BlackwellUltraTakesTheKernelsOfB200AsGb200Does) {
  const Device b200 = find_device("b200");
  for (const char* name : {"gb200", "gb300", "b300"}) {
    for (const DType type : {DType::kBf16, DType::kFp8, DType::kNvfp4}) {
      EXPECT_EQ(tiled_gemm(find_device(name), type), tiled_gemm(b200, type)) << name;
    }
  }
}

// Per head and pair of tokens 4 d operations on tensor cores and an exponential, whose cost halves:
// faster, by less than twice.
TEST(Catalogue, AttentionOnBlackwellUltraIsFasterByLessThanItsExponentials) {
  Attention op;
  op.batch = 1, op.heads = 32, op.kv_heads = 8, op.seq_q = op.seq_kv = 8192, op.head_dim = 128;
  op.causal = true;
  Device ultra = find_device("b200");
  const Seconds before = CostModel{}.compute(op, ultra).total();
  ultra.compute_capability = 103;
  const Seconds after = CostModel{}.compute(op, ultra).total();
  EXPECT_LT(after, 0.9 * before);
  EXPECT_GT(after, 0.5 * before);
}

// Bus bandwidths, GB/s, that nothing was fitted to: ml-engineering on AWS p6-b200 and p5en. Later
// cards start faster: two p6-b300 reach 90.2 at 8 MiB (awslabs/awsome-distributed-ai issue 1255),
// where 66 are predicted.
TEST(Catalogue, AllReducesOverEfaReachTheMeasuredBusBandwidth) {
  struct Measured {
    const char* preset;
    std::int64_t bytes;
    double busbw;
  };
  for (const Measured& m :
       {Measured{"aws-p6-b200", 16 * kGiB, 381.8}, Measured{"aws-p6-b200", 256 * kMiB, 229.1},
        Measured{"aws-p6-b200", 16 * kMiB, 64.4}, Measured{"aws-p5en", 4 * kGiB, 364.9}}) {
    const Cluster cluster = machine(m.preset, 4);
    const std::int64_t n = cluster.world_size();
    const CollectiveCost c = CostModel{}.collective(collective(CollectiveKind::kAllReduce, m.bytes),
                                                    first(cluster, n), cluster);
    const auto ranks = static_cast<double>(n);
    const double sent = 2 * (ranks - 1) / ranks * static_cast<double>(m.bytes);
    const double ratio = sent / c.cost.total().value / 1e9 / m.busbw;
    EXPECT_NEAR(ratio, 1, c.cost.band) << m.preset << ", " << m.bytes << " bytes";
  }
}

}  // namespace plait::catalogue_test
