#include "realrun/compute/cuda/cuda_overlap.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace plait::cuda {
namespace {

/// A graph of kernels takes about so long: many times what launching it does.
constexpr double kGraphSeconds = 0.5e-3;
constexpr double kMostOfGraph = 200;
/// Graphs or collectives, each many times as long as launching a few of them takes.
constexpr int kBridge = 2;

}  // namespace

CudaOverlap::CudaOverlap(std::shared_ptr<GpuShare> share, std::unique_ptr<Traffic> traffic,
                         std::int64_t pool_bytes, std::unique_ptr<LibraryAttention> library)
    : kernels_(std::move(share), pool_bytes, std::move(library)),
      traffic_(std::move(traffic)),
      there_(make_event()),
      begin_(make_event()),
      end_(make_event()),
      gone_(make_event()) {}

CudaOverlap::~CudaOverlap() {
  traffic_.reset();  // ends what still waits for other ranks
  static_cast<void>(cudaDeviceSynchronize());
}

double CudaOverlap::seconds_between(const EventHandle& from, const EventHandle& to) const {
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, from.get(), to.get()));
  return static_cast<double>(ms) * 1e-3;
}

void CudaOverlap::take(const Compute& op, const std::string& communication, std::int64_t bytes) {
  const auto call = [&] { kernels_.call(op); };
  const cudaStream_t stream = kernels_.queue().stream;
  call();  // libraries choose algorithms
  CUDA_CHECK(cudaEventRecord(begin_.get(), stream));
  call();
  CUDA_CHECK(cudaEventRecord(end_.get(), stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  const double wanted = kGraphSeconds / std::max(seconds_between(begin_, end_), 1e-9);
  kernels_of_graph_ = std::llround(std::clamp(std::ceil(wanted), 1.0, kMostOfGraph));
  graph_ = kernels_.graph_of(call, kernels_of_graph_);
  traffic_->take(communication, bytes);
}

CudaOverlap::Line CudaOverlap::line(OverlapSide side) const {
  return side == OverlapSide::kCompute ? Line{side, kernels_.queue().stream, kernels_of_graph_}
                                       : Line{side, traffic_->stream(), 1};
}

void CudaOverlap::queue(const Line& line) {
  if (line.side == OverlapSide::kCommunication) return traffic_->queue();
  CUDA_CHECK(cudaGraphLaunch(graph_.get(), line.stream));
}

std::int64_t CudaOverlap::queue(const Line& line, std::int64_t calls) {
  const std::int64_t units = (calls + line.calls - 1) / line.calls;
  for (std::int64_t i = 0; i < units; ++i) queue(line);
  return units * line.calls;
}

void CudaOverlap::wait(const Line& line) {
  if (line.side == OverlapSide::kCommunication) return traffic_->wait();
  CUDA_CHECK(cudaStreamSynchronize(line.stream));
}

/// The first of each side is not timed: ranks meet in a collective, and kernels are loaded. Some of
/// the other side bridge the time in which the host queues what is timed, and then the rest of it.
CudaOverlap::Times CudaOverlap::time(OverlapSide side, std::int64_t calls, std::int64_t beside) {
  const bool computes = side == OverlapSide::kCompute;
  const Line timed = line(side);
  const Line other = line(computes ? OverlapSide::kCommunication : OverlapSide::kCompute);
  if (beside > 0) {
    queue(other);
    CUDA_CHECK(cudaEventRecord(there_.get(), other.stream));
    CUDA_CHECK(cudaStreamWaitEvent(timed.stream, there_.get(), 0));
    for (int i = 0; i < kBridge; ++i) queue(other);
  }
  queue(timed);
  CUDA_CHECK(cudaEventRecord(begin_.get(), timed.stream));
  const std::int64_t done = queue(timed, calls);
  CUDA_CHECK(cudaEventRecord(end_.get(), timed.stream));
  if (beside > 0) {
    queue(other, beside);
    CUDA_CHECK(cudaEventRecord(gone_.get(), other.stream));
  }
  wait(timed);
  if (beside > 0) wait(other);
  Times out;
  out.seconds = seconds_between(begin_, end_) / static_cast<double>(done);
  out.covered = beside == 0 || seconds_between(begin_, gone_) >= seconds_between(begin_, end_);
  return out;
}

}  // namespace plait::cuda
