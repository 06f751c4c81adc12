#include "reports/stored_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/csv.h"
#include "reports/json.h"
#include "tests/reports/made_up.h"

namespace plait::stored_report_test {

/// With all that some reports have and others have not.
Report whole() {
  Report r = MadeUp().report();
  r.fabric = "ndr400, fat tree of one switch";
  r.placement = "tp, dp, pp";
  r.calibration = "box, 2026-01-02T03:04:05Z";
  r.mesh[Axis::kTp] = 2, r.mesh[Axis::kEtp] = 4;
  r.stage_tp = {4, 2};
  r.price_per_step = 0.25, r.price_per_billion_tokens = 68.4;
  r.mfu_of_half_squares = 0.375;
  r.critical_path.push_back({"bubble", "", 1e-7, 0});
  r.memory.roles = {{"worker", 300}, {"server", 200}};
  r.workers = 3, r.servers = 2;
  r.memory.host_bytes = 5000, r.memory.host_capacity_bytes = 6000, r.memory.storage_bytes = 7000;
  r.contention = {
      {"nic 0", "infiniband", 2, 50e9, "all_gather over fsdp (ring)", {"itself"}, 2, 1}};
  r.training = {.tokens = 6e9,
                .steps = 100,
                .total_s = 400,
                .steps_s = 300,
                .lost_s = 40,
                .restarts_s = 35,
                .checkpoints_s = 25,
                .failures = 1.5,
                .machine_mtbf_s = 250,
                .restart_s = 20,
                .checkpoints = 7,
                .checkpoint_bytes = 800,
                .checkpoint_interval_steps = 14,
                .checkpoint_interval_s = 42,
                .checkpoint_stall_s = 3.5,
                .checkpoint_write_s = 9,
                .price = 12,
                .energy_kwh = 13};
  r.run.warnings = {{"W001", "a field has no effect"}, {"W012", "the trace is large"}};
  return r;
}

TEST(StoredReport, IsWrittenAgainAsItWas) {
  for (const Report& fresh : {MadeUp().report(), whole()}) {
    const std::optional<Report> stored = report_from_json(to_json(fresh));
    ASSERT_TRUE(stored.has_value());
    EXPECT_EQ(to_json(*stored), to_json(fresh));
    EXPECT_EQ(to_csv(*stored), to_csv(fresh));
  }
}

/// Each key that a report has is read: with any other value it is put out with that.
TEST(StoredReport, EveryNumberIsTheFilesOwn) {
  const auto text = nlohmann::ordered_json::parse(to_json(whole()));
  const auto flat = text.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (!value.is_number_integer()) continue;
    const bool twice = pointer.ends_with("peak_memory_bytes") || pointer.ends_with("free_bytes");
    auto changed = text;
    changed[nlohmann::ordered_json::json_pointer(pointer)] = value.get<std::int64_t>() + 1;
    const std::optional<Report> stored = report_from_json(changed.dump());
    ASSERT_TRUE(stored.has_value()) << pointer;
    EXPECT_TRUE(twice || to_json(*stored) != to_json(whole())) << pointer;
  }
}

/// The parts of a group are 0.1 + 0.2 in another order than they were added in.
TEST(StoredReport, TotalsStayToTheLastDigit) {
  Report r = MadeUp().report();
  r.breakdown = {{"compute", "matmul", 0.1, 0},
                 {"compute", "norm", 0.2, 0},
                 {"compute", "", 0.7, 0},
                 {"compute", "matmul", 0.3, 0}};
  EXPECT_EQ(to_json(*report_from_json(to_json(r))), to_json(r));
}

TEST(StoredReport, WhatIsMissingIsNotMadeUp) {
  const std::optional<Report> r =
      report_from_json(R"({"step_time_s": 2, "mfu": null, "breakdown": {}, "world_size": 4})");
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->step_time_s, 2);
  EXPECT_FALSE(r->training.has_value());
  EXPECT_TRUE(r->breakdown.empty() && r->memory.items.empty());
}

TEST(StoredReport, OtherDocumentsAreNone) {
  for (const char* text :
       {"", R"({"model": "tiny"})", R"({"step_time_s": )", R"({"step_time_s": 1})",
        R"({"step_time_s": 1, "ranks": 4, "steps_s": [1]})"}) {
    EXPECT_FALSE(report_from_json(text).has_value()) << text;
  }
}

TEST(StoredReport, ReportsOfOtherTypesAreNone) {
  const std::string whole = R"("step_time_s": 1, "breakdown": {}, "world_size": 1})";
  ASSERT_TRUE(report_from_json("{" + whole).has_value());
  for (const char* wrong :
       {R"("step_time_s": "soon")", R"("world_size": 1e300)", R"("mesh": {"tp": 0})",
        R"("mesh": {"tp": 9223372036854775807})", R"("breakdown": {"compute": 7})",
        R"("memory": {"items": {"weight": 7}})", R"("run": {"warnings": [7]})"}) {
    auto changed = nlohmann::json::parse("{" + whole);
    changed.update(nlohmann::json::parse(std::string("{") + wrong + "}"));
    const std::string text = changed.dump();
    EXPECT_FALSE(report_from_json(text).has_value()) << text;
  }
}

}  // namespace plait::stored_report_test
