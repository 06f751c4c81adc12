#include "tests/emulated_cuda/emulated_runtime.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace plait::emulated {
namespace {

constexpr std::size_t kAlignment = 256;                       // what cudaMalloc gives
constexpr int kNan = 0xFF;                                    // bytes of a NaN, in every type
constexpr std::size_t kMostPoisoned = std::size_t{16} << 20;  // scratch memory would take long

using Task = std::function<bool()>;  // whether it is done

}  // namespace
}  // namespace plait::emulated

struct CUgraph_st {
  std::deque<plait::emulated::Task> tasks;
};
struct CUgraphExec_st {
  std::deque<plait::emulated::Task> tasks;
};
struct CUstream_st {
  std::uint64_t id = 0;
  std::deque<plait::emulated::Task> tasks;
  std::uint64_t queued = 0, done = 0;
  bool runs = false;               // its first task
  CUgraph_st* captured = nullptr;  // instead of running, while it is set
};
struct CUevent_st {
  plait::emulated::Position recorded;
  /// Outlives an event that is destroyed before its stream has come there.
  std::shared_ptr<std::chrono::steady_clock::time_point> at =
      std::make_shared<std::chrono::steady_clock::time_point>();
};

namespace plait::emulated {
namespace {

/// One device; all ranks of a test share it.
struct Device {
  std::recursive_mutex mutex;  // host functions are called inside
  std::set<cudaStream_t> streams;
  std::uint64_t streams_made = 0;
  std::map<void*, std::size_t> blocks;
  std::deque<std::function<void()>> outside;  // of streams, not done yet
};
Device& device() {
  static Device d;
  return d;
}

/// What was begun outside of streams comes to its end.
void finish_outside() {
  const std::lock_guard lock(device().mutex);
  for (auto& all = device().outside; !all.empty(); all.pop_front()) all.front()();
}
bool on_device(const void* address) {
  const auto& blocks = device().blocks;
  auto behind = blocks.upper_bound(const_cast<void*>(address));
  if (behind == blocks.begin()) return false;
  const auto& [block, bytes] = *--behind;
  return static_cast<const std::byte*>(address) < static_cast<const std::byte*>(block) + bytes;
}

/// Runs streams up to their host functions, after a while: who does not wait for these is sooner.
class LateCalls {
 public:
  void add(const Position& to) {
    const std::lock_guard lock(mutex_);
    due_.push_back({std::chrono::steady_clock::now() + kLate, to});
    added_.notify_one();
  }

