// Where layers go, and what it costs to have them elsewhere than on a device.
#include "serving/layer_maps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/validate.h"
#include "serving/capacity.h"
#include "tests/serving/served.h"

namespace plait::layer_maps_test {

// llama.cpp: the head is the last layer.
TEST(LayerMaps, GpuLayersAreTheLast) {
  ServedModel s = served();
  const auto on_device = [&](std::int64_t n) {
    LayerRule rule;
    rule.dealing = Dealing::kGpuLayers, rule.gpu_layers = n;
    return deal_layers(s, rule, {}, {});
  };
  const LayerMap some = on_device(10);  // of 32 and the head
  EXPECT_EQ(some.layers[22].residence, Residence::kProcessor);
  EXPECT_EQ(some.layers[23].residence, Residence::kDevice);
  EXPECT_EQ(some.head.residence, Residence::kDevice);
  EXPECT_EQ(on_device(0).head.residence, Residence::kProcessor);
  EXPECT_EQ(on_device(1).head.residence, Residence::kDevice);
  EXPECT_EQ(on_device(1).layers[31].residence, Residence::kProcessor);
  EXPECT_EQ(on_device(32).layers[0].residence, Residence::kProcessor);
  EXPECT_EQ(on_device(33).layers[0].residence, Residence::kDevice);
}

// A coherent link reads pageable memory as it is.
TEST(LayerMaps, PageableMemoryIsSlowOverPcie) {
  ClusterSpec spec;
  spec.preset = "rtx-4090-8";
  Cluster pcie = make_cluster(spec);
  const BytesPerSecond pinned = pcie.host.bandwidth;
  copy_pageable(pcie);
  EXPECT_NEAR(pcie.host.bandwidth / pinned, 0.43, 1e-9);
  spec.preset = "gh200";
  Cluster coherent = make_cluster(spec);
  const BytesPerSecond before = coherent.host.bandwidth;
  copy_pageable(coherent);
  EXPECT_EQ(coherent.host.bandwidth.value, before.value);
}

// 16 GB of weights and a cache fit into 80 GB and do not into 8.
TEST(LayerMaps, AsManyGpuLayersAsFit) {
  ServedModel s = served();
  LayerRule rule;
  rule.dealing = Dealing::kGpuLayers;
  EngineLimits limits;
  limits.max_context = 4096, limits.max_sequences = 1;
  const auto count = [&] {
    return std::ranges::count(deal_layers(s, rule, limits, {}).layers, Residence::kDevice,
                              &LayerPlace::residence);
  };
  EXPECT_EQ(count(), 32);
  s.cluster.device.memory = Bytes(8LL << 30);
  const auto some = count();
  EXPECT_GT(some, 5);
  EXPECT_LT(some, 20);
}

// Four sequences of 65,536 tokens take 32 GiB of cache beside 16 GB of weights, a pool of as many
// tokens as one of them 8 GiB.
TEST(LayerMaps, APoolThatSequencesShareLeavesMoreLayersOnTheDevice) {
  ServedModel s = served();
  s.cluster.device.memory = Bytes(40LL << 30);
  LayerRule rule;
  rule.dealing = Dealing::kGpuLayers;
  EngineLimits limits;
  limits.max_context = 65536, limits.max_sequences = 4;
  const auto count = [&] {
    return std::ranges::count(deal_layers(s, rule, limits, {}).layers, Residence::kDevice,
                              &LayerPlace::residence);
  };
  EXPECT_LT(count(), 32);
  limits.cache_tokens = 65536;
  EXPECT_EQ(count(), 32);
  s.layout.map = deal_layers(s, rule, limits, {});
  const CacheCapacity pool = cache_capacity(s, limits, {});
  EXPECT_EQ(pool.tokens, 65536) << "and no more, whatever memory leaves";
  EXPECT_EQ(pool.blocks, 65536 / limits.block_size);
  EXPECT_TRUE(pool.holds(limits));
}

// Accelerate: devices in order, then host memory, then storage, each up to what it may hold.
TEST(LayerMaps, PlacesAreFilledInOrder) {
  ServedModel s = served({.tp = 1, .pp = 2});
  const std::int64_t layer = 2 * count_parameters(s.model).layer;
  LayerRule rule;
  rule.dealing = Dealing::kSequential;
  rule.device_memory = Bytes(10 * layer), rule.host_memory = Bytes(12 * layer);
  const LayerMap map = deal_layers(s, rule, {}, {});
  EXPECT_TRUE(std::ranges::is_sorted(map.layers, {}, [](const LayerPlace& p) {
    return p.residence == Residence::kDevice ? p.stage : 2 + static_cast<std::int32_t>(p.residence);
  }));
  EXPECT_EQ(map.layers.front().stage, 0);
  EXPECT_EQ(map.layers.back().residence, Residence::kStorage);
}

// As with max_memory={0: "...", "cpu": "0GiB"}: what is given as nothing is no absence of a limit.
TEST(LayerMaps, NoMemoryIsNotUnlimitedMemory) {
  ServedModel s = served();
  const std::int64_t layer = 2 * count_parameters(s.model).layer;
  const auto count = [&](const LayerRule& rule, Residence where) {
    return std::ranges::count(deal_layers(s, rule, {}, {}).layers, where, &LayerPlace::residence);
  };
  LayerRule rule;
  rule.dealing = Dealing::kSequential;
  rule.device_memory = Bytes(10 * layer);
  EXPECT_EQ(count(rule, Residence::kStorage), 0);
  rule.host_memory = Bytes(0);
  EXPECT_EQ(count(rule, Residence::kHost), 0);
  EXPECT_GT(count(rule, Residence::kStorage), 20);
  rule.device_memory = Bytes(0);
  EXPECT_EQ(count(rule, Residence::kStorage), s.model.layers);
}

TEST(LayerMaps, BalancedDevicesHoldAlikeAndLow0LeavesTheFirstEmpty) {
  ServedModel s = served({.tp = 1, .pp = 2});
  const auto first = [&](Dealing dealing) {
    LayerRule rule;
    rule.dealing = dealing;
    return std::ranges::count(deal_layers(s, rule, {}, {}).layers, 0, &LayerPlace::stage);
  };
  EXPECT_NEAR(static_cast<double>(first(Dealing::kBalanced)), 16, 3);
  EXPECT_EQ(first(Dealing::kBalancedLow0), 0);
}

// A layer on the processor takes its bytes over DRAM's bandwidth, one that is copied its bytes over
// the host link, for every step.
TEST(LayerMaps, LayersOffTheDeviceTakeTheirBytesOverTheirLink) {
  ServedModel s = served();
  s.costs.machine.processor = find_device("cpu-host");
  const double bytes = 2.0 * static_cast<double>(count_parameters(s.model).layer);
  const auto one_moved = [&](Residence residence) {
    ServedModel moved = s;
    moved.layout.map.layers[0].residence = residence;
    return to_seconds(time_step(moved, decode(1, 64)).total() - time_step(s, decode(1, 64)).total())
        .value;
  };
  const double dram = bytes / s.costs.machine.processor.memory_bandwidth.value;
  EXPECT_GT(one_moved(Residence::kProcessor), dram * 0.8);
  EXPECT_LT(one_moved(Residence::kProcessor), dram * 2);
  const double link = bytes / s.cluster.host.bandwidth.value;
  EXPECT_GT(one_moved(Residence::kHost), link);
  EXPECT_LT(one_moved(Residence::kHost), link * 1.5);
  s.costs.machine.storage_bandwidth = BytesPerSecond(1e9);
  EXPECT_NEAR(one_moved(Residence::kStorage) - one_moved(Residence::kHost), bytes / 1e9, 1e-6);
}

// The processor would take its FLOPs for a prompt: the device has them, and what it needs for them
// is copied, of the cache as much as is there.
TEST(LayerMaps, APromptCopiesWhatTheProcessorHas) {
  ServedModel s = served();
  s.costs.machine.processor = find_device("cpu-host");
  const auto one_moved = [&](const Step& step) {
    ServedModel moved = s;
    moved.layout.map.layers[0].residence = Residence::kProcessor;
    return to_seconds(time_step(moved, step).total() - time_step(s, step).total()).value;
  };
  const auto prompt = [](std::int64_t keys) { return Step{{1, 1024, keys}, {}, 1}; };
  const double weights = 2.0 * static_cast<double>(count_parameters(s.model).layer);
  const double link = s.cluster.host.bandwidth.value;
  EXPECT_GT(one_moved(prompt(1024)), weights / link);
  EXPECT_LT(one_moved(prompt(1024)), 1.5 * weights / link);
  const double token = static_cast<double>(kv_bytes_per_token(s.model, s.precision, 1).value);
  const double more = one_moved(prompt(100'000)) - one_moved(prompt(1024));
  EXPECT_GT(more, 0.9 * 98'976 * token / link);
  EXPECT_LT(more, 1.5 * 98'976 * token / link);
}

TEST(LayerMaps, WordsSayWhatIsNotOnItsDevice) {
  ServedModel s = served({.tp = 1, .pp = 2});
  EXPECT_EQ(words_of(s.layout), "");
  s.layout.map.layers[0].residence = s.layout.map.layers[1].residence = Residence::kProcessor;
  s.layout.map.host_experts = 4;
  EXPECT_EQ(words_of(s.layout),
            ", 2 of 32 layers on the processor, experts of 4 layers in host memory");
}

// gpt-oss-20b has 12 GB of experts in MXFP4: all but a few fit into 12 GB beside the rest.
TEST(LayerMaps, AsFewExpertsLeaveTheDeviceAsMust) {
  ServedModel s = served({.model = "gpt-oss-20b"});
  s.precision.experts = WeightFormat::kMxfp4;
  LayerRule rule;
  rule.dealing = Dealing::kGpuLayers, rule.gpu_layers = 99, rule.host_experts = -1;
  EngineLimits limits;
  limits.max_context = 4096, limits.max_sequences = 1, limits.max_tokens = 512;
  EXPECT_EQ(deal_layers(s, rule, limits, {}).host_experts, 0);
  s.cluster.device.memory = Bytes(12LL << 30);
  const LayerMap few = deal_layers(s, rule, limits, {});
  EXPECT_GT(few.host_experts, 0);
  EXPECT_LT(few.host_experts, s.model.layers);
  const auto fits = [&](std::int64_t n) {
    s.layout.map = few;
    s.layout.map.host_experts = n;
    return cache_capacity(s, limits, {}).holds(limits, 1);
  };
  EXPECT_TRUE(fits(few.host_experts));
  EXPECT_FALSE(fits(few.host_experts - 1));
}

// The processor reads the experts of one token; a prompt copies those of its tokens, all of them.
TEST(LayerMaps, ExpertsInHostMemoryAreComputedThereOrCopied) {
  ServedModel s = served({.model = "gpt-oss-20b", .cluster = "rtx-4090-8"});
  s.costs.machine.processor = find_device("core-i9-13900k");
  s.graphs = false;
  const Model& m = s.model;
  const auto expert = static_cast<double>(2 * 3 * m.hidden * m.expert_ffn_hidden);  // bytes
  const auto longer = [&](const Step& step) {
    s.layout.map.host_experts = 0;
    const SimTime before = time_step(s, step).total();
    s.layout.map.host_experts = 10;
    return to_seconds(time_step(s, step).total() - before).value;
  };
  const double dram = s.costs.machine.processor.memory_bandwidth.value;
  const double read = 10 * static_cast<double>(m.experts_per_token) * expert / dram;
  EXPECT_GT(longer(decode(1, 64)), 0.8 * read);
  EXPECT_LT(longer(decode(1, 64)), 2 * read);
  const double copied =
      10 * static_cast<double>(m.experts) * expert / s.cluster.host.bandwidth.value;
  const Step prompt = {{1, 2048, 2048}, {}, 1};
  EXPECT_NEAR(longer(prompt), copied, 0.2 * copied);
}

TEST(LayerMaps, PlansAreSoundWhereverExpertsAre) {
  ServedModel s = served({.model = "gpt-oss-20b"});
  s.layout.map.host_experts = 3;
  for (const bool cache_on_host : {false, true}) {
    s.layout.map.cache_on_host = cache_on_host;
    for (const std::int64_t tokens : {std::int64_t{4}, kOffloadedTokens}) {
      const Plan plan =
          make_serving_plan(s.model, {{1, tokens, tokens}, {}, 1}, s.precision, s.layout, 64);
      const auto faults = validate(plan);
      EXPECT_TRUE(faults.empty()) << faults.front().text;
    }
  }
}

TEST(LayerMaps, PlansAreSoundWhereverLayersAre) {
  for (const Residence r : {Residence::kProcessor, Residence::kHost, Residence::kStorage}) {
    for (const bool cache_on_host : {false, true}) {
      ServedModel s = served({.tp = 1, .pp = 2});
      for (const std::size_t i : {0U, 1U, 20U}) s.layout.map.layers[i].residence = r;
      s.layout.map.cache_on_host = cache_on_host;
      for (const std::int64_t tokens : {std::int64_t{16}, kOffloadedTokens}) {
        const Step mixed = {{1, tokens, tokens}, {2, 1, 64}, 3};
        const auto faults =
            validate(make_serving_plan(s.model, mixed, s.precision, s.layout, /*cache_tokens=*/64));
        EXPECT_TRUE(faults.empty()) << faults.front().text;
      }
    }
  }
}

}  // namespace plait::layer_maps_test
