#include "realrun/compute/cuda/cuda_device.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/cast.h"
#include "plan/dependencies.h"
#include "realrun/compute/cuda/cuda_compute.h"
#include "realrun/compute/cuda/host_adam.h"
#include "realrun/compute/cuda/peers.h"

namespace plait::cuda {
namespace {

/// Numbers in an element type, as bytes.
std::vector<std::byte> encoded(std::span<const double> values, DType type) {
  std::vector<float> numbers(values.size());
  std::ranges::transform(values, numbers.begin(), [](double x) { return static_cast<float>(x); });
  std::vector<std::byte> out(values.size() * static_cast<std::size_t>(size_of(type)));
  if (type == DType::kBf16) {
    kernels::pack_bf16(reinterpret_cast<std::uint16_t*>(out.data()), numbers.data(),
                       static_cast<std::int64_t>(numbers.size()));
  } else {
    PLAIT_CHECK(type == DType::kFp32, "numbers of a type without kernels");
    std::ranges::copy(std::as_bytes(std::span(numbers)), out.begin());
  }
  return out;
}

std::vector<double> decoded(const std::vector<std::byte>& bytes, DType type) {
  const std::size_t n = bytes.size() / static_cast<std::size_t>(size_of(type));
  std::vector<float> numbers(n);
  if (type == DType::kBf16) {
    kernels::unpack_bf16(numbers.data(), reinterpret_cast<const std::uint16_t*>(bytes.data()),
                         static_cast<std::int64_t>(n));
  } else {
    PLAIT_CHECK(type == DType::kFp32, "numbers of a type without kernels");
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(numbers)).begin());
  }
  return {numbers.begin(), numbers.end()};
}

DeviceBlock on_device(const std::vector<std::int64_t>& numbers) {
  if (numbers.empty()) return {};
  const std::size_t bytes = numbers.size() * sizeof(numbers[0]);
  DeviceBlock block = device_block(bytes);
  CUDA_CHECK(cudaMemcpy(block.get(), numbers.data(), bytes, cudaMemcpyHostToDevice));
  return block;
}

/// Elements lie at addresses of the device, which nobody frees one by one.
std::shared_ptr<std::byte[]> borrowed(std::byte* address) {
  return {std::shared_ptr<std::byte[]>(), address};
}

}  // namespace

std::vector<CudaDevice::Room> CudaDevice::rooms_of(const Plan& plan, const Rank& rank) {
  std::vector<Room> rooms;
  for (const Place place : {Place::kDevice, Place::kHost, Place::kStorage}) {
    Room room;
    room.place = place, room.arena = arena(plan, rank.stage, rank.role, place);
    const auto bytes = static_cast<std::size_t>(room.arena.bytes);
    if (place == Place::kDevice) {
      room.device = device_block(bytes);
    } else if (bytes > 0) {
      room.host = pinned_block(bytes);
    }
    rooms.push_back(std::move(room));
  }
  return rooms;
}

CudaDevice::CudaDevice(const Plan& plan, const Rank& rank, int device,
                       std::shared_ptr<GpuShare> share, const CudaOptions& options,
                       std::unique_ptr<Direct> direct)
    : plan_(plan),
      rank_(rank.id),
      role_(rank.role),
      device_((CUDA_CHECK(cudaSetDevice(device)), device)),
      share_(std::move(share)),
      rooms_(rooms_of(plan, rank)),
      before_(ops_before(plan, rank.stage)),
      stream_of_(streams_of(plan, rank.stage)),
      scratch_(device_block(kernels::cuda::kScratchBytes)),
      lane_scratch_(device_block(kernels::cuda::kScratchBytes)),
      bounds_(on_device(plan.documents.bounds)),
      products_(options.float_products),
      attention_(options.attention ? options.attention() : nullptr),
      direct_(std::move(direct)),
      graphs_(options.graphs &&
              std::ranges::all_of(stream_of_, [](Stream s) { return s == Stream::kCompute; })),
      begin_(make_event()),
      starts_(stream_of_.size()),
      ends_(stream_of_.size()),
      starts_late_(stream_of_.size()),
      times_(stream_of_.size()) {
  for (int s = 0; s < kStreams; ++s) streams_.push_back(share_->make_stream());
  const int sms = share_->multiprocessors();
  queue_ = {stream(Stream::kCompute), sms, scratch_.get(), &products_};
  lane_queue_ = {nullptr, sms, lane_scratch_.get(), nullptr};
  for (const Room& room : rooms_) {
    for (const Placed& p : room.arena.persistent) hold_zeros(room, p);
  }
  const std::vector<bool> runs = runs_of(plan, rank.stage, role_);
  std::int64_t last = -1;
  for (std::size_t op = 0; op < stream_of_.size(); ++op) {
    if (stream_of_[op] == Stream::kCompute && runs[op]) {
      starts_[op] = make_event(), ends_[op] = make_event();
      last = static_cast<std::int64_t>(op);
    }
    compute_up_to_.push_back(last);
  }
  CUDA_CHECK(cudaDeviceSynchronize());
}

