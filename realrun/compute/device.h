#pragma once
// Where a rank's numbers are and what computes with them: this process's memory and its processor
// (compute/host_device.h), or a GPU (compute/cuda/). The walker says what is issued when; a device
// carries it out, at once or behind what was issued before.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "realrun/buffers.h"
#include "realrun/collective_library.h"
#include "realrun/communication.h"
#include "realrun/compute.h"
#include "realrun/exchange.h"
#include "realrun/op_time.h"

namespace plait {

/// An op where it stands in the program.
struct Issued {
  const Op& op;
  const Call& call;
  std::int64_t flat = 0;
};

/// A member of a tensor family; layer and microbatch are ignored where its scope has none.
struct Member {
  TensorId tensor = kNoTensor;
  std::int32_t layer = 0, microbatch = 0;
};

class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  ComputeDevice() = default;
  ComputeDevice(const ComputeDevice&) = delete;
  ComputeDevice& operator=(const ComputeDevice&) = delete;

  /// Between steps: elements [first, first + elements) of a persistent member become `values`, over
  /// and over where these are fewer, rounded to its type.
  virtual void write(const Member& to, std::int64_t first, std::int64_t elements,
                     std::span<const double> values) = 0;
  virtual void write(const Member& to, std::span<const std::int64_t> tokens) = 0;
  /// All elements, between steps.
  virtual std::vector<double> read(const Member& from) = 0;

  /// Repeats the step before, as it was issued then, where the device can; else false.
  virtual bool repeat_step() { return false; }
  /// Frames the ops of a step. When `end_step` returns all have ended.
  virtual void begin_step() = 0;
  virtual void end_step() = 0;
  /// The operands of an op, which stay where they are while somebody has them.
  virtual Operands operands(const Issued& issued) = 0;
  /// Lets go of what op `flat` was the last to need.
  virtual void release_after(std::int64_t flat) = 0;
  /// An op of the compute stream. Communication that it depends on has ended.
  virtual void compute(const RunContext& context, const Issued& issued,
                       const Operands& operands) = 0;
  /// The same of another stream, for the communication thread.
  virtual std::unique_ptr<Communication> local_work(const RunContext& context, const Issued& issued,
                                                    std::shared_ptr<Operands> operands) = 0;
  /// Collectives and messages of these operands, for the communication thread; collectives by
  /// `library` unless it is null.
  virtual std::unique_ptr<Communication> communication(const Issued& issued,
                                                       const Exchange& exchange,
                                                       std::shared_ptr<Operands> operands,
                                                       CollectiveLibrary* library) = 0;
  /// Of a compute op of the last step.
  virtual OpTime time(std::int64_t flat) const = 0;

  /// Live memory as plan/memory.h counts it, and with what communication at work still kept.
  virtual Bytes peak() const = 0;
  virtual Bytes in_flight_peak() const = 0;
};

/// Makes the device of one rank of a plan, before its communication begins.
using MakeDevice =
    std::function<std::unique_ptr<ComputeDevice>(const Plan&, const Rank&, Transport&)>;

}  // namespace plait
