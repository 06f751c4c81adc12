#include "realrun/compute/cuda/staged.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/cast.h"
#include "realrun/collective.h"

namespace plait::cuda {

void enter(const Lane& lane) {
  CUDA_CHECK(cudaSetDevice(lane.device));
  if (lane.behind != nullptr) CUDA_CHECK(cudaStreamWaitEvent(lane.stream, lane.behind, 0));
}

namespace {

void widen(HostCopy& c) {
  if (c.wide.empty()) return;
  kernels::unpack_bf16(c.wide.data(), reinterpret_cast<const std::uint16_t*>(c.pinned.get()),
                       c.elements);
}
void narrow(HostCopy& c) {
  if (c.wide.empty()) return;
  kernels::pack_bf16(reinterpret_cast<std::uint16_t*>(c.pinned.get()), c.wide.data(), c.elements);
}

}  // namespace

std::byte* address_of(const Part& part, DType type, const Operands& operands) {
  const auto at = [&]<class E>(E) {
    return reinterpret_cast<std::byte*>(operands.at<E>(part.operand) + part.first);
  };
  if (type == DType::kFp32) return at(float{});
  if (type == DType::kBf16) return at(std::uint16_t{});
  if (type == DType::kInt64) return at(std::int64_t{});
  PLAIT_CHECK(type == DType::kInt8, "numbers that cannot travel");
  return at(std::uint8_t{});
}

void Arrival::queue(cudaStream_t stream, Transport& transport) {
  signal_ = std::make_shared<Signal>();
  signal_->transport = &transport;
  // The signal outlives whoever waits for it: that may be given up.
  auto* mine = new std::shared_ptr<Signal>(signal_);
  const auto arrive = [](void* data) {
    const std::unique_ptr<std::shared_ptr<Signal>> signal(
        static_cast<std::shared_ptr<Signal>*>(data));
    (*signal)->set = true;
    (*signal)->transport->wake();
  };
  CUDA_CHECK(cudaLaunchHostFunc(stream, arrive, mine));
}

Staged::Staged(const Lane& lane, PinnedPool& pool, const Exchange& exchange,
               const Operands& operands, const std::vector<DType>& types,
               CollectiveLibrary* library)
    : lane_(lane) {
  Exchange staged = exchange;
  const auto move_to_host = [&](Part& part) {
    const std::size_t copy = copy_of(part, operands, types, pool);
    part = {copy, 0, part.elements};
    return copy;
  };
  if (auto* m = std::get_if<PointToPoint>(&staged)) {
    for (PointToPoint::Message& one : m->messages) {
      (m->flow == Flow::kOut ? out_ : in_).push_back(move_to_host(one.part));
    }
  } else {
    auto& c = std::get<CollectiveOf<Part>>(staged);
    for (Part& p : c.in) out_.push_back(move_to_host(p));
    if (c.in_place) {
      c.out = c.in, in_ = out_;
    } else {
      for (Part& p : c.out) in_.push_back(move_to_host(p));
    }
  }
  for (HostCopy& c : copies_) {
    std::shared_ptr<std::byte[]> numbers = c.pinned;
    if (!c.wide.empty()) {
      numbers = {c.pinned, reinterpret_cast<std::byte*>(c.wide.data())};
    }
    staged_.add(std::move(numbers), 0);
  }
  exchange_ = communication_of<float>(staged, staged_, library);
}

std::size_t Staged::copy_of(const Part& part, const Operands& operands,
                            const std::vector<DType>& types, PinnedPool& pool) {
  HostCopy c;
  c.dtype = types.at(part.operand);
  c.elements = part.elements;
  c.device = address_of(part, c.dtype, operands);
  c.pinned = pool.take(c.bytes());
  if (c.dtype == DType::kBf16) c.wide.resize(static_cast<std::size_t>(c.elements));
  copies_.push_back(std::move(c));
  return copies_.size() - 1;
}

void Staged::begin(Transport& transport) {
  enter(lane_);
  for (std::size_t i : out_) {
    const HostCopy& c = copies_[i];
    CUDA_CHECK(
        cudaMemcpyAsync(c.pinned.get(), c.device, c.bytes(), cudaMemcpyDeviceToHost, lane_.stream));
  }
  arrival_.queue(lane_.stream, transport);
}

void Staged::copy_in(Transport& transport) {
  CUDA_CHECK(cudaSetDevice(lane_.device));
  for (std::size_t i : in_) {
    narrow(copies_[i]);
    const HostCopy& c = copies_[i];
    CUDA_CHECK(
        cudaMemcpyAsync(c.device, c.pinned.get(), c.bytes(), cudaMemcpyHostToDevice, lane_.stream));
  }
  arrival_.queue(lane_.stream, transport);
}

bool Staged::advance(Transport& transport) {
  if (state_ == State::kReady) {
    begin(transport);
    state_ = State::kOut;
  }
  if (state_ == State::kOut) {
    if (!out_.empty() && !arrival_.arrived()) return false;
    for (std::size_t i : out_) widen(copies_[i]);
    state_ = State::kTravels;
  }
  if (state_ == State::kTravels) {
    if (!exchange_->advance(transport)) return false;
    copy_in(transport);
    state_ = State::kIn;
  }
  return arrival_.arrived();
}

std::string Staged::waits_for() const {
  return state_ == State::kTravels ? exchange_->waits_for() : "its device";
}

bool HostWork::advance(Transport& transport) {
  if (!queued_) {
    enter(lane_);
    arrival_.queue(lane_.stream, transport);
    queued_ = true;
  }
  if (!arrival_.arrived()) return false;
  work_();
  return true;
}

bool QueuedWork::advance(Transport& transport) {
  if (!queued_) {
    enter(lane_);
    queue_();
    arrival_.queue(lane_.stream, transport);
    queued_ = true;
  }
  return arrival_.arrived();
}

}  // namespace plait::cuda
