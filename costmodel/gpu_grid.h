#pragma once
// How Plait's kernels (kernels/cuda) deal rows to the threads of a GPU: 16 bytes to each at a time,
// in blocks of which a multiprocessor holds as many as have 2048 threads. Threads beyond the end of
// a row are idle, and so are blocks in the last round over the rows.

#include <cstdint>

#include "model/dtype.h"
#include "topologies/cluster.h"

namespace plait {

inline constexpr double kThreadsOfSm = 2048;  // sm_80, sm_90 and sm_100

struct GpuGrid {
  double rows = 0;
  double lines = 1;   // rows that are under way at a time
  double idle = 1;    // threads of a row, over those with something to do
  double blocks = 0;  // where they may be so many that starting them takes long
  double again = 0;   // the part of a row that registers do not hold, and that is read again

  /// Rounds over the rows.
  double rows_each() const;
  /// How much longer it takes than if every thread had something to do all the time.
  double filling() const;
};

/// kernels/cuda/elementwise.h, for_each_in_rows: a part of a block to a row, or several blocks. Of
/// the device's threads one in `share`.
GpuGrid grid_in_rows(std::int64_t rows, std::int64_t width, DType type, const Device& gpu,
                     int share = 1);
/// kernels/cuda/row_part.h: a block to a row, of as many threads as hold it in registers.
GpuGrid grid_by_row(std::int64_t rows, std::int64_t width, DType type, const Device& gpu,
                    int share = 1);
/// kernels/cuda/rope.cu, cross_entropy.cu: a block of 256 threads to a row.
GpuGrid grid_of_blocks(std::int64_t rows, std::int64_t width, DType type, const Device& gpu);

}  // namespace plait
