#pragma once
// Executes one rank's program, op by op in issue order, on real numbers: the other executor of the
// plan. Issue order respects every dependency, so a single thread per rank gives the right result;
// streams matter for time only.

#include <vector>

#include "realrun/compute.h"
#include "realrun/transport.h"
#include "realrun/unit_buffers.h"

namespace plait {

template <class T>
class Walker {
 public:
  Walker(const Plan& plan, const Model& model, std::int64_t rank, Transport& transport);

  /// One optimizer step. Throws EnvironmentError when a peer does not come.
  void step();
  Buffers<T>& buffers() { return buffers_; }
  const Rank& rank() const { return context_.rank; }
  std::int64_t steps() const { return context_.step - 1; }

 private:
  class Execution;
  void fill_tokens();
  void fill_weights();
  std::vector<T> whole_unit(const UnitBuffers& unit, std::int32_t layer) const;

  RunContext context_;
  Transport& transport_;
  Buffers<T> buffers_;
};

/// Which layers (0 where the scope has none) of tensor family `root` the stage touches.
std::vector<std::int32_t> layers_of(const Plan& plan, std::size_t stage, TensorId root);

/// First element and number of a rank's share of a whole flat buffer that `sharded` is a shard of.
struct ShareOfBuffer {
  std::int64_t first = 0, elements = 0;
};
ShareOfBuffer share_of_buffer(const Plan& plan, const Rank& rank, const Tensor& whole,
                              AxisSet axes);

}  // namespace plait
