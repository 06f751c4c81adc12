#include "scenarios/file_kind.h"

#include <gtest/gtest.h>

#include "scenarios/scenario.h"

namespace plait::file_kind_test {

InputError::Text refusal(const std::string& text) {
  try {
    parse_scenario(text, "mine");
  } catch (const InputError& e) {
    return e.text();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(FileKind, AnotherProgramsFileIsSentWhereItBelongs) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})", "hf_config"},
      {R"({"train_micro_batch_size_per_gpu": 1})", "plait import mine"},
      {R"({"bf16": {"enabled": true}, "gradient_accumulation_steps": 2})", "plait import mine"},
      {R"({"compute_environment": "LOCAL_MACHINE", "num_processes": 8})", "plait import mine"},
      {"compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n", "plait import mine"},
      {R"({"scenario": "x", "model": "llama-3.1-8b", "step_time_s": 1})", "plait compare mine"},
      {R"({"scenario": "x", "steps_s": [1], "step_time_s": 1})", "plait realrun --calibration"},
      {R"({"scenario": "x", "model": "llama-3.1-8b", "kv_cache": {}})", "name the scenario"},
      {R"({"scenario": "x", "model": "llama-3.1-8b", "layouts": {}})", "name the scenario"},
      {R"({"scenario": "x", "points": []})", "name the scenario"},
      {R"({"reference": "x", "candidates": []})", "name the scenario"},
      {"<!doctype html>\n<html lang=\"en\">", "plait compare mine"},
      {"#!/bin/bash\ntorchrun pretrain_gpt.py --num-layers 4 --micro-batch-size 1\n",
       "plait import mine"},
      {"vllm serve x --tensor-parallel-size 4", "plait import mine"},
      {"\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n", "plait topology import mine"},
      {"GPU 0: NVIDIA L40S (UUID: GPU-1)\n", "plait topology import mine -o"}};
  for (const auto& [text, cure] : cases) {
    const InputError::Text told = refusal(text);
    EXPECT_EQ(told.code, "F006") << text;
    EXPECT_NE(told.cure.find(cure), std::string::npos) << told.cure;
  }
}

TEST(FileKind, OfAnotherProgramsFileTheDialectIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"distributed_type": "FSDP"})", "Accelerate"},
      {"distributed_type: FSDP\n", "the dialect accelerate"},
      {R"({"train_batch_size": 8})", "DeepSpeed"},
      {"torchrun pretrain_gpt.py --num-layers 4\n", "the dialect megatron-core"}};
  for (const auto& [text, name] : cases) {
    const InputError::Text told = refusal(text);
    EXPECT_NE(told.problem.find(name), std::string::npos) << told.problem;
  }
}

/// A slip in a scenario is still told as a slip.
TEST(FileKind, AScenarioWithAnErrorStaysAScenario) {
  EXPECT_EQ(refusal(R"({"modle": "llama-3.1-8b", "workload": {}})").code, "F001");
  EXPECT_EQ(refusal(R"({"model": "llama-3.1-8b",})").code, "J005");
  EXPECT_EQ(refusal("hello").code, "J005");
  EXPECT_EQ(refusal("{}").code, "F002");
}

}  // namespace plait::file_kind_test
