#pragma once
// A rank's profile beside its prediction: shares of the step, device time by kind, communication by
// size, and what of it says that the scenario is not of this run.

#include <string>
#include <vector>

#include "model/kernels.h"
#include "plan/timeline.h"
#include "reports/profile/measured_profile.h"
#include "reports/report.h"
#include "reports/terminal.h"

namespace plait {

/// A share of the step, where it adds up: a kind that computes, "exposed_communication", "copy" or
/// "idle".
struct ProfileShare {
  std::string name;
  double measured_s = 0, predicted_s = 0;
  double difference_s() const { return predicted_s - measured_s; }
};

/// Communication of one kind, group and size on both sides; calls of the side that has none are 0.
struct MatchedMessage {
  MessageUse measured, predicted;
  const MessageUse& either() const { return measured.calls > 0 ? measured : predicted; }
};

struct ProfileComparison {
  RunFacts run;
  std::string cluster, layout;
  std::string trace, gpu;  // file; name of the device, "" where the trace has none
  std::int64_t rank = 0, stage = 0, world_size = 0;  // of the plan
  std::vector<std::int64_t> steps, left_out;         // numbers of whole and of incomplete steps
  std::int64_t as_many = 1;                          // the trace as a whole, taken as so many steps
  MeasuredProfile measured;
  StepProfile predicted;
  std::vector<ProfileShare> shares;      // the largest difference first
  std::vector<MatchedMessage> messages;  // the longest first
  std::vector<std::string> notes;        // sentences
  bool fused_attention = true;           // of the plan
};

struct ProfileInputs {
  const KinetoTrace& trace;
  const TraceSteps& steps;
  const Plan& plan;
  const Cluster& cluster;
  const Track& track;  // of the rank's class
  std::int64_t rank = 0;
  const Kernels& kernels;
  const Report& report;
};

ProfileComparison compare_profile(const ProfileInputs& in);

/// predicted / measured - 1 of the step.
double step_difference(const ProfileComparison& c);

/// "the prediction is 12.0 % too fast: ...", in words.
std::string profile_verdict(const ProfileComparison& c);

/// What in a trace says that the scenario is of another run, and what the reader should know.
std::vector<std::string> profile_notes(const ProfileInputs& in, const ProfileComparison& c);

std::string profile_text(const ProfileComparison& c, const TerminalStyle& style);
std::string profile_json(const ProfileComparison& c);
/// One row per kind.
std::string profile_csv(const ProfileComparison& c);

}  // namespace plait
