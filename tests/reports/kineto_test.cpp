// The reader of torch.profiler's traces, on small ones with the fields that real ones have.
#include "reports/profile/kineto.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "reports/profile/measured_profile.h"

namespace plait::kineto_test {

// One kernel of NCCL's with c10d's metadata, one product, a copy, their launches and a step.
constexpr const char* kTrace = R"json({
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 84929347584, "numSms": 132},
    {"id": 1, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 84929347584, "numSms": 132}
  ],
  "cupti_version": 22, "with_stack": 1, "record_shapes": 0,
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 16, "pg_count": 1,
                      "pg_config": [{"pg_name": "0", "pg_size": 16, "ranks": [0, 1]}]},
  "traceEvents": [
  {"ph": "M", "name": "process_name", "ts": 198093488368.463, "pid": 0, "tid": 0,
   "args": {"name": "python", "correlation": 77}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#12", "pid": 1000, "tid": 1000,
   "ts": 198093488368.463, "dur": 5000.5, "args": {"External id": 1, "Ev Idx": 0}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1000, "tid": 1000,
   "ts": 198093488369.000, "dur": 30,
   "args": {"External id": 2, "Input Dims": [[4, 8], [8, 2]], "Input type": ["c10::BFloat16"]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1000, "tid": 1000,
   "ts": 198093488370.125, "dur": 4.5, "args": {"External id": 2, "cbid": 211, "correlation": 41}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamIsCapturing", "pid": 1000, "tid": 1000,
   "ts": 198093488375, "dur": 1, "args": {"cbid": 317, "correlation": 42}},
  {"ph": "X", "cat": "kernel", "name": "nvjet_hsh_64x8_64x16_4x1_v_bz_TNT", "pid": 0, "tid": 7,
   "ts": 198093488400.001, "dur": 20.250,
   "args": {"External id": 2, "queued": 0, "device": 0, "context": 1, "stream": 7,
            "correlation": 41, "registers per thread": 128, "grid": [8, 12, 1],
            "block": [128, 1, 1], "est. achieved occupancy %": 5}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                     "pid" : 0, "tid" : 20, "ts" : 198093488401, "dur" : 100, "args" : {
  "External id" : 3, "device" : 0, "stream" : 20, "correlation" : 43,
      "Collective name" : "_allgather_base",
                          "In msg nelems" : 512,
                          "Out msg nelems" : 8192,
                          "Group size" : 16,
                          "dtype" : "BFloat16",
                                    "In split size" : "[]",
                                                      "Process Group Name" : "1",
                                                                             "Process Group Ranks"
      : "[0, 1, ..., 15]"
}
},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7,
   "ts": 198093488501.5, "dur": 2, "args": {"device": 0, "stream": 7, "bytes": 4096}},
  {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1,
   "ts": 198093488501, "args": {"Total Allocated": 12}},
  {"ph": "s", "id": 41, "pid": 1000, "tid": 1000, "ts": 198093488370.125, "cat": "ac2g", "name": "ac2g"}
  ],
  "traceName": "rank3.pt.trace.json"
})json";

class Kineto : public testing::Test {
 protected:
  Kineto() {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("kineto_") + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~Kineto() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& text, const std::string& name = "trace.json") {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  KinetoTrace read(const std::string& text) { return read_kineto(file(text)); }
  /// Code and problem.
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const InputError& e) {
      return e.text().code + ": " + e.text().problem;
    }
    return "";
  }

  std::filesystem::path folder_;
};

TEST_F(Kineto, KnowsTheMachineAndTheRank) {
  const KinetoTrace t = read(kTrace);
  ASSERT_EQ(t.gpus.size(), 2);
  EXPECT_EQ(t.gpus[1].id, 1);
  EXPECT_EQ(t.gpus[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(t.gpus[0].sms, 132);
  EXPECT_EQ(t.rank, 3);
  EXPECT_EQ(t.world_size, 16);
  EXPECT_TRUE(t.with_stack);
  EXPECT_FALSE(t.record_shapes);
  EXPECT_EQ(t.read, 10);
}

TEST_F(Kineto, KeepsWhatRanOnTheDeviceToTheNanosecond) {
  const KinetoTrace t = read(kTrace);
  ASSERT_EQ(t.events.size(), 3);
  EXPECT_EQ(t.events[0].start_ns, 198093488400001);
  EXPECT_EQ(t.events[0].end_ns, 198093488420251);
  EXPECT_EQ(t.names[t.events[0].name], "nvjet_hsh_64x8_64x16_4x1_v_bz_TNT");
  EXPECT_EQ(t.events[0].correlation, 41);
  EXPECT_EQ(t.events[2].work, TraceWork::kMemcpy);
  EXPECT_EQ(t.events[2].start_ns, 198093488501500);
}

TEST_F(Kineto, TimesSince1970KeepAllDigits) {
  const KinetoTrace t =
      read(R"([{"ph": "X", "cat": "kernel", "name": "k", "ts": 1689861288825108.123,
                                  "dur": 0.001, "args": {"device": 0}}])");
  EXPECT_EQ(t.events.at(0).start_ns, 1689861288825108123);
  EXPECT_EQ(t.events.at(0).end_ns, 1689861288825108124);
}

TEST_F(Kineto, KnowsCollectivesByTheirMetadata) {
  const KinetoTrace t = read(kTrace);
  ASSERT_EQ(t.events[1].call, 0);
  EXPECT_EQ(t.calls.at(0), (TraceCall{"_allgather_base", "BFloat16", 512, 8192, 16}));
  EXPECT_EQ(t.calls[0].bytes(), 8192 * 2);
  EXPECT_EQ(t.events[0].call, -1);
}

