#pragma once
// Executes one rank's program on real numbers: the other executor of the plan. Ops are issued in
// program order. Compute goes to the rank's device when the communication that it depends on has
// ended; collectives and messages are handed to the communication thread, which runs the plan's
// streams beside it.

#include <memory>
#include <vector>

#include "realrun/communicator.h"
#include "realrun/compute/device.h"
#include "realrun/issue_order.h"
#include "realrun/start_nf4.h"
#include "realrun/transport.h"
#include "realrun/unit_buffers.h"

namespace plait {

struct WalkOptions {
  double patience_s = 60;  // without any progress for so long, a rank gives up
  /// Collectives by the transport's library instead of our rounds; the transport must have one.
  bool library_collectives = false;
  /// Seconds per flat op of the program that its compute sleeps instead of computing; empty:
  /// compute is real.
  std::vector<double> timed_compute_s = {};
  /// Weights repeat after so many elements of each tensor: enough where only time matters. 0: every
  /// element has its own.
  std::int64_t weights_repeat = 0;
};

class Walker {
 public:
  Walker(const Plan& plan, const Model& model, Transport& transport, const MakeDevice& make_device,
         const WalkOptions& options = {});

  /// One optimizer step; ends when all of the rank's ops have ended. Throws EnvironmentError when a
  /// peer does not come.
  void step();
  ComputeDevice& device() { return *device_; }
  const Rank& rank() const { return context_.rank; }
  std::int64_t steps() const { return context_.step; }
  /// Of op `flat` in the last step.
  OpTime time(std::int64_t flat) const;
  std::size_t ops() const { return after_.size(); }

 private:
  class Issue;
  void prepare_library();
  void fill_tokens();
  void fill_weights();
  void fill_unit(const UnitBuffers& unit, TensorId id, std::int32_t layer);
  std::vector<double> start_of(const Tensor& view, std::int32_t layer, std::int64_t first,
                               std::int64_t elements) const;
  std::vector<double> weights_of(const Tensor& view, std::int32_t layer, std::int64_t first,
                                 std::int64_t elements) const;
  StoredMatrix stored_of(const Tensor& view, std::int32_t layer, bool nested) const;
  void fill_scales();

  RunContext context_;
  Transport& transport_;
  WalkOptions options_;
  std::unique_ptr<ComputeDevice> device_;
  OpsBefore after_;            // per flat op: communication it depends on
  std::vector<OpTime> timed_;  // per flat op; of compute that sleeps
  Communicator communicator_;
};

/// Tokens of a step that have a loss: of an encoder those that are masked, which has no padding.
std::int64_t trained_tokens(const Plan& plan, const Model& model);
/// Which layers (0 where the scope has none) of tensor family `root` the stage touches.
std::vector<std::int32_t> layers_of(const Plan& plan, std::size_t stage, TensorId root);

}  // namespace plait
