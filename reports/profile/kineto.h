#pragma once
// Reads what torch.profiler writes (export_chrome_trace, tensorboard_trace_handler): Kineto's
// Chrome trace JSON (pytorch/kineto libkineto/src/output_json.cpp). Of its events only what ran on
// a device, what launched it, the steps and operators are kept, some 30 to 60 bytes each: a trace
// of hundreds of megabytes needs some tens.

#include <cstdint>
#include <string>
#include <vector>

#include "core/watch.h"
#include "reports/profile/trace_operators.h"
#include "reports/profile/trace_products.h"

namespace plait {

/// A collective as c10d recorded it beside its kernel (record_param_comms).
struct TraceCall {
  std::string name, dtype;         // "_allgather_base", "BFloat16"
  std::int64_t in = -1, out = -1;  // elements of its input and output
  std::int64_t ranks = 0;          // "Group size"
  bool operator==(const TraceCall&) const = default;
  /// nccl-tests' size S, the full buffer: of both sides the larger. 0: not known.
  std::int64_t bytes() const;
};

enum class TraceWork : std::uint8_t { kKernel, kMemcpy, kMemset };

/// Something that ran on a device.
struct TraceEvent {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t correlation = -1;  // with what launched it; -1: not recorded
  std::int64_t external = -1;     // number of the operator that it belongs to; the same
  std::uint32_t name = 0;         // index into names
  std::int32_t call = -1;         // index into calls; -1: none
  std::int32_t device = 0;
  TraceWork work = TraceWork::kKernel;
};

/// A call of the CUDA runtime or driver that launched something.
struct TraceLaunch {
  std::int64_t correlation = 0, start_ns = 0, end_ns = 0;
};

/// "ProfilerStep#12".
struct TraceStep {
  std::int64_t number = 0, start_ns = 0, end_ns = 0;
};

struct KinetoTrace {
  std::string file;
  struct Gpu {
    std::int64_t id = 0;
    std::string name;  // "NVIDIA H100 80GB HBM3"
    std::int64_t sms = 0;
  };
  std::vector<Gpu> gpus;                   // of the machine
  std::int64_t rank = -1, world_size = 0;  // distributedInfo; -1 and 0: not said
  bool with_stack = false, record_shapes = false, profile_memory = false;
  std::int64_t base_ns = 0;  // since 1970, of the trace's time 0; 0: not said
  std::vector<std::string> names;
  std::vector<TraceCall> calls;
  std::vector<TraceEvent> events;       // in the order of the file
  std::vector<TraceLaunch> launches;    // by correlation
  std::vector<TraceStep> steps;         // on the host, by number
  std::vector<TraceStep> device_steps;  // as Kineto projects them on the device, by number
  std::vector<std::string> operator_names;
  std::vector<TraceThread> threads;  // of the host, with operators
  std::vector<MatMul> shapes;        // of products, where shapes were recorded
  std::vector<TraceProduct> products;
  std::int64_t read = 0;  // events of the file
};

/// `path`: a file, also a gzip one, or "-". Throws InputError J001 to J003, K010 (another kind of
/// file), K011 (damaged or not whole), K012 (nothing that ran on a device).
KinetoTrace read_kineto(const std::string& path, const Watch& watch = {});

}  // namespace plait
