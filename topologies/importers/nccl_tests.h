#pragma once
// What nccl-tests (all_reduce_perf and so on) measured: its table
//
//   #  Rank  0 Group  0 Pid  1234 on  node-a device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time
//   ...
//        1048576        262144     float     sum      -1    33.10   31.68   55.44      0    32.9
//        ...
//
// or its JSON (-J). Times are in microseconds, bandwidths in GB/s; the left half is out of place,
// the right half in place. Lines of other kinds in between (NCCL INFO, prefixes of mpirun) are
// skipped.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"

namespace plait {

struct CollectiveTiming {
  Bytes size;  // nccl-tests' S
  std::string type, redop;
  // Out of place where measured, else in place.
  Seconds time;
  BytesPerSecond algbw, busbw;
};

struct CollectiveTimings {
  std::string collective;  // "all_reduce"; "" where neither the file nor its bandwidths tell
  std::int64_t ranks = 0, hosts = 0;  // 0: not said
  std::string device;                 // "NVIDIA H100 80GB HBM3"
  /// busbw / algbw: 2 (n - 1) / n for all_reduce, (n - 1) / n for all_gather, reduce_scatter and
  /// all_to_all, 1 for broadcast and reduce (nccl-tests doc/PERFORMANCE.md).
  double factor = 1;
  std::vector<CollectiveTiming> rows;
  std::int64_t wrong = 0;  // rows that computed wrong results in either half: not in `rows`
};

/// Throws InputError with file and line: T010 no rows, T012 a row with numbers missing, T018 none
/// with right results, T019 a second table; J0xx for malformed JSON.
CollectiveTimings read_nccl_tests(std::string_view text, const std::string& file);

/// The catalogue's name of a device by its marketing name; "" unknown.
std::string catalogue_name(const std::string& marketing_name);

}  // namespace plait
