#pragma once
// `plait bench`: measures this machine and adds the rows to a file. Rows that the file has already
// are not measured again.

#include <functional>
#include <string>

#include "realrun/bench/grid.h"
#include "realrun/bench/rows_file.h"
#include "realrun/transport.h"

namespace plait {

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

/// compute.cpp: every kernel over the grid, cold operands.
void bench_compute(RowsFile& file, const BenchOptions& options);
/// comm.cpp: messages between ranks 0 and 1 by size, and collectives by size and group, in
/// nccl-tests' columns, over a transport. Every rank calls it; rank 0 has the file, the others
/// null.
void bench_comm(Transport& transport, RowsFile* file, const BenchOptions& options);
/// copy.cpp: copying, adding, reading and filling by size on one thread, cold.
void bench_copy(RowsFile& file, const BenchOptions& options);

}  // namespace plait
