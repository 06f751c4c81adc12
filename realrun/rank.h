#pragma once
// Who a rank is: its place in the mesh, and what of the batch and of each tensor it holds.

#include <cstdint>
#include <vector>

#include "kernels/positions.h"
#include "plan/plan.h"

namespace plait {

struct Rank {
  Rank(const Plan& plan, std::int64_t rank);

  std::int64_t id = 0;
  Mesh::Coordinates at = {};
  std::size_t stage = 0;
  Role role = {};
  std::int64_t served_share = -1;  // of the parameters, which it keeps for others; -1: none

  std::int64_t along(Axis a) const { return at[static_cast<std::size_t>(a)]; }
  /// Index of this rank's share of a dimension that is sharded over `axes`.
  std::int64_t share(const Mesh& mesh, AxisSet axes) const;
  /// This rank's copy of the tensor is the one that counts (Tensor::counted_once).
  bool counts(const Mesh& mesh, const Tensor& tensor) const;
  /// Index among the ranks that work on different sequences.
  std::int64_t data_index(const Mesh& mesh) const {
    return share(mesh, AxisSet(Axis::kDp) | Axis::kFsdp | Axis::kEp);
  }
};

/// First element and number of a rank's part of a whole flat buffer: what it has in `part`.
struct ShareOfBuffer {
  std::int64_t first = 0, elements = 0;
};
ShareOfBuffer share_of_buffer(const Plan& plan, const Rank& rank, const Tensor& whole,
                              const Tensor& part);

/// Where the two chunks of a sequence of `tokens` stand that rank `i` of `n` holds (see
/// plan/strategies/context.cpp).
kernels::Positions chunks_of(std::int64_t i, std::int64_t n, std::int64_t tokens);
/// Positions of this rank's part of a dimension of tokens.
kernels::Positions positions_of(const Dim& tokens, const Mesh& mesh, const Rank& rank);

/// Global flat index of element `local` of a rank's part of a tensor (row-major in both). A packed
/// dimension is sharded section by section.
class GlobalIndex {
 public:
  GlobalIndex(const Tensor& tensor, const Mesh& mesh, const Rank& rank);
  std::int64_t operator()(std::int64_t local) const;

 private:
  struct Along {  // one dimension
    std::int64_t global, local;
    Sections sections, mine;  // elements of each section, and of the rank's part of it
    std::int64_t share;
  };
  static std::int64_t global_along(const Along& dim, std::int64_t local);
  std::vector<Along> dims_;  // the innermost one first
};

}  // namespace plait