CudaDevice::~CudaDevice() {
  static_cast<void>(cudaSetDevice(device_));
  direct_.reset();                             // ends what still waits for other ranks
  static_cast<void>(cudaDeviceSynchronize());  // what it still does uses what goes now
}

CudaDevice::Key CudaDevice::key(TensorId root, std::int32_t layer, std::int32_t microbatch) const {
  const Scope scope = plan_.tensors[root].scope;
  return {root, per_layer(scope) ? layer : 0, per_microbatch(scope) ? microbatch : 0};
}

void CudaDevice::hold(const Room& room, const Placed& p) {
  held_[key(p.stay.tensor, p.stay.layer, p.stay.microbatch)] = room.begin() + p.offset;
  if (room.place != Place::kDevice) return;
  live_ += plan_.tensors[p.stay.tensor].bytes(plan_.mesh);
  peak_ = std::max(peak_, live_);
}

void CudaDevice::hold_zeros(const Room& room, const Placed& p) {
  hold(room, p);
  const auto bytes = static_cast<std::size_t>(plan_.tensors[p.stay.tensor].bytes(plan_.mesh).value);
  std::byte* const at = room.begin() + p.offset;
  if (room.place == Place::kDevice) {
    CUDA_CHECK(cudaMemset(at, 0, bytes));
  } else {
    std::fill_n(at, bytes, std::byte{0});
  }
}

std::byte* CudaDevice::find(const Member& m) const {
  const auto found = held_.find(key(m.tensor, m.layer, m.microbatch));
  return found == held_.end() ? nullptr : found->second;
}

void CudaDevice::write(const Member& to, std::int64_t first, std::int64_t elements,
                       std::span<const double> values) {
  std::byte* const member = find(to);
  if (member == nullptr || elements == 0) return;
  const DType type = plan_.tensors[to.tensor].dtype;
  const std::vector<std::byte> bytes = encoded(values, type);
  std::byte* const begin = member + first * size_of(type);
  const auto size = static_cast<std::size_t>(elements * size_of(type));
  std::size_t there = std::min(bytes.size(), size);
  CUDA_CHECK(cudaMemcpy(begin, bytes.data(), there, cudaMemcpyDefault));
  while (there < size) {  // what is there once more, behind it
    const std::size_t more = std::min(there, size - there);
    CUDA_CHECK(cudaMemcpy(begin + there, begin, more, cudaMemcpyDefault));
    there += more;
  }
  finish_copies();
}

void CudaDevice::write(const Member& to, std::span<const std::int64_t> tokens) {
  std::byte* const begin = find(to);
  if (begin == nullptr) return;
  CUDA_CHECK(cudaMemcpy(begin, tokens.data(), tokens.size_bytes(), cudaMemcpyHostToDevice));
  finish_copies();
}

std::vector<double> CudaDevice::read(const Member& from) {
  const Tensor& t = plan_.tensors[from.tensor];
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes(plan_.mesh).value));
  const std::byte* const begin = find(from);
  PLAIT_CHECK(begin != nullptr, "a member that this rank has not");
  CUDA_CHECK(cudaMemcpy(bytes.data(), begin, bytes.size(), cudaMemcpyDefault));
  return decoded(bytes, t.dtype);
}

/// The device rests: its time of the event lies between two readings of the host's clock.
void CudaDevice::take_time() {
  CUDA_CHECK(cudaSetDevice(device_));
  const std::int64_t before = now_ns();
  CUDA_CHECK(cudaEventRecord(begin_.get(), queue_.stream));
  CUDA_CHECK(cudaEventSynchronize(begin_.get()));
  begin_ns_ = before + (now_ns() - before) / 2;
}

