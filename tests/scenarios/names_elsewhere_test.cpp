// Fields by the names of other programs.
#include "scenarios/names_elsewhere.h"

#include <gtest/gtest.h>

#include <string>

#include "scenarios/scenario.h"

namespace plait::names_elsewhere_test {

constexpr const char* kScenario = R"({"model": "gpt2", "cluster": "dgx-a100",
    "workload": {"sequence_length": 1024, "global_batch": 8}})";

std::string cure_of(const std::string& path, const std::string& value,
                    const std::string& text = kScenario) {
  try {
    parse_scenario(text, "x", {{path, value}});
  } catch (const InputError& e) {
    return e.text().cure;
  }
  return "no error";
}

TEST(NamesElsewhere, LeadToTheField) {
  EXPECT_EQ(cure_of("workload.seq_length", "4096"), R"(did you mean "workload.sequence_length"?)");
  EXPECT_EQ(cure_of("strategy.tensor_model_parallel_size", "2"), R"(did you mean "strategy.tp"?)");
  EXPECT_EQ(cure_of("torch_autocast", "bf16"), R"(did you mean "workload.precision.autocast"?)");
  EXPECT_EQ(cure_of("tensor_parallel_size", "2"), R"(did you mean "strategy.tp"?)");
  EXPECT_EQ(cure_of("model.num_key_value_heads", "2"), R"(did you mean "model.kv_heads"?)");
}

TEST(NamesElsewhere, InAnEntryOfAListItsOwnKeysAreMeant) {
  EXPECT_EQ(cure_of("cluster.slowdowns", R"([{"devices": [3], "factor": 1.2}])"),
            R"(did you mean "device"?)");
  EXPECT_EQ(cure_of("cluster.devices", "8"),
            "leave it out: it is cluster.nodes * cluster.devices_per_node");
}

TEST(NamesElsewhere, ThatAreShortAreNotThoseOfOtherAxes) {
  EXPECT_EQ(cure_of("strategy.etp", "2"), R"(did you mean "strategy.expert_tp"?)");
  EXPECT_EQ(cure_of("strategy.sp", "true"), R"(did you mean "strategy.sequence_parallel"?)");
  EXPECT_EQ(cure_of("strategy.vpp", "2"), R"(did you mean "strategy.pipeline.chunks"?)");
}

TEST(NamesElsewhere, SwitchesAreKinds) {
  EXPECT_EQ(cure_of("strategy.recompute", "true"), "did you mean strategy.recompute=full?");
  EXPECT_EQ(cure_of("strategy.recompute", R"("block 4 layers")"),
            R"(did you mean strategy.recompute={"kind":"full","layers":4}?)");
  EXPECT_EQ(cure_of("strategy.offload", "true"), "did you mean strategy.offload=cpu?");
  EXPECT_EQ(cure_of("workload.precision", R"("bf16-mixed")"),
            R"(did you mean workload.precision={"weights": "fp32", "autocast": "bf16"}?)");
  EXPECT_EQ(cure_of("workload.documents", "packed"),
            "did you mean workload.documents.packing=packed?");
}

TEST(NamesElsewhere, LeadThereFromAFileToo) {
  const std::string text = R"({"model": {"preset": "gpt2", "intermediate_size": 3072},
      "cluster": "dgx-a100", "workload": {"sequence_length": 1024, "global_batch": 8}})";
  EXPECT_EQ(cure_of("strategy.tp", "1", text), R"(did you mean "model.ffn_hidden"?)");
  const std::string network = R"({"model": "gpt2",
      "cluster": {"preset": "dgx-a100", "inter_node": {"bandwidth": "100 Gbit/s"}},
      "workload": {"sequence_length": 1024, "global_batch": 8}})";
  EXPECT_EQ(cure_of("strategy.tp", "1", network), R"(did you mean "cluster.fabric"?)");
}

TEST(NamesElsewhere, OfMachinesAndLoadsLeadThereToo) {
  const std::string fabric = R"({"model": "gpt2",
      "cluster": {"preset": "dgx-a100", "nodes": 2, "oversubscription": 2},
      "workload": {"sequence_length": 1024, "global_batch": 8}})";
  EXPECT_EQ(cure_of("strategy.tp", "1", fabric),
            R"(did you mean "cluster.fabric.oversubscription"?)");
  EXPECT_EQ(cure_of("serving.requests.request_rate", "8"),
            R"(did you mean "serving.requests.rate_per_s"?)");
}

TEST(NamesElsewhere, OfWhatFollowsGiveTheRule) {
  EXPECT_NE(cure_of("workload.gradient_accumulation_steps", "4").find("workload.global_batch / ("),
            std::string::npos);
  EXPECT_NE(cure_of("cluster.gpus", "4").find("cluster.nodes * "), std::string::npos);
}

TEST(NamesElsewhere, AFieldOfThatNameInAnotherSectionComesFirst) {
  EXPECT_EQ(cure_of("dtype", "bf16"), R"(did you mean "serving.dtype"?)");
  EXPECT_EQ(cure_of("workload.dtype", "bf16"), R"(did you mean "workload.precision"?)");
}

TEST(NamesElsewhere, ADeviceInPlaceOfANodeIsToldItsNode) {
  for (const char* path : {"cluster", "cluster.preset"}) {
    const std::string cure = cure_of(path, "l40s");
    EXPECT_NE(cure.find("cluster.preset=pcie-8 and cluster.device=l40s"), std::string::npos)
        << cure;
  }
  EXPECT_NE(cure_of("cluster", "h200-sxm").find("cluster.preset=hgx-h200"), std::string::npos);
  EXPECT_EQ(cure_of("cluster", "dgx-h1000").find("is a device"), std::string::npos);
}

TEST(NamesElsewhere, AnInstanceOfACloudIsToldItsNode) {
  for (const char* path : {"cluster", "cluster.preset"}) {
    EXPECT_EQ(cure_of(path, "p5.48xlarge"), R"(did you mean "aws-p5"?)");
    EXPECT_EQ(cure_of(path, "p4d.24xlarge"), R"(did you mean "aws-p4d"?)");
    EXPECT_EQ(cure_of(path, "p6-b200.48xlarge"), R"(did you mean "aws-p6-b200"?)");
    EXPECT_EQ(cure_of(path, "a3-highgpu-8g"), R"(did you mean "gcp-a3-high"?)");
    EXPECT_EQ(cure_of(path, "a3-ultragpu-8g"), R"(did you mean "gcp-a3-ultra"?)");
    EXPECT_EQ(cure_of(path, "Standard_ND96isr_H100_v5"), R"(did you mean "hgx-h100"?)");
  }
  EXPECT_EQ(cure_of("cluster", "m5.large").find("aws-"), std::string::npos);
}

TEST(NamesElsewhere, ValuesLeadToTheirField) {
  EXPECT_EQ(cure_of("serving.weights", "awq"), "did you mean serving.weights=int4?");
  EXPECT_EQ(cure_of("serving.weights", "fp8"), "did you mean serving.products=fp8?");
  EXPECT_EQ(cure_of("workload.precision", "fp8"), "did you mean workload.precision.matmul=fp8?");
  EXPECT_EQ(cure_of("strategy.context", "p2p"), "did you mean strategy.context=ring?");
  EXPECT_EQ(cure_of("strategy.expert_dispatch", "deepep"), "did you mean kernels.exchange=deepep?");
  EXPECT_EQ(cure_of("workload.precision", "fp7").find("matmul"), std::string::npos);
}

}  // namespace plait::names_elsewhere_test
