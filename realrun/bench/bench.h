#pragma once
// `plait bench`: measures this machine and adds the rows to a file. Rows that the file has already
// are not measured again.

#include <functional>
#include <string>
#include <vector>

#include "realrun/bench/gpu_timer.h"
#include "realrun/bench/grid.h"
#include "realrun/bench/rows_file.h"
#include "realrun/transport.h"

namespace plait {

class GpuComm;     // realrun/bench/gpu_comm.h
class GpuOverlap;  // realrun/bench/gpu_overlap.h

struct BenchOptions {
  GridSize size = GridSize::kFull;
  /// About how long it may take; the repeats follow. 0: as the bench has it.
  double seconds = 0;
  /// Threads that compute at the same time; one of them is measured. In a real run the other ranks
  /// keep the other cores busy, and cores share caches, power and, as hyperthreads, units.
  int threads = 1;
  /// Told before each row how many are done, how many there are and which is next.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress =
      [](std::size_t, std::size_t, const std::string&) {};
};

/// Times one kernel, its operands not in the caches. `op` stays where it is.
using TimeKernel = std::function<Timed(const Compute& op, const TimingOptions&)>;
/// kernels.cpp: a row for each op of the grid, in each of `rounds`.
void bench_kernels(RowsFile& file, const BenchOptions& options, const std::vector<Compute>& grid,
                   int rounds, const TimeKernel& time);

struct StreamKernel {
  std::string what;
  double traffic = 1;  // bytes read and written per byte of its size
};
/// Times one kind over so many bytes.
using TimeStream =
    std::function<Timed(const std::string& what, std::int64_t bytes, const TimingOptions&)>;
/// streams.cpp: a row for each kind and size, from 256 bytes by half octaves to `largest`.
void bench_streams(RowsFile& file, const BenchOptions& options,
                   const std::vector<StreamKernel>& kinds, std::int64_t largest,
                   const TimeStream& time);

/// compute.cpp: every kernel over the grid on a core, cold operands.
void bench_compute(RowsFile& file, const BenchOptions& options);
/// comm.cpp: messages between ranks 0 and 1 by size, and collectives by size and group, in
/// nccl-tests' columns, over a transport. Every rank calls it; rank 0 has the file, the others
/// null.
void bench_comm(Transport& transport, RowsFile* file, const BenchOptions& options);
/// copy.cpp: copying, adding, reading and filling by size on one thread, cold.
void bench_copy(RowsFile& file, const BenchOptions& options);

/// gpu.cpp: kernels over the grid of GPUs, and launches with and without graphs.
void bench_gpu_compute(RowsFile& file, const BenchOptions& options, GpuTimer& gpu);
/// gpu_comm.cpp: NCCL's messages and collectives by size and group, each rank with a GPU of its
/// own. Every rank calls it; rank 0 has the file.
void bench_gpu_comm(Transport& transport, RowsFile* file, const BenchOptions& options,
                    const std::vector<std::int64_t>& node_of, GpuComm& gpus);
/// gpu_overlap.cpp: kernels and communication at the same time, each beside what it takes alone, on
/// every rank's GPU. Every rank calls it; rank 0 has the file.
void bench_gpu_overlap(Transport& transport, RowsFile* file, const BenchOptions& options,
                       const std::vector<std::int64_t>& node_of, GpuOverlap& gpu);
/// gpu.cpp: the device's memory as bench_copy, and copies between it and pinned host memory.
void bench_gpu_copy(RowsFile& file, const BenchOptions& options, GpuTimer& gpu);

}  // namespace plait