/// The first step is no graph: libraries choose algorithms in it.
void CudaDevice::begin_step() {
  take_time();
  for (Room& room : rooms_) room.next = 0;
  last_compute_ = -1;
  if (graphs_ && steps_ == 1) {
    CUDA_CHECK(cudaStreamBeginCapture(queue_.stream, cudaStreamCaptureModeThreadLocal));
  }
}

bool CudaDevice::repeat_step() {
  if (!graph_) return false;
  take_time();
  CUDA_CHECK(cudaGraphLaunch(graph_.get(), queue_.stream));
  collect_times();
  return true;
}

/// In a capture an event is recorded whenever the graph runs, not for the capture's own order.
void CudaDevice::record(const EventHandle& event) {
  const bool captures = graphs_ && steps_ == 1;
  CUDA_CHECK(cudaEventRecordWithFlags(event.get(), queue_.stream,
                                      captures ? cudaEventRecordExternal : cudaEventRecordDefault));
}

void CudaDevice::hold_from(std::int64_t flat) {
  for (Room& room : rooms_) {
    const std::vector<Placed>& passing = room.arena.passing;
    while (room.next < passing.size() && passing[room.next].stay.first == flat) {
      const Placed& p = passing[room.next++];
      hold(room, p);
      leaving_.emplace(p.stay.last, key(p.stay.tensor, p.stay.layer, p.stay.microbatch));
    }
  }
}

Operands CudaDevice::operands(const Issued& issued) {
  hold_from(issued.flat);
  Operands out;
  for (const Operand& o : issued.op.operands) {
    const Tensor& t = plan_.tensors[o.tensor];
    if (!holds(role_, plan_.tensors[storage_of(plan_, o.tensor)].holders)) {
      out.add(nullptr, 0);
      continue;
    }
    std::byte* const at =
        find({storage_of(plan_, o.tensor), issued.call.layer + o.shift, issued.call.microbatch});
    PLAIT_CHECK(at != nullptr, "an operand without memory: " + t.name);
    out.add(borrowed(at), t.is_view() ? t.offset : 0);
  }
  return out;
}

void CudaDevice::release_after(std::int64_t flat) {
  hold_from(flat);  // of ops that other ranks run
  const auto [begin, end] = leaving_.equal_range(flat);
  for (auto it = begin; it != end; ++it) {
    held_.erase(it->second);
    const Tensor& t = plan_.tensors[std::get<0>(it->second)];
    if (t.place == Place::kDevice) live_ -= t.bytes(plan_.mesh);
  }
  leaving_.erase(begin, end);
}

void CudaDevice::compute(const RunContext& context, const Issued& issued,
                         const Operands& operands) {
  const auto op = static_cast<std::size_t>(issued.flat);
  const bool waited = std::ranges::any_of(
      before_[op], [&](std::uint32_t b) { return stream_of_[b] != Stream::kCompute; });
  starts_late_[op] = last_compute_ < 0 || waited ? 1 : 0;
  if (starts_late_[op] != 0) record(starts_[op]);
  cuda::compute(queue_, context, operands, issued.op, issued.call,
                {attention_.get(), static_cast<const std::int64_t*>(bounds_.get())});
  record(ends_[op]);
  last_compute_ = issued.flat;
}

Lane CudaDevice::lane_of(const Issued& issued) const {
  const auto op = static_cast<std::size_t>(issued.flat);
  std::int64_t behind = -1;
  for (const Room& room : rooms_) behind = std::max(behind, room.arena.behind[op]);
  for (std::uint32_t b : before_[op]) {
    if (stream_of_[b] == Stream::kCompute) behind = std::max(behind, std::int64_t{b});
  }
  if (behind_compute(issued.op.stream)) behind = std::max(behind, last_compute_);
  if (behind >= 0) behind = compute_up_to_[static_cast<std::size_t>(behind)];
  const cudaEvent_t event = behind < 0 ? nullptr : ends_[static_cast<std::size_t>(behind)].get();
  return {device_, stream(issued.op.stream), event};
}