 private:
  static constexpr std::chrono::microseconds kLate{300};
  struct Due {
    std::chrono::steady_clock::time_point at;
    Position to;
  };
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (added_.wait(lock, stop, [&] { return !due_.empty(); })) {
      const Due next = due_.front();
      due_.pop_front();
      lock.unlock();
      std::this_thread::sleep_until(next.at);
      bool arrived = false;
      {
        const std::lock_guard on_device(device().mutex);
        arrived = drive(next.to);
      }
      lock.lock();
      if (!arrived) due_.push_back({std::chrono::steady_clock::now() + kLate, next.to});
    }
  }
  std::mutex mutex_;
  std::condition_variable_any added_;
  std::deque<Due> due_;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};
LateCalls& late_calls() {
  device();  // made before, gone after
  static LateCalls calls;
  return calls;
}

cudaError_t queued(cudaStream_t stream, std::function<void()> work) {
  queue_on(stream, std::move(work));
  return cudaSuccess;
}

/// For a thread that has nothing else to do.
void drive_until_there(const Position& to) {
  while (true) {
    {
      const std::lock_guard lock(device().mutex);
      if (drive(to)) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

bool lives(const Position& at) {
  const std::lock_guard lock(device().mutex);
  return device().streams.contains(at.stream) && at.stream->id == at.id;
}
/// What it waits for runs first, inside of its tasks.
bool drive(const Position& to) {
  if (!lives(to)) return true;  // it has gone, done
  CUstream_st& s = *to.stream;
  while (s.done < to.tasks) {
    if (s.runs) return false;  // its task drives others, which wait for it
    s.runs = true;
    const bool done = s.tasks.front()();
    s.runs = false;
    if (!done) return false;
    s.tasks.pop_front();
    ++s.done;
  }
  return true;
}
Position end_of(cudaStream_t s) {
  return s == nullptr ? Position{} : Position{s, s->id, s->queued};
}

void queue_until(cudaStream_t stream, std::function<bool()> work) {
  const std::lock_guard lock(device().mutex);
  if (stream == nullptr) {
    finish_outside();
    return static_cast<void>(work());
  }
  if (stream->captured != nullptr) return stream->captured->tasks.push_back(std::move(work));
  stream->tasks.push_back(std::move(work));
  ++stream->queued;
}
void queue_on(cudaStream_t stream, std::function<void()> work) {
  queue_until(stream, [work = std::move(work)] { return work(), true; });
}

std::unique_lock<std::recursive_mutex> hold_device() { return std::unique_lock(device().mutex); }

std::size_t device_bytes() {
  const std::lock_guard lock(device().mutex);
  std::size_t sum = 0;
  for (const auto& [block, bytes] : device().blocks) sum += bytes;
  return sum;
}

}  // namespace plait::emulated

using namespace plait::emulated;
using Lock = std::lock_guard<std::recursive_mutex>;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  return *value = 2, cudaSuccess;  // multiprocessors: few, so that threads go round their loops
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "an emulated error";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  if (bytes == 0) return cudaErrorInvalidValue;
  const std::size_t room = (bytes / kAlignment + 1) * kAlignment;
  *block = std::aligned_alloc(kAlignment, room);
  if (room <= kMostPoisoned) std::memset(*block, kNan, room);
  const Lock lock(device().mutex);
  device().blocks[*block] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* block) {
  const Lock lock(device().mutex);
  finish_outside();
  device().blocks.erase(block);
  return std::free(block), cudaSuccess;
}
cudaError_t cudaMallocHost(void** block, std::size_t bytes) {
  *block = std::malloc(bytes);
  return std::memset(*block, kNan, bytes), cudaSuccess;
}
cudaError_t cudaFreeHost(void* block) { return std::free(block), cudaSuccess; }

/// To the host they are there when the call returns; to the device only when somebody waits.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  const Lock lock(device().mutex);
  if (bytes == 0) return cudaSuccess;
  if (!on_device(to)) {
    finish_outside();
    return std::memcpy(to, from, bytes), cudaSuccess;
  }
  if (on_device(from)) {
    device().outside.emplace_back([=] { std::memcpy(to, from, bytes); });
  } else {
    const auto* begin = static_cast<const std::byte*>(from);
    device().outside.emplace_back([to, staged = std::vector<std::byte>(begin, begin + bytes)] {
      std::memcpy(to, staged.data(), staged.size());
    });
  }
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  const Lock lock(device().mutex);
  device().outside.emplace_back([=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return queued(stream, [=] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return queued(stream, [=] { std::memset(to, value, bytes); });
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
  return queued(stream, [=] {
    for (std::size_t row = 0; row < height; ++row) {
      std::memcpy(static_cast<char*>(to) + row * to_pitch,
                  static_cast<const char*>(from) + row * from_pitch, width);
    }
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(device().mutex);
  *stream = new CUstream_st;
  (*stream)->id = ++device().streams_made;
  device().streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream == nullptr) finish_outside();
  return drive_until_there(end_of(stream)), cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Lock lock(device().mutex);
  return drive(end_of(stream)) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(device().mutex);
  drive(end_of(stream));
  device().streams.erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const Lock lock(device().mutex);
  finish_outside();
  for (cudaStream_t s : device().streams) drive(end_of(s));
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return *event = new CUevent_st, cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(device().mutex);
  queue_on(stream, [at = event->at] { *at = std::chrono::steady_clock::now(); });
  event->recorded = end_of(stream);
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(device().mutex);
  queue_until(stream, [position = event->recorded] { return drive(position); });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return drive_until_there(event->recorded), cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  const Lock lock(device().mutex);
  *ms = std::chrono::duration<float, std::milli>(*to->at - *from->at).count();
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* data) {
  const Lock lock(device().mutex);
  queue_on(stream, [=] { call(data); });
  return late_calls().add(end_of(stream)), cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return stream->captured = new CUgraph_st, cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return *graph = std::exchange(stream->captured, nullptr), cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
  return *runnable = new CUgraphExec_st{graph->tasks}, cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream) {
  for (const Task& task : runnable->tasks) queue_until(stream, task);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) { return delete runnable, cudaSuccess; }

}  // extern "C"
