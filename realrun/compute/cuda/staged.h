#pragma once
// What a GPU does on the streams of communication when the ranks' transport moves bytes of this
// process: operands are copied out to pinned memory, the exchange runs there on numbers in float,
// and its results are copied in. And compute that stands in such a stream.

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "realrun/buffers.h"
#include "realrun/collective_library.h"
#include "realrun/communication.h"
#include "realrun/compute/cuda/block_pool.h"
#include "realrun/compute/cuda/objects.h"
#include "realrun/exchange.h"

namespace plait::cuda {

/// Where a communication op runs on the device.
struct Lane {
  int device = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t behind = nullptr;  // compute that must have ended; null: none
};

/// Makes the lane's device the calling thread's, and its stream wait for what it has to.
void enter(const Lane& lane);

/// Where a part begins on the device: fp32, bf16, or quantised numbers.
std::byte* address_of(const Part& part, DType type, const Operands& operands);

/// Set by the device when a stream comes to where it was queued; wakes the communication thread.
class Arrival {
 public:
  /// From here on `arrived` says whether all that `stream` was given so far is done.
  void queue(cudaStream_t stream, Transport& transport);
  bool arrived() const { return signal_ != nullptr && signal_->set; }

 private:
  struct Signal {
    std::atomic<bool> set = false;
    Transport* transport = nullptr;
  };
  std::shared_ptr<Signal> signal_;
};

/// Part of an operand on its way through host memory.
struct HostCopy {
  std::byte* device = nullptr;
  DType dtype = DType::kFp32;
  std::int64_t elements = 0;
  std::shared_ptr<std::byte[]> pinned;  // elements of dtype
  std::vector<float> wide;              // of a narrower dtype, as numbers
  std::size_t bytes() const { return static_cast<std::size_t>(elements * size_of(dtype)); }
};

/// An exchange by way of host memory.
class Staged : public Communication {
 public:
  Staged(const Lane& lane, PinnedPool& pool, const Exchange& exchange, const Operands& operands,
         const std::vector<DType>& types, CollectiveLibrary* library);
  bool advance(Transport& transport) override;
  std::string waits_for() const override;
  bool lets_pass() const override { return state_ == State::kTravels && exchange_->lets_pass(); }

 private:
  enum class State { kReady, kOut, kTravels, kIn };
  std::size_t copy_of(const Part& part, const Operands& operands, const std::vector<DType>& types,
                      PinnedPool& pool);
  void begin(Transport& transport);
  void copy_in(Transport& transport);

  Lane lane_;
  std::vector<HostCopy> copies_;
  std::vector<std::size_t> out_, in_;  // copies from the device, and to it
  Operands staged_;
  std::unique_ptr<Communication> exchange_;
  State state_ = State::kReady;
  Arrival arrival_;
};

/// Work of this process on host memory, in turn with what stands in a communication stream.
class HostWork : public Communication {
 public:
  HostWork(const Lane& lane, std::function<void()> work) : lane_(lane), work_(std::move(work)) {}
  bool advance(Transport& transport) override;
  std::string waits_for() const override { return "its device"; }

 private:
  Lane lane_;
  std::function<void()> work_;
  bool queued_ = false;
  Arrival arrival_;
};

/// Work queued on a communication stream.
class QueuedWork : public Communication {
 public:
  QueuedWork(const Lane& lane, std::function<void()> queue)
      : lane_(lane), queue_(std::move(queue)) {}
  bool advance(Transport& transport) override;
  std::string waits_for() const override { return "its device"; }

 private:
  Lane lane_;
  std::function<void()> queue_;
  bool queued_ = false;
  Arrival arrival_;
};

}  // namespace plait::cuda