std::unique_ptr<Communication> CudaDevice::local_work(const RunContext& context,
                                                      const Issued& issued,
                                                      std::shared_ptr<Operands> operands) {
  const Lane lane = lane_of(issued);
  if (issued.op.stream == Stream::kHost) {
    return std::make_unique<HostWork>(
        lane, [&context, &op = issued.op, &call = issued.call, operands = std::move(operands)] {
          adam_on_host(*operands, OpView(context, op, call));
        });
  }
  kernels::cuda::Queue queue = lane_queue_;
  queue.stream = lane.stream;
  return std::make_unique<QueuedWork>(lane, [queue, &context, &op = issued.op, &call = issued.call,
                                             operands = std::move(operands)] {
    cuda::compute(queue, context, *operands, op, call, {});
  });
}

std::unique_ptr<Communication> CudaDevice::communication(const Issued& issued,
                                                         const Exchange& exchange,
                                                         std::shared_ptr<Operands> operands,
                                                         CollectiveLibrary* library) {
  std::vector<DType> types;
  for (const Operand& o : issued.op.operands) types.push_back(plan_.tensors[o.tensor].dtype);
  if (direct_ != nullptr) {
    const std::string what = std::string(name_of(issued.op)) + " on stream " +
                             std::string(name_of(issued.op.stream)) + " of rank " +
                             std::to_string(rank_);
    const auto one = [&](const Exchange& e) {
      return direct_->exchange(lane_of(issued), e, *operands, types, what);
    };
    const auto* m = std::get_if<PointToPoint>(&exchange);
    if (m == nullptr || m->messages.size() == 1) return one(exchange);
    std::vector<std::unique_ptr<Communication>> pairs;
    for (const PointToPoint::Message& message : m->messages) {
      pairs.push_back(one(PointToPoint{m->flow, m->channel, m->tag, {message}}));
    }
    return std::make_unique<Together>(std::move(pairs));
  }
  return std::make_unique<Staged>(lane_of(issued), *pool_, exchange, *operands, types, library);
}

void CudaDevice::end_step() {
  if (graphs_ && steps_++ == 1) {
    cudaGraph_t captured = nullptr;
    cudaGraphExec_t runnable = nullptr;
    CUDA_CHECK(cudaStreamEndCapture(queue_.stream, &captured));
    const GraphHandle graph(captured);
    CUDA_CHECK(cudaGraphInstantiate(&runnable, captured, 0));
    graph_ = RunnableGraph(runnable);
    CUDA_CHECK(cudaGraphLaunch(runnable, queue_.stream));
  }
  collect_times();
}

void CudaDevice::collect_times() {
  for (const StreamHandle& s : streams_) CUDA_CHECK(cudaStreamSynchronize(s.get()));
  std::size_t previous = 0;
  for (std::size_t op = 0; op < stream_of_.size(); ++op) {
    if (!ends_[op]) continue;  // not compute of this rank
    times_[op] = time_of(op, previous);
    previous = op;
  }
}

OpTime CudaDevice::time_of(std::size_t op, std::size_t previous) const {
  const auto at = [&](const EventHandle& event) {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin_.get(), event.get()));
    constexpr double kNsPerMs = 1e6;
    return begin_ns_ + static_cast<std::int64_t>(static_cast<double>(ms) * kNsPerMs);
  };
  OpTime time;
  time.start_ns = starts_late_[op] != 0 ? at(starts_[op]) : times_[previous].end_ns;
  time.end_ns = std::max(at(ends_[op]), time.start_ns);
  return time;
}

MakeDevice cuda_device(const CudaOptions& options) {
  return [=](const Plan& plan, const Rank& rank, Transport& transport) {
    int devices = 0;
    CUDA_CHECK(cudaGetDeviceCount(&devices));
    const auto device = static_cast<int>(rank.id % devices);
    CUDA_CHECK(cudaSetDevice(device));
    const auto own = static_cast<std::size_t>(rank.id);
    if (options.green) {
      constexpr int kFirst = 0;  // ranks share it
      const std::shared_ptr<SharedGpu> gpu = meet_on_gpu(kFirst, transport);
      return std::make_unique<CudaDevice>(plan, rank, kFirst, gpu->shares.at(own), options,
                                          peers_on_gpu(gpu, transport));
    }
    const std::shared_ptr<GpuShare> gpu = whole_gpu(device);
    std::unique_ptr<Direct> direct = options.nccl ? nccl_between(plan, transport, *gpu) : nullptr;
    return std::make_unique<CudaDevice>(plan, rank, device, gpu, options, std::move(direct));
  };
}

}  // namespace plait::cuda
