#include "realrun/compute/cuda/shared_gpu.h"

#include <algorithm>
#include <exception>
#include <string>

#include "core/error.h"
#include "realrun/control.h"

namespace plait::cuda {
namespace {

constexpr double kPatience = 60;  // seconds, until all ranks have come

class WholeGpu : public GpuShare {
 public:
  explicit WholeGpu(int device) {
    CUDA_CHECK(cudaDeviceGetAttribute(&count_, cudaDevAttrMultiProcessorCount, device));
  }
  StreamHandle make_stream() const override { return cuda::make_stream(); }
  int multiprocessors() const override { return count_; }

 private:
  int count_ = 0;
};

}  // namespace

std::shared_ptr<GpuShare> whole_gpu(int device) { return std::make_shared<WholeGpu>(device); }

void Board::join(std::int64_t rank, Transport* transport) {
  const std::lock_guard lock(mutex_);
  transports_.at(static_cast<std::size_t>(rank)) = transport;
}

void Board::post(const Meeting& meeting, std::int64_t member, Post post) {
  const std::lock_guard lock(mutex_);
  Posts& posts = posts_[meeting];
  posts.of.resize(meeting.group.size());
  posts.of.at(static_cast<std::size_t>(member)) = std::move(post);
  if (++posts.posted < meeting.group.size()) return;
  for (const std::int64_t rank : meeting.group) wake(rank);
}

void Board::wake(std::int64_t rank) const {
  Transport* const transport = transports_.at(static_cast<std::size_t>(rank));
  if (transport != nullptr) transport->wake();
}

std::optional<std::vector<Post>> Board::take(const Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  const auto found = posts_.find(meeting);
  PLAIT_CHECK(found != posts_.end(), "a meeting to which nobody came");
  if (found->second.posted < meeting.group.size()) return std::nullopt;
  std::vector<Post> all = found->second.of;
  if (++found->second.taken == meeting.group.size()) posts_.erase(found);
  return all;
}

void Board::leave(const Meeting& meeting, Letter letter) {
  const std::lock_guard lock(mutex_);
  letters_.emplace(meeting, std::move(letter));
  wake(meeting.group.at(1));
}

std::optional<Letter> Board::fetch(const Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  const auto found = letters_.find(meeting);
  if (found == letters_.end()) return std::nullopt;
  std::optional<Letter> letter = std::move(found->second);
  letters_.erase(found);
  return letter;
}

std::shared_ptr<SharedGpu> meet_on_gpu(int device, Transport& transport) {
  Control control(transport, kPatience);
  std::shared_ptr<SharedGpu> gpu;
  std::exception_ptr failure;
  if (transport.rank() == 0) {
    try {
      gpu = std::make_shared<SharedGpu>(device, transport.ranks());
    } catch (...) {
      failure = std::current_exception();
    }
  }
  // Where rank 0 has it, until all have taken it over.
  const std::shared_ptr<SharedGpu>* const mine = &gpu;
  const std::shared_ptr<SharedGpu>* const of_rank_0 = control.agreed(mine);
  if (transport.rank() != 0) gpu = *of_rank_0;
  control.barrier();
  if (failure) std::rethrow_exception(failure);
  if (gpu == nullptr) throw EnvironmentError("rank 0 has no green contexts to share");
  gpu->board.join(transport.rank(), &transport);
  return gpu;
}

}  // namespace plait::cuda