TEST_F(Kineto, KeepsLaunchesAndSteps) {
  const KinetoTrace t = read(kTrace);
  ASSERT_EQ(t.launches.size(), 1);
  EXPECT_EQ(t.launches[0].correlation, 41);
  EXPECT_EQ(t.launches[0].end_ns - t.launches[0].start_ns, 4500);
  ASSERT_EQ(t.steps.size(), 1);
  EXPECT_EQ(t.steps[0].number, 12);
  EXPECT_EQ(t.steps[0].end_ns - t.steps[0].start_ns, 5000500);
  EXPECT_TRUE(t.device_steps.empty());
}

TEST_F(Kineto, SizesOfUnknownTypesAreNotGuessed) {
  EXPECT_EQ((TraceCall{"allreduce", "Float8_e4m3fn", 10, 10, 2}.bytes()), 10);
  EXPECT_EQ((TraceCall{"allreduce", "Float", 10, 10, 2}.bytes()), 40);
  EXPECT_EQ((TraceCall{"allreduce", "Whatever", 10, 10, 2}.bytes()), 0);
  EXPECT_EQ((TraceCall{"barrier", "Float", -1, -1, 2}.bytes()), 0);
}

TEST_F(Kineto, EveryCutIsRefused) {
  const std::string whole = kTrace;
  for (std::size_t size = 1; size + 1 < whole.size(); size += 37) {
    const std::string said = refusal(whole.substr(0, size));
    EXPECT_TRUE(said.starts_with("K01")) << size << " " << said;
  }
  EXPECT_NE(refusal(whole.substr(0, 3000)).find("in the middle"), std::string::npos);
  EXPECT_TRUE(refusal(whole + "}").starts_with("K011"));
}

TEST_F(Kineto, OtherFilesAreNamed) {
  EXPECT_EQ(refusal(""), "K010: the file holds nothing");
  EXPECT_EQ(refusal("rank,time\n"), "K010: the file holds no JSON");
  EXPECT_EQ(refusal(std::string("SQLite format 3\0", 16)),
            "K010: the file holds a database, as nsys export writes it");
  EXPECT_EQ(refusal(R"({"otherData": {"scenario_sha256": "ab"}, "traceEvents": []})"),
            "K010: the file holds a timeline that plait run --trace wrote");
  EXPECT_EQ(refusal(R"({"steps_s": [1], "step_time_s": 1})"),
            "K010: the file holds a measurement of plait realrun");
  EXPECT_EQ(refusal(R"({"model": "llama", "workload": {}})"), "K010: the file holds a scenario");
  EXPECT_EQ(refusal(R"({"schema": "1.1.1-chakra.0.0.4", "nodes": []})"),
            "K010: the file holds an execution trace, which has no times of kernels");
  EXPECT_EQ(refusal(R"({"traceEvents": []})"),
            "K010: the file holds a trace without any event, as its list of traceEvents is empty");
  EXPECT_EQ(refusal("{}"), "K010: the file holds JSON without a list of traceEvents");
  EXPECT_EQ(refusal(R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op"}]})"),
            "K012: 1 events, and none of them ran on a GPU");
}

TEST_F(Kineto, KernelsAndStepsWithoutATimeAreNamed) {
  const auto with = [](const std::string& times, const char* category = "kernel") {
    return R"({"traceEvents": [{"ph": "M"}, {"ph": "X", "cat": ")" + std::string(category) +
           R"(", "name": "k", )" + times + "}]}";
  };
  const std::string start = R"(K011: event 2 ("k") has no time in "ts")",
                    duration = R"(K011: event 2 ("k") has no time in "dur")";
  EXPECT_EQ(refusal(with(R"("ts": "12", "dur": 3)")), start);
  EXPECT_EQ(refusal(with(R"("ts": null, "dur": 3)")), start);
  EXPECT_EQ(refusal(with(R"("ts": 12, "dur": -3)")), duration);
  EXPECT_EQ(refusal(with(R"("ts": 12, "dur": "3")")), duration);
  EXPECT_EQ(refusal(with(R"("ts": 12)")), duration);
  // Operators and calls of the runtime may be cut at the end of a profile.
  EXPECT_EQ(refusal(with(R"("ts": 12, "dur": -3)", "cpu_op")),
            "K012: 2 events, and none of them ran on a GPU");
}

/// Whatever becomes of some bytes, the trace is read or refused.
RC_GTEST_FIXTURE_PROP(Kineto, SpoiltTracesAreReadOrRefused, ()) {
  std::string text = kTrace;
  const std::string bytes = R"(0123456789.-eE{}[]",:\ntru l)";
  for (int n = *rc::gen::inRange(1, 6); n > 0; --n) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const std::string with(*rc::gen::inRange<std::size_t>(0, 20), *rc::gen::elementOf(bytes));
    text.replace(at, *rc::gen::inRange<std::size_t>(0, 3), with);
  }
  try {
    const KinetoTrace trace = read(text);
    const TraceSteps steps = steps_of(trace, *rc::gen::element<std::int64_t>(1, 7));
    RC_ASSERT(measured_profile(trace, steps).step.step_s > 0);
    RC_ASSERT(measured_profile(trace, steps_of(trace)).step.step_s > 0);
  } catch (const InputError& e) {
    RC_ASSERT(e.text().code.starts_with("K01"));
  }
}

TEST_F(Kineto, MissingFilesAndDirectories) {
  EXPECT_THROW(read_kineto((folder_ / "none.json").string()), InputError);
  EXPECT_THROW(read_kineto(folder_.string()), InputError);
}

}  // namespace plait::kineto_test
