#pragma once
// What `plait bench` records and `plait calibrate` reads: rows of a file of JSON lines. The first
// row says where and how it was measured, each other row is one measurement, the last says that the
// run came to its end. Times are in seconds unless the key says otherwise.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"
#include "model/op.h"

namespace plait {

/// Of repeated measurements.
struct Spread {
  double median = 0, p10 = 0, p90 = 0;
};

/// "run": the machine and the command.
struct RunRow {
  std::string bench;      // "compute", "comm", "copy", "overlap"
  std::string version;    // of plait
  std::string command;    // as typed
  std::string date;       // ISO 8601, UTC
  std::string host;       // its name; with a GPU a hash of it
  std::string processor;  // model name
  std::int64_t cores = 0;
  std::string kernel, compiler, blas;
  std::string quiet;  // realrun/bench/quiet.h, in words
  double core_to_core_ns = 0, jitter = 0;
  std::int64_t threads = 1;  // that worked at the same time
  std::string memory;        // "cold": operands come from a pool larger than the caches
};

/// "kernel": one compute op on one thread.
struct KernelRow {
  Compute op;
  std::int64_t round = 0;  // the whole grid is measured several times: a machine has its moods
  std::int64_t repeats = 0;
  std::int64_t calls = 1;     // timed together in each repeat
  Spread wall, cpu;           // of one call; `cpu` is processor time of the thread, or the device's
  std::int64_t switches = 0;  // involuntary, over all repeats
  std::int64_t traffic = 0;   // bytes that it reads and writes at least
};

/// "copy": streaming through memory on one thread.
struct CopyRow {
  /// "copy", "combine" (a += b in fp32), "read", "fill"; with a GPU also "host_to_device" and
  /// "device_to_host", in pinned memory
  std::string what;
  std::int64_t bytes = 0;
  std::int64_t repeats = 0;
  std::int64_t calls = 1;
  Spread wall, cpu;
  double bandwidth = 0;  // bytes read and written per second of processor time
};

/// "launch": kernels that do nothing, one behind the other.
struct LaunchRow {
  /// "issue": the host's time for each; the device's, issued one by one: "stream", or as one CUDA
  /// graph: "graph"; of a whole graph of them, from its launch to its end on the host: "graph_step"
  std::string how;
  std::int64_t kernels = 0;
  std::int64_t repeats = 0;
  Spread wall;  // of one kernel
};

/// "overlap": a compute op and communication at the same time on one GPU, each on a stream of its
/// own, beside what each takes alone; by the device's clock.
struct OverlapRow {
  Compute op;
  /// "nccl", "nccl over 2 nodes": between GPUs. On one GPU: "green", the kernels of a rank that has
  /// other multiprocessors (a green context); "copy", copies within its memory.
  std::string transport;
  std::string communication;  // a collective's name, or "copy"
  std::int64_t ranks = 1;
  std::int64_t size = 0;             // bytes: nccl-tests' S, or what is copied
  std::int64_t multiprocessors = 0;  // that compute has while it is alone
  std::int64_t repeats = 0;
  /// The other work was there from the beginning to the end, on every rank.
  bool covered = false;
  Spread compute_alone, compute_beside;              // of one call
  Spread communication_alone, communication_beside;  // of one collective
};

/// "gpu": how the device did at that moment, by NVML.
struct GpuRow {
  std::string at;  // "start", "end"
  std::int64_t sm_clock_mhz = 0, memory_clock_mhz = 0, temperature_c = 0;
  double power_w = 0;
  std::string throttled;  // bits of nvmlClocksEventReasons, hexadecimal
};

/// "message": between two ranks, by ping-pong.
struct MessageRow {
  std::string transport;  // "threads", "tcp", "mpi"
  std::int64_t bytes = 0;
  std::int64_t repeats = 0;
  Spread one_way;                // half a round trip, wall time
  Spread send_cpu, receive_cpu;  // processor time of the communication threads, per message
};

/// "wake": from handing something to a rank's sleeping communication thread to that going on.
struct WakeRow {
  std::string transport;
  std::int64_t repeats = 0;
  Spread wall;
  std::int64_t bytes = 0;  // of the messages of
  Spread exchange;         // handing over a send and a receive and waiting for both
};

/// "collective": nccl-tests' columns. Its size is the full buffer, algbw = size / time and busbw is
/// algbw times the share of the buffer that crosses each link, by the formulas of its
/// doc/PERFORMANCE.md.
struct CollectiveRow {
  std::string transport, collective;  // "all_reduce", ...
  std::int64_t ranks = 0;
  std::int64_t size = 0;   // bytes
  std::int64_t count = 0;  // elements
  std::string type = "float", redop = "none";
  std::int64_t root = -1;
  std::int64_t repeats = 0;
  struct Timed {
    double time_us = 0, algbw = 0, busbw = 0;  // GB/s = 1e9 bytes per second
  };
  Timed out_of_place, in_place;
  double cpu_us = 0;  // processor time of a rank's thread, out of place, mean over the ranks
};

/// "end".
struct EndRow {
  double stolen = 0;  // share of the processors' time that other machines took
  std::string quiet;
};

using Row = std::variant<RunRow, KernelRow, CopyRow, LaunchRow, OverlapRow, GpuRow, MessageRow,
                         WakeRow, CollectiveRow, EndRow>;

/// One line without its end.
std::string to_json(const Row& row);
/// Throws InputError F00x, U004 with the place.
Row row_from(const Json& json);
/// What is measured, without the result: rows of one identity are measurements of the same thing.
std::string identity_of(const Row& row);

/// All rows of a file, by its text. The line after the last line feed is not whole and is left out.
/// Throws InputError with the line; K003 when the first row is no "run".
std::vector<Row> parse_rows(const std::string& text, const std::string& file);

}  // namespace plait
