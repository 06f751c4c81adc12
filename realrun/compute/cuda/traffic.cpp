#include "realrun/compute/cuda/traffic.h"

#include "core/error.h"
#include "kernels/cuda/add.h"
#include "kernels/cuda/cast.h"

namespace plait::cuda {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

/// Two buffers of the device, and a stream.
class OneGpu : public Traffic {
 public:
  OneGpu(std::shared_ptr<GpuShare> share, std::int64_t bytes)
      : share_(std::move(share)),
        stream_(share_->make_stream()),
        room_(bytes),
        from_(device_block(static_cast<std::size_t>(bytes))),
        to_(device_block(static_cast<std::size_t>(bytes))) {
    for (const DeviceBlock* block : {&from_, &to_}) {
      CUDA_CHECK(cudaMemset(block->get(), 0, static_cast<std::size_t>(bytes)));
    }
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  ~OneGpu() override { static_cast<void>(cudaStreamSynchronize(stream_.get())); }
  cudaStream_t stream() const override { return stream_.get(); }
  void take(const std::string& /*communication*/, std::int64_t bytes) override {
    PLAIT_CHECK(bytes <= room_, "more than there is room for");
    bytes_ = bytes;
  }
  void wait() override { CUDA_CHECK(cudaStreamSynchronize(stream_.get())); }

 protected:
  int multiprocessors() const { return share_->multiprocessors(); }
  std::int64_t bytes() const { return bytes_; }
  float* from() const { return static_cast<float*>(from_.get()); }
  float* to() const { return static_cast<float*>(to_.get()); }

 private:
  std::shared_ptr<GpuShare> share_;
  StreamHandle stream_;  // goes before its share
  std::int64_t room_, bytes_ = 0;
  DeviceBlock from_, to_;
};

class Copies : public OneGpu {
 public:
  using OneGpu::OneGpu;
  std::string transport() const override { return "copy"; }
  std::vector<std::string> communications() const override { return {"copy"}; }
  std::int64_t ranks() const override { return 1; }
  void queue() override {
    CUDA_CHECK(cudaMemcpyAsync(to(), from(), static_cast<std::size_t>(bytes()),
                               cudaMemcpyDeviceToDevice, stream()));
  }
};

/// Each of two ranks adds up one half and takes the other.
class PeerKernels : public OneGpu {
 public:
  using OneGpu::OneGpu;
  std::string transport() const override { return "green"; }
  std::vector<std::string> communications() const override { return {"all_reduce"}; }
  std::int64_t ranks() const override { return 2; }
  void queue() override {
    const kernels::cuda::Queue queue{stream(), multiprocessors()};
    const std::int64_t half = bytes() / kFloat / 2;
    kernels::cuda::accumulate(queue, to(), static_cast<const float*>(from()), half);
    kernels::cuda::cast(queue, to() + half, static_cast<const float*>(from()) + half, half);
  }
};

}  // namespace

std::unique_ptr<Traffic> copies_in_memory(std::shared_ptr<GpuShare> share, std::int64_t bytes) {
  return std::make_unique<Copies>(std::move(share), bytes);
}
std::unique_ptr<Traffic> kernels_of_a_peer(std::shared_ptr<GpuShare> share, std::int64_t bytes) {
  return std::make_unique<PeerKernels>(std::move(share), bytes);
}

}  // namespace plait::cuda
