#include "model/measurement.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace plait::measurement_test {

std::vector<Row> one_of_each() {
  RunRow run;
  run.bench = "compute", run.processor = "a \"cpu\"", run.cores = 2, run.jitter = 0.25;
  KernelRow kernel;
  kernel.op = Fill{12, DType::kFp32};
  kernel.repeats = 5, kernel.calls = 3, kernel.switches = 1;
  kernel.wall = {1.5, 1, 2}, kernel.cpu = {1.0 / 3, 0.25, 0.5};
  CopyRow copy;
  copy.what = "combine", copy.bytes = 4096, copy.cpu.median = 1e-7, copy.bandwidth = 1e10;
  LaunchRow launch;
  launch.how = "graph", launch.kernels = 64, launch.wall = {2e-6, 1e-6, 3e-6};
  OverlapRow overlap;
  overlap.op = Fill{12, DType::kFp32}, overlap.transport = "nccl";
  overlap.communication = "all_reduce", overlap.ranks = 8, overlap.size = 1 << 25;
  overlap.covered = true, overlap.compute_beside = {1.25e-3, 1e-3, 1.5e-3};
  GpuRow gpu;
  gpu.at = "start", gpu.sm_clock_mhz = 1980, gpu.power_w = 500.5, gpu.throttled = "0x4";
  MessageRow message;
  message.transport = "threads", message.bytes = 8, message.send_cpu = {1, 2, 3};
  WakeRow wake;
  wake.transport = "tcp", wake.repeats = 9, wake.wall = {2e-5, 1e-5, 3e-5};
  CollectiveRow collective;
  collective.transport = "tcp", collective.collective = "all_reduce", collective.ranks = 4;
  collective.size = 1024, collective.count = 256, collective.redop = "sum";
  collective.in_place = {10, 0.1, 0.15};
  EndRow end;
  end.stolen = 0.125, end.quiet = "noisy: 12 % stolen";
  return {run, kernel, copy, launch, overlap, gpu, message, wake, collective, end};
}

TEST(Measurement, EveryKindOfRowComesBackWhole) {
  const std::vector<Row> rows = one_of_each();
  ASSERT_EQ(rows.size(), std::variant_size_v<Row>);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string text = to_json(rows[i]);
    const Row back = row_from(parse_json(text, "test").root());
    EXPECT_EQ(back.index(), i);
    EXPECT_EQ(to_json(back), text);
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(Measurement, RowsWrittenByHandSayLittle) {
  const std::vector<Row> rows = parse_rows(
      R"({"kind":"run","bench":"compute","processor":"NVIDIA H100 80GB HBM3","quiet":"quiet"}
{"kind":"kernel","op":{"op":"fill","dtype":"fp32","elements":12},"cpu_s":{"median":0.5}}
)",
      "hand.jsonl");
  EXPECT_EQ(std::get<KernelRow>(rows[1]).cpu.median, 0.5);
  EXPECT_EQ(std::get<KernelRow>(rows[1]).calls, 1);
  for (const char* row : {R"({"kind":"run","bench":"compute","quiet":"quiet"})",
                          R"({"kind":"kernel","cpu_s":{"median":1}})"}) {
    EXPECT_THROW(row_from(parse_json(row, "test").root()), InputError) << row;
  }
}

TEST(Measurement, ResultsAreNoPartOfTheIdentity) {
  for (const Row& row : one_of_each()) {
    for (const Row& other : one_of_each()) {
      EXPECT_EQ(identity_of(row) == identity_of(other), row.index() == other.index());
    }
  }
  KernelRow fast, slow;
  fast.op = slow.op = Fill{12, DType::kFp32};
  slow.cpu.median = 1;
  EXPECT_EQ(identity_of(fast), identity_of(slow));
  slow.op = Fill{13, DType::kFp32};
  EXPECT_NE(identity_of(fast), identity_of(slow));
}

std::string file_of(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += to_json(row) + "\n";
  return text;
}

TEST(Measurement, AFileIsItsWholeLines) {
  const std::string text = file_of(one_of_each());
  EXPECT_EQ(parse_rows(text, "raw").size(), std::variant_size_v<Row>);
  EXPECT_EQ(parse_rows(text + R"({"kind":"ker)", "raw").size(), std::variant_size_v<Row>);
}

TEST(Measurement, BlankLinesSayNothing) {
  const std::string text = file_of(one_of_each());
  const std::size_t second = text.find('\n') + 1;
  for (const std::string& blank : {text + "\n", text + " \r\n", "\n" + text,
                                   text.substr(0, second) + "\n" + text.substr(second)}) {
    EXPECT_EQ(parse_rows(blank, "raw").size(), std::variant_size_v<Row>);
  }
}

InputError::Text row_refusal(const std::string& text) {
  try {
    parse_rows(text, "raw.jsonl");
  } catch (const InputError& e) {
    return e.text();
  }
  return {};
}

TEST(Measurement, ErrorsNameTheLine) {
  const std::string good = file_of(one_of_each());
  const auto lines = static_cast<int>(std::variant_size_v<Row>);
  const InputError::Text wrong = row_refusal(good + R"({"kind":"end","stolen":"much","quiet":""})"
                                                    "\n");
  EXPECT_EQ(wrong.code, "F003");
  EXPECT_EQ(wrong.where.line, lines + 1);
  EXPECT_EQ(wrong.where.file, "raw.jsonl");
  EXPECT_EQ(row_refusal(good + "{\n").where.line, lines + 1);
  EXPECT_EQ(row_refusal(good + R"({"kind":"end","stolen":0})"
                               "\n")
                .code,
            "F002");
  EXPECT_EQ(row_refusal(good + R"({"kind":"End"})"
                               "\n")
                .code,
            "F004");
  EXPECT_EQ(row_refusal(good + R"({"kind":"end","stolen":0,"quiet":"","x":1})"
                               "\n")
                .code,
            "F001");
}

TEST(Measurement, AKernelTakesTime) {
  const std::string row =
      R"({"kind":"kernel","op":{"op":"fill","elements":8,"dtype":"fp32"},"cpu_s":{"median":)";
  const std::string run = R"({"kind":"run","bench":"compute","processor":"x","quiet":"quiet"})";
  EXPECT_EQ(parse_rows(run + "\n" + row + "1e-9}}\n", "raw").size(), 2U);
  const InputError::Text told = row_refusal(run + "\n\n" + row + "0}}\n");
  EXPECT_EQ(told.code, "U004");
  EXPECT_EQ(told.where.line, 3);
  EXPECT_EQ(told.expected, "a time above 0");
}

TEST(Measurement, AFileBeginsWithItsRun) {
  EXPECT_EQ(row_refusal("").code, "K003");
  EXPECT_EQ(row_refusal(to_json(Row(EndRow{})) + "\n").code, "K003");
  // Of another program, or of none.
  for (const char* text : {"[]\n", "{\"model\": \"tiny\"}\n",
                           "\x7f"
                           "ELF\n",
                           "a,b\n1,2\n"})
    EXPECT_EQ(row_refusal(text).code, "K003") << text;
}

}  // namespace plait::measurement_test
