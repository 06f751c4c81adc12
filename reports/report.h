#pragma once
// The answer: plain numbers and strings, made from what was asked (model, workload, strategy,
// cluster), what was planned and what was predicted. Each writer (text, json, csv) only lays out a
// Report; nothing is computed twice. Units are in the names: seconds, bytes, and TFLOP/s where a
// name says tflops.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "core/warning.h"
#include "costmodel/costmodel.h"
#include "costmodel/node_use.h"
#include "costmodel/stage_use.h"
#include "plan/explanation.h"
#include "plan/memory.h"
#include "plan/step_counts.h"
#include "topologies/cluster.h"

namespace plait {

/// One distinct collective of the plan, and how NCCL would run it.
struct ChosenCollective {
  Collective op;
  GroupPlacement group;
  CollectiveCost cost;
};

/// Shares of the predicted busy time by where its numbers come from (index: Provenance; they sum
/// to 1), and the half-width of the relative error band of their sum.
struct ProvenanceShares {
  std::array<double, 4> share = {};
  double band = 0;
};

/// What identifies a run, so that it can be repeated.
struct RunFacts {
  std::string version, revision;
  std::string scenario;         // name of the scenario
  std::string scenario_sha256;  // of its canonical JSON
  std::string command;          // the command line
  Warnings warnings;
};

/// What one kind of traffic lost on one class of links, because it shared them.
struct ContentionLine {
  std::string link;                  // the first of the class
  std::string link_class;            // "infiniband"
  std::int64_t links = 1;            // of the class
  double bandwidth_bytes_per_s = 0;  // of one
  std::string traffic;               // "all_gather over fsdp (ring)"
  std::vector<std::string> with;     // what else was there; itself: several groups of it
  double time_s = 0;                 // in which it was held up
  double lost_s = 0;                 // of this, the delay
};

struct StepTimes {
  SimTime step = 0;    // where one follows another (plan/steady_step.h)
  SimTime hidden = 0;  // by how much its timeline is longer: waits at its ends
};

/// The whole training, of which the report's step is one (sim/training_time.h): expectations.
struct TrainingReport {
  double tokens = 0;
  std::int64_t steps = 0;
  double total_s = 0;  // the next four together
  double steps_s = 0, lost_s = 0, restarts_s = 0, checkpoints_s = 0;
  double goodput() const { return steps_s / total_s; }
  double failures = 0;
  double machine_mtbf_s = 0;  // 0: it does not fail
  double restart_s = 0;       // with reading the checkpoint
  std::int64_t checkpoints = 0, checkpoint_bytes = 0;
  std::int64_t checkpoint_interval_steps = 0;
  double checkpoint_interval_s = 0;
  double checkpoint_stall_s = 0;  // that training stands still for one
  double checkpoint_write_s = 0;  // and it is written beside training
  double price = 0;               // of all devices for all that time; 0: not said
  double energy_kwh = 0;          // the same at their rated power; 0: of one it is not known
};

struct ReportInputs {
  const Model& model;
  const Workload& workload;
  const Strategy& strategy;
  const Plan& plan;
  StepCounts counts;  // of the step
  const Cluster& cluster;
  StepTimes times;
  const Explanation& explanation;
  const std::vector<StageUse>& memory;  // one per stage
  const std::vector<ChosenCollective>& collectives;
  const std::vector<ContentionLine>& contention;  // the most time lost first
  ProvenanceShares provenance;
  RunFacts run;
  std::string placement = {};        // in words; "": rank r on device r
  double price_per_device_hour = 0;  // 0: not said
  NodeUse node = {};                 // host memory and drives
  std::string calibration = {};      // name and date; "": none
};

struct ReportShare {
  std::string group, name;  // as in plan/explanation.h
  double time_s = 0;
  double fraction = 0;  // of the step time
};

struct MemoryLine {
  std::string name;  // a tensor class ("weight") or an overhead ("cuda_context")
  std::int64_t bytes = 0;
  std::string source;  // of an overhead; empty for live tensors, which are exact
};

struct PeakTensor {
  std::string name, kind;
  std::int64_t count = 0, bytes = 0;  // members live at the peak, and bytes of all of them
};

/// The fullest rank at its fullest moment.
struct MemoryReport {
  bool fits = false;
  std::int64_t peak_memory_bytes = 0, capacity_bytes = 0;
  std::int64_t rank = 0, stage = 0;
  std::string device = {};                // of that rank, where devices differ
  std::vector<MemoryLine> items;          // sum to peak_memory_bytes
  std::vector<PeakTensor> largest;        // live tensors, largest first
  std::vector<std::int64_t> stage_bytes;  // peak of every stage, overheads included
  /// With parameter servers: "worker", "server" or "worker_and_server", and its live tensors.
  std::vector<std::pair<std::string, std::int64_t>> roles;
  /// Of the fullest node: in host memory, what that has (0: not described), and on drives.
  std::int64_t host_bytes = 0, host_capacity_bytes = 0, storage_bytes = 0;
  bool host_fits() const { return host_capacity_bytes == 0 || host_bytes <= host_capacity_bytes; }
  std::int64_t free_bytes() const { return capacity_bytes - peak_memory_bytes; }
};

struct SensitivityLine {
  std::string resource;
  double time_s = 0;  // of the critical path, spent on this resource
  /// Relative change of the step time when the rate is 10 % higher (or the latency 10 % lower).
  double change_for_ten_percent = 0;
};

struct CollectiveLine {
  std::string kind, axes, algorithm, protocol;
  std::int64_t bytes = 0, ranks = 1, nodes = 1;
  std::int64_t calls = 0;  // per step, on the rank that makes the most
  double time_s = 0;       // of one call
};

struct Report {
  RunFacts run;
  std::string model, cluster, layout;
  std::string fabric;     // in words: its levels and what they leave; "": one node
  std::string placement;  // in words; "": rank r on device r
  Mesh mesh;
  std::vector<std::int64_t> stage_tp;     // of every stage, where they differ; mesh has the largest
  std::int64_t workers = 0, servers = 0;  // with parameter servers: of mesh's dp
  std::int64_t world_size = 0;
  double step_time_s = 0;
  double tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  double model_tflops_per_gpu = 0, hardware_tflops_per_gpu = 0;
  /// In the currency of cluster.price_per_device_hour; 0 without one.
  double price_per_step = 0, price_per_billion_tokens = 0;
  double mfu = 0, hfu = 0;  // of the dense peak below
  /// MFU where of each causal square the half below the diagonal counts; 0: without such squares,
  /// or with documents.
  double mfu_of_half_squares = 0;
  /// That is so much less that tables and pages say both.
  bool counts_whole_squares() const {
    return mfu_of_half_squares > 0 && mfu_of_half_squares < 0.8 * mfu;
  }
  double peak_flops_per_gpu_tflops = 0;  // dense, for `peak_flops_dtype`; mean of the devices
  std::string peak_flops_dtype;
  std::vector<ReportShare> breakdown, critical_path;
  std::string bound_by;
  std::vector<SensitivityLine> sensitivity;  // the most rewarding first
  MemoryReport memory;
  std::vector<CollectiveLine> collectives;  // the most time-consuming first
  std::vector<ContentionLine> contention;   // with the flow network; the most time lost first
  ProvenanceShares provenance;
  std::string calibration;                 // name and date of that which durations are by; "": none
  std::optional<TrainingReport> training;  // where the scenario describes it
};

Report summarize(const ReportInputs& in);

/// The memory part alone; `memory` has one entry per stage.
MemoryReport summarize_memory(const Plan& plan, const Cluster& cluster,
                              const std::vector<StageUse>& memory, const NodeUse& node = {});

/// "worker", "server" or "worker_and_server".
std::string role_name(Role role);

/// Live tensors by class, then overheads.
std::vector<MemoryLine> memory_items(const StageUse& use);

/// "tp 8, pp 16, dp 128, interleaved 1f1b with 2 chunks, sequence parallel, zero 1, ..."
std::string layout_text(const Strategy& strategy);
/// "16,384 x h100-sxm, 2,048 nodes of 8"
std::string cluster_text(const Cluster& cluster);
/// "ndr400, rail-optimised tree of 2 levels of switches, 1 : 1 at leafs"; "" of one node.
std::string fabric_text(const Cluster& cluster);

/// Plan::model_flops, what is not needed and what is recomputed, over all ranks, by one convention
/// (Narayanan et al. 2021: the whole attention square counts, causal or not): the numerator of HFU.
Flops hardware_flops(const Plan& plan);

/// Seconds of a group ("bubble") in a breakdown.
double group_time(const std::vector<ReportShare>& shares, const std::string& group);

/// A group of a report's breakdown in words: "exposed communication"; kWaiting for a "bubble"
/// without stages.
std::string group_words(const Report& report, const std::string& group);

/// True when both predict the same numbers, whatever they are called and wherever the numbers of
/// the cost model come from.
bool same_prediction(const Report& a, const Report& b);

}  // namespace plait
