#pragma once
// The processor as a device: numbers of type T in this process's memory, compute at once on the
// thread that issues it.

#include "realrun/compute/device.h"

namespace plait {

template <class T>
class HostDevice : public ComputeDevice {
 public:
  HostDevice(const Plan& plan, const Rank& rank, Fresh fresh = kFresh);

  void write(const Member& to, std::int64_t first, std::int64_t elements,
             std::span<const double> values) override;
  void write(const Member& to, std::span<const std::int64_t> tokens) override;
  std::vector<double> read(const Member& from) override;

  void begin_step() override { clock_.restart(); }
  void end_step() override {}
  Operands operands(const Issued& issued) override {
    return buffers_.operands(issued.op, issued.call);
  }
  void release_after(std::int64_t flat) override { buffers_.release_after(flat); }
  void compute(const RunContext& context, const Issued& issued, const Operands& operands) override;
  std::unique_ptr<Communication> local_work(const RunContext& context, const Issued& issued,
                                            std::shared_ptr<Operands> operands) override;
  std::unique_ptr<Communication> communication(const Issued& issued, const Exchange& exchange,
                                               std::shared_ptr<Operands> operands,
                                               CollectiveLibrary* library) override;
  OpTime time(std::int64_t flat) const override { return times_[static_cast<std::size_t>(flat)]; }
  Bytes peak() const override { return buffers_.peak(); }
  Bytes in_flight_peak() const override { return buffers_.in_flight_peak(); }

 private:
  template <class E>
  E* at(const Member& m) {
    return reinterpret_cast<E*>(buffers_.member(m.tensor, m.layer, m.microbatch));
  }

  const Plan& plan_;
  Buffers<T> buffers_;
  OpClock clock_;
  std::vector<OpTime> times_;  // per flat op; of compute
};

/// A HostDevice<T>.
template <class T>
MakeDevice host_device(Fresh fresh = kFresh) {
  return [fresh](const Plan& plan, const Rank& rank, Transport&) {
    return std::make_unique<HostDevice<T>>(plan, rank, fresh);
  };
}

}  // namespace plait
