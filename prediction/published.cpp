#include "prediction/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "model/iteration_flops.h"
#include "prediction/costs.h"
#include "prediction/prediction.h"
#include "reports/human.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

/// PyTorch's allocator knows tensors and workspaces, and reserves more; the driver knows all.
bool counts(MemoryStatistic statistic, const MemoryItem& item) {
  switch (statistic) {
    case MemoryStatistic::kDevice: return true;
    case MemoryStatistic::kReserved:
      return item.name != "cuda_context" && item.name != "communicator_buffers";
    case MemoryStatistic::kAllocated:
      return item.name != "cuda_context" && item.name != "communicator_buffers" &&
             item.name != "allocator_reserve" && item.name != "stream_pools";
  }
  return false;
}

/// Bytes as the record's statistic counts them, on the stage that it was taken on.
double memory_bytes(const Reported& p, const Measured& measured) {
  double most = 0;
  for (const StageUse& use : p.memory) {
    auto bytes = static_cast<double>(use.live.peak.value);
    for (const MemoryItem& item : use.overheads) {
      if (counts(measured.memory_statistic, item)) bytes += static_cast<double>(item.bytes.value);
    }
    most = measured.memory_of_last_rank ? bytes : std::max(most, bytes);
  }
  return most;
}

/// Of the work that reports count, what the record's rates count.
double counted_work(const PublishedRun& run, const Scenario& s) {
  if (!run.measured.half_squares) return 1;
  const std::int64_t seq = s.workload.sequence_length, batch = s.workload.global_batch;
  return needed_flops_per_iteration(s.model, seq, batch) /
         megatron_flops_per_iteration(s.model, seq, batch);
}

void take_prediction(const PublishedRun& run, const Scenario& scenario, const Reported& p,
                     ValidationRecord& out) {
  const Report& r = p.report;
  out.layout = r.layout;
  out.predicted_s = r.step_time_s;
  out.fits = r.memory.fits;
  out.bound_by = r.bound_by;
  out.provenance = r.provenance;
  out.predicted_memory_bytes = memory_bytes(p, run.measured);
  if (out.measured_s) return;
  // Only a rate of work was published: the same work over that rate.
  const auto from_rate = [&](const std::optional<double>& rate, double predicted,
                             const char* name) {
    if (!rate || *rate <= 0 || out.measured_s) return;
    out.measured_s = r.step_time_s * predicted * counted_work(run, scenario) / *rate;
    out.measured_as = name;
  };
  from_rate(run.measured.hardware_tflops_per_gpu, r.hardware_tflops_per_gpu, "hardware TFLOP/s");
  from_rate(run.measured.model_tflops_per_gpu, r.model_tflops_per_gpu, "model TFLOP/s");
  from_rate(run.measured.mfu, r.mfu, "MFU");
  from_rate(run.measured.hfu, r.hfu, "HFU");
}

/// TFLOP/s that no step reaches: twice the fastest dense peak of the devices, as formulas count the
/// masked half of attention too.
double most_tflops(const Cluster& cluster) {
  double out = 0;
  for (std::size_t k = 0; k < cluster.kinds(); ++k) {
    const Device& d = cluster.kind(k).device;
    for (const FlopsPerSecond peak :
         {d.peak_fp32, d.peak_bf16, d.peak_fp16, d.peak_fp8, d.peak_fp4}) {
      out = std::max(out, 2 * peak.value / 1e12);
    }
  }
  return out;
}

