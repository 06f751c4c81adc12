// Where DeepSpeed keeps what is not on devices.
#include "tests/scenarios/dialects/imported.h"

namespace plait::deepspeed_places_test {

using import_test::warnings;

// deepspeed/runtime/zero/offload_config.py: buffers and pipelines are those of drives.
TEST(ImportDeepSpeed, WhatIsNotReadOfAPlaceIsListed) {
  const auto said = [](const std::string& part) {
    return warnings(Dialect::kDeepSpeed, R"({"bf16": {"enabled": true}, "zero_optimization": {
        "stage": 3, "offload_optimizer": )" + part +
                                             "}}");
  };
  const std::string at = "zero_optimization.offload_optimizer.";
  EXPECT_EQ(said(R"({"device": "cpu", "pin_memory": true, "buffer_count": 4, "ratio": 1.0,
                     "pipeline_read": true, "super_offload": false})"),
            "");
  EXPECT_EQ(said(R"({"device": "cpu", "pin_memory": false, "super_offload": true,
                     "cpuadam_cores_perc": 0.9})"),
            "W007: not read: " + at + "pin_memory, " + at + "super_offload, " + at +
                "cpuadam_cores_perc\n");
  EXPECT_EQ(said(R"({"device": "nvme", "nvme_path": "/d", "pipeline_read": true,
                     "pipeline_write": false, "buffer_count": 8})"),
            "W007: not read: " + at + "pipeline_read, " + at + "buffer_count\n");
}

}  // namespace plait::deepspeed_places_test
