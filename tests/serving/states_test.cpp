// States beside keys and values in one pool of blocks, as vLLM's start says that it makes them.
#include <gtest/gtest.h>

#include "serving/capacity.h"
#include "tests/serving/served.h"

namespace plait::states_test {

EngineLimits of_context(std::int64_t tokens) {
  EngineLimits limits;
  limits.max_context = tokens;
  return limits;
}

std::int64_t block_of(const std::string& model, std::int64_t tp, DType states) {
  ServedModel s = served({.tp = tp, .model = model});
  s.precision.states = states;
  return with_blocks_of_states(of_context(4096), s).block_size;
}

// "Setting attention block size to N tokens to ensure that attention page size is >= mamba page
// size": Nemotron Nano 9B v2 672 (vllm-project/vllm issue 24280), Qwen3-Next on two GPUs 544 (log
// of vLLM 0.10.2), Qwen3.5-35B-A3B, whose states its configuration asks for in fp32, 1056 (log of
// vLLM's main branch, March 2026).
TEST(BlocksOfStates, AreThoseThatVllmSets) {
  EXPECT_EQ(block_of("nemotron-nano-9b-v2", 1, DType::kBf16), 672);
  EXPECT_EQ(block_of("qwen3-next-80b-a3b", 2, DType::kBf16), 544);
  EXPECT_EQ(block_of("qwen3.5-35b-a3b", 1, DType::kFp32), 1056);
  EXPECT_EQ(block_of("llama-3.1-8b", 1, DType::kFp32), 16);
}

// Without attention a block is a state, for as many tokens as a sequence may have.
TEST(BlocksOfStates, WithoutAttentionAreStates) {
  const ServedModel s = served({.model = "mamba2-1.3b"});
  const EngineLimits limits = with_blocks_of_states(of_context(4096), s);
  const CacheCapacity c = cache_capacity(s, limits, {});
  const std::int64_t state = state_bytes_per_sequence(s.model, s.precision, 1).value;
  EXPECT_EQ(c.blocks, c.stages[0].cache.value / (48 * state) * 48);
  EXPECT_DOUBLE_EQ(c.concurrency(limits), static_cast<double>(c.blocks) / 48);
}

// The same log: with 44.59 GiB for the cache of either GPU 973,760 tokens, and 14.77 sequences of
// 262,144 at a time: blocks are 544 tokens of twelve layers, of which a sequence has 482 for its
// keys and values, and three for its states.
TEST(BlocksOfStates, HoldAsManySequencesAsVllmSays) {
  const ServedModel s = served({.tp = 2, .model = "qwen3-next-80b-a3b", .cluster = "hgx-h200"});
  const EngineLimits limits = with_blocks_of_states(of_context(262'144), s);
  CacheCapacity c = cache_capacity(s, limits, {});
  const StageRoom& room = c.stages[0];
  EXPECT_EQ(room.kept.all, 12);
  EXPECT_EQ(room.kept.states, 36);
  const auto cache = static_cast<std::int64_t>(44.59 * (std::int64_t{1} << 30));
  c.tokens = cache / room.block_bytes.value * limits.block_size;
  c.blocks = c.tokens / limits.block_size * room.kept.layers();
  EXPECT_EQ(c.tokens, 973'760);
  EXPECT_NEAR(c.concurrency(limits), 14.77, 0.01);
  EXPECT_TRUE(c.holds(limits, 14));
  EXPECT_FALSE(c.holds(limits, 15));
}

// vllm-project/vllm issue 40691: Qwen3.5-27B, 16 layers of attention and 48 gated delta nets, in
// blocks of 784 tokens: 290,864 tokens of the pool by layers, 33.04 sequences of 32,768.
TEST(BlocksOfStates, AreCountedAsInVllmsConcurrency) {
  CacheCapacity c;
  c.kept = {.all = 16, .states = 48};
  EngineLimits limits = of_context(32'768);
  limits.block_size = 784;
  c.blocks = (290'864 / 784 * 4 + 3) * 16;  // blocks of 16 layers; the log divides them by four
  EXPECT_NEAR(c.concurrency(limits), 33.04, 0.005);
}

// Of stages with as many layers, one with attention in all of them and one without any, the former
// holds fewer sequences of many blocks.
TEST(BlocksOfStates, AreFewestWhereTheLongestSequencesTakeMost) {
  ServedModel s = served({.pp = 2, .model = "qwen3-next-80b-a3b", .cluster = "hgx-h200"});
  s.model.layer_pattern = std::string(24, 'g') + std::string(24, 'a');
  const EngineLimits limits = with_blocks_of_states(of_context(262'144), s);
  const CacheCapacity c = cache_capacity(s, limits, {});
  EXPECT_EQ(c.tightest, 1U);
  EXPECT_EQ(c.kept.all, 24);
  EXPECT_DOUBLE_EQ(c.concurrency(limits), static_cast<double>(c.blocks) / (24 * 482));
}

TEST(KeptLayers, OfAStateIsOneBlock) {
  const KeptLayers kept{.all = 2, .states = 3};
  EXPECT_EQ(kept.blocks(0, 1, 4), 2 + 3);
  EXPECT_EQ(kept.blocks(100, 1, 4), 2 * 26 + 3);
  EXPECT_EQ(kept.most_blocks(101, 1, 4), 2 * 26 + 3);
  EXPECT_EQ(kept.most_tokens(2 * 26 + 3, 1, 4), 26 * 4);
  EXPECT_EQ(kept.most_tokens(2 * 26 + 2, 1, 4), 25 * 4);
  EXPECT_EQ(kept.most_tokens(4, 1, 4), 0);
}

// A lone token reads every weight that it meets and reads and writes its states: never faster than
// the bandwidth, and of 64 sequences the states are most of what is read.
TEST(StepCosts, StatesTakeTheirBytesTwice) {
  const ServedModel s = served({.model = "mamba2-2.7b"});
  const ParameterCount p = count_parameters(s.model);
  const double weights = 2.0 * static_cast<double>(p.total(s.model) - p.embedding);
  const std::int64_t each = state_bytes_per_sequence(s.model, s.precision, 1).value;
  const double states = 2 * 64.0 * static_cast<double>(each * s.model.layers);
  const double bandwidth = s.cluster.device.memory_bandwidth.value;
  const double one = to_seconds(time_step(s, decode(1, 128)).parts[0]).value;
  const double many = to_seconds(time_step(s, decode(64, 128)).parts[0]).value;
  EXPECT_GT(one, weights / bandwidth);
  EXPECT_GT(many - one, 0.98 * states / bandwidth);  // 63 sequences more
  EXPECT_LT(many, (weights + states) / bandwidth / 0.6);
}

}  // namespace plait::states_test