/// What no machine does is taken for another unit, and counts nowhere; a time that is far off is
/// told.
void doubt_units(const Scenario& scenario, const Report& r, ValidationRecord& out) {
  constexpr double kFarOff = 100, kMemory = 1.25;
  const double most = most_tflops(scenario.cluster);
  if (out.measured_s) {
    const double times = *out.measured_s / r.step_time_s;
    const double tflops = r.model_tflops_per_gpu / times;
    if (tflops > most) {
      out.assumed.push_back(fmt::format(
          "not counted: a measured {} that makes {:.3g} TFLOP/s of each GPU, of {:.0f} at most: in "
          "another unit?",
          out.measured_as, tflops, most));
      out.measured_s.reset();
    } else if (times > kFarOff) {
      out.assumed.push_back(
          fmt::format("measured: {:.0f} times as long as predicted: in another unit?", times));
    }
  }
  const auto capacity = static_cast<double>(r.memory.capacity_bytes);
  if (!out.measured_memory_bytes || *out.measured_memory_bytes <= kMemory * capacity) return;
  out.assumed.push_back(
      fmt::format("not counted: a measured memory of {}, where a GPU has {}: in another unit?",
                  human_bytes(static_cast<std::int64_t>(*out.measured_memory_bytes)),
                  human_bytes(r.memory.capacity_bytes)));
  out.measured_memory_bytes.reset();
}

ValidationRecord measured_of(const PublishedRun& run) {
  ValidationRecord out;
  out.id = run.id;
  out.tier = run.tier;
  out.model = run.model.name;
  out.cluster = fmt::format("{} x {}", run.gpus, run.gpu);
  out.group = fmt::format("{} {} {} {} {}", run.model.name, run.model.sequence_length, run.gpu,
                          run.gpus, run.global_batch);
  out.sequences = static_cast<double>(std::max<std::int64_t>(1, run.global_batch));
  out.measured_s = run.measured.step_s;
  out.measured_as = "time";
  out.measured_oom = run.measured.out_of_memory;
  out.says_memory = run.measured.says_memory;
  out.measured_memory_bytes = run.measured.memory_bytes;
  if (run.measured.memory_bytes) out.memory_statistic = name_of(run.measured.memory_statistic);
  return out;
}

/// A scenario's name is its record's id: repeats of one run are equal but for it.
std::string without_name(std::string scenario, const std::string& id) {
  const std::string name = json_quote(id);
  if (const std::size_t at = scenario.find(name); at != std::string::npos) {
    scenario.erase(at, name.size());
  }
  return scenario;
}

/// Behind a reason, as it may be the cause: "; not read: parallel.tp (0 is no number above 0)".
std::string unread_of(const PublishedRun& run) {
  std::string out;
  for (const std::string& member : run.unread) out += "; not read: " + member;
  return out;
}

/// Does a part of the work on a record. Whether it could be done; else `out` has the reason.
bool done(const PublishedRun& run, ValidationRecord& out, const std::function<void()>& part) {
  try {
    part();
  } catch (const NotRepresentable& why) {
    out.reason = why.what() + unread_of(run);
  } catch (const InputError& error) {
    out.reason = fmt::format("{}: {}{}", error.text().code, error.text().problem, unread_of(run));
  } catch (const std::exception& bug) {  // the other records can be predicted all the same
    out.reason = fmt::format("a bug in plait, please report it: {}", bug.what());
  }
  return out.reason.empty();
}

}  // namespace

ValidationRecord published_prediction(
    const PublishedRun& run, const std::function<void(const std::string& scenario)>& described) {
  ValidationRecord out = measured_of(run);
  if (out.reason = run.refused; !out.reason.empty()) return out;
  RecordScenario made;
  if (!done(run, out, [&] { made = scenario_of(run); })) return out;
  out.framework = made.framework;
  out.assumed = std::move(made.assumed);
  out.scenario = without_name(made.json, out.id);
  described(made.json);
  done(run, out, [&] {
    const Scenario scenario = parse_scenario(made.json, out.id);
    const Reported predicted = report_of(scenario, costs_of(scenario), {});
    std::ranges::move(printed(scenario.warnings), std::back_inserter(out.assumed));
    take_prediction(run, scenario, predicted, out);
    doubt_units(scenario, predicted.report, out);
  });
  return out;
}

}  // namespace plait
