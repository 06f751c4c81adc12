#pragma once
// A GPU as the device of a rank: the plan's streams are streams of it, dependencies are events,
// tensors lie in one block of memory in their own element types (realrun/arena.h), those that are
// off the device in another one of host memory. Several ranks may share a GPU. Communication goes
// through host memory (staged.h).

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "kernels/cuda/gemm.h"
#include "kernels/cuda/queue.h"
#include "realrun/arena.h"
#include "realrun/compute/cuda/block_pool.h"
#include "realrun/compute/cuda/direct.h"
#include "realrun/compute/cuda/library_attention.h"
#include "realrun/compute/cuda/objects.h"
#include "realrun/compute/cuda/shared_gpu.h"
#include "realrun/compute/cuda/staged.h"
#include "realrun/compute/device.h"
#include "realrun/issue_order.h"

namespace plait::cuda {

struct CudaOptions {
  kernels::cuda::FloatProducts float_products = kernels::cuda::FloatProducts::kExact;
  MakeLibraryAttention attention = {};  // empty: own kernels
  bool nccl = false;                    // communication by NCCL
  bool green = false;                   // ranks of one process, each in a green context of a GPU
  /// From the third step on a program without communication repeats its second as one CUDA graph,
  /// the second's step number, which Adam and dropout depend on, included.
  bool graphs = false;
};

class CudaDevice : public ComputeDevice {
 public:
  /// On `share` of GPU `device`. Throws EnvironmentError when memory does not suffice.
  CudaDevice(const Plan& plan, const Rank& rank, int device, std::shared_ptr<GpuShare> share,
             const CudaOptions& options, std::unique_ptr<Direct> direct);
  ~CudaDevice() override;

  void write(const Member& to, std::int64_t first, std::int64_t elements,
             std::span<const double> values) override;
  void write(const Member& to, std::span<const std::int64_t> tokens) override;
  std::vector<double> read(const Member& from) override;

  bool repeat_step() override;
  void begin_step() override;
  void end_step() override;
  Operands operands(const Issued& issued) override;
  void release_after(std::int64_t flat) override;
  void compute(const RunContext& context, const Issued& issued, const Operands& operands) override;
  std::unique_ptr<Communication> local_work(const RunContext& context, const Issued& issued,
                                            std::shared_ptr<Operands> operands) override;
  std::unique_ptr<Communication> communication(const Issued& issued, const Exchange& exchange,
                                               std::shared_ptr<Operands> operands,
                                               CollectiveLibrary* library) override;
  OpTime time(std::int64_t flat) const override { return times_[static_cast<std::size_t>(flat)]; }
  Bytes peak() const override { return peak_; }
  /// The device's whole block, and what a library has beside it.
  Bytes in_flight_peak() const override {
    return Bytes(rooms_[0].arena.bytes) + (attention_ ? attention_->held() : Bytes(0));
  }

 private:
  using Key = std::tuple<TensorId, std::int32_t, std::int32_t>;
  Key key(TensorId root, std::int32_t layer, std::int32_t microbatch) const;
  /// The block of one place: device memory, or pinned host memory, which stands for drives too.
  struct Room {
    Place place = Place::kDevice;
    Arena arena;
    DeviceBlock device;
    PinnedBlock host;
    std::size_t next = 0;  // of the arena's passing members
    std::byte* begin() const {
      return static_cast<std::byte*>(place == Place::kDevice ? device.get() : host.get());
    }
  };
  static std::vector<Room> rooms_of(const Plan& plan, const Rank& rank);
  void hold(const Room& room, const Placed& placed);
  void hold_zeros(const Room& room, const Placed& placed);
  /// What begins to be needed by op `flat`.
  void hold_from(std::int64_t flat);
  /// Null where this rank has no such member.
  std::byte* find(const Member& m) const;
  cudaStream_t stream(Stream s) const { return streams_[static_cast<std::size_t>(s)].get(); }
  /// Where an op of another stream runs, behind the compute that it has to wait for.
  Lane lane_of(const Issued& issued) const;
  void take_time();
  void record(const EventHandle& event);
  void collect_times();
  OpTime time_of(std::size_t op, std::size_t previous) const;

  const Plan& plan_;
  std::int64_t rank_;
  Role role_;
  int device_;
  std::shared_ptr<GpuShare> share_;
  std::vector<Room> rooms_;  // the device's first
  OpsBefore before_;
  std::vector<Stream> stream_of_;  // per flat op
  /// Per flat op: the last compute op up to there that this rank runs, -1: none.
  std::vector<std::int64_t> compute_up_to_;
  DeviceBlock scratch_, lane_scratch_;
  DeviceBlock bounds_;                 // of packed documents
  std::vector<StreamHandle> streams_;  // one for each of the plan's
  kernels::cuda::Products products_;
  std::unique_ptr<LibraryAttention> attention_;  // of the compute thread; null: own kernels
  kernels::cuda::Queue queue_, lane_queue_;      // of compute, and of the communication thread
  std::unique_ptr<Direct> direct_;               // null: through host memory
  std::shared_ptr<PinnedPool> pool_ = std::make_shared<PinnedPool>();

  std::map<Key, std::byte*> held_;
  std::multimap<std::int64_t, Key> leaving_;  // last op -> member
  Bytes live_, peak_;

  bool graphs_;                             // wanted, and all is compute
  std::int64_t steps_ = 0;                  // done
  RunnableGraph graph_;                     // of the second step
  EventHandle begin_;                       // of the step
  std::int64_t begin_ns_ = 0;               // when that was, on the host's clock
  std::int64_t last_compute_ = 0;           // flat op; -1: none yet
  std::vector<EventHandle> starts_, ends_;  // per flat op; of compute that this rank runs
  std::vector<char>
      starts_late_;  // per flat op: it waited, so it does not start where another ends
  std::vector<OpTime> times_;
};

/// A CudaDevice for each rank; rank r on GPU r modulo their number.
MakeDevice cuda_device(const CudaOptions& options = {});

}  // namespace plait::cuda
