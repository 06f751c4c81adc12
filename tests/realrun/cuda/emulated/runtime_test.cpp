// The emulated device lets nothing pass that CUDA's rules do not promise.
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "realrun/compute/cuda/objects.h"
#include "realrun/compute/cuda/shared_gpu.h"
#include "tests/emulated_cuda/emulated_runtime.h"

namespace plait::cuda::runtime_test {

TEST(EmulatedStream, WhoDoesNotWaitSeesWhatWasThereBefore) {
  const StreamHandle writer = make_stream(), reader = make_stream();
  int value = 1, seen_without = 0, seen_with = 0;
  emulated::queue_on(writer.get(), [&] { value = 2; });
  emulated::queue_on(reader.get(), [&] { seen_without = value; });
  CUDA_CHECK(cudaStreamSynchronize(reader.get()));
  EXPECT_EQ(seen_without, 1);
  const EventHandle written = make_event();
  CUDA_CHECK(cudaEventRecord(written.get(), writer.get()));
  CUDA_CHECK(cudaStreamWaitEvent(reader.get(), written.get(), 0));
  emulated::queue_on(reader.get(), [&] { seen_with = value; });
  CUDA_CHECK(cudaStreamSynchronize(reader.get()));
  EXPECT_EQ(seen_with, 2);
}

TEST(EmulatedStream, AnEventIsWhatItWasWhenTheWaitWasQueued) {
  const StreamHandle a = make_stream(), b = make_stream();
  const EventHandle event = make_event();
  int last = 0;
  emulated::queue_on(a.get(), [&] { last = 1; });
  CUDA_CHECK(cudaEventRecord(event.get(), a.get()));
  CUDA_CHECK(cudaStreamWaitEvent(b.get(), event.get(), 0));
  emulated::queue_on(a.get(), [&] { last = 2; });
  CUDA_CHECK(cudaEventRecord(event.get(), a.get()));
  CUDA_CHECK(cudaStreamSynchronize(b.get()));
  EXPECT_EQ(last, 1);
  CUDA_CHECK(cudaEventSynchronize(event.get()));
  EXPECT_EQ(last, 2);
}

TEST(EmulatedStream, HostFunctionsComeBehindWhatWasQueuedOnTheirStreamAlone) {
  struct Seen {
    std::vector<int> order;
    std::promise<void> called;
  } seen;
  const StreamHandle mine = make_stream(), other = make_stream();
  emulated::queue_on(other.get(), [&] { seen.order.push_back(3); });
  emulated::queue_on(mine.get(), [&] { seen.order.push_back(1); });
  const auto call = [](void* to) {
    static_cast<Seen*>(to)->order.push_back(2);
    static_cast<Seen*>(to)->called.set_value();
  };
  CUDA_CHECK(cudaLaunchHostFunc(mine.get(), call, &seen));
  seen.called.get_future().wait();
  EXPECT_EQ(seen.order, (std::vector<int>{1, 2}));
}

/// The runtime API's "API synchronization behavior": a copy from memory that is not pinned and a
/// set have begun when the call returns, and streams that do not block wait for neither.
TEST(EmulatedMemory, IsThereForStreamsWhenCopiesHaveBeenWaitedFor) {
  const StreamHandle stream = make_stream();
  const DeviceBlock block = device_block(sizeof(int));
  const int value = 7;
  int without = 0, with = 0;
  const auto seen = [&](int& to) {
    CUDA_CHECK(cudaMemcpyAsync(&to, block.get(), sizeof to, cudaMemcpyDeviceToHost, stream.get()));
    CUDA_CHECK(cudaStreamSynchronize(stream.get()));
  };
  CUDA_CHECK(cudaMemcpy(block.get(), &value, sizeof value, cudaMemcpyHostToDevice));
  seen(without);
  EXPECT_NE(without, value);
  finish_copies();
  seen(with);
  EXPECT_EQ(with, value);
}

TEST(EmulatedMemory, IsNotAskedForInPiecesOfNothing) {
  void* nothing = nullptr;
  EXPECT_NE(cudaMalloc(&nothing, 0), cudaSuccess);
  EXPECT_FALSE(device_block(0));
}

/// cuGreenCtxDestroy: "Users must explicitly destroy all such streams before".
TEST(EmulatedGreenContextDeathTest, OutlivesItsStreams) {
  const auto forget = [] {
    auto shares = green_contexts(0, 2);
    const StreamHandle stream = shares[0]->make_stream();
    shares.clear();
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // of a process anew: this one has threads
  EXPECT_DEATH(forget(), "before its stream");
}

TEST(EmulatedMemory, IsPoisonedAndCounted) {
  const std::size_t before = emulated::device_bytes();
  {
    const DeviceBlock block = device_block(sizeof(float));
    float value = 0;
    CUDA_CHECK(cudaMemcpy(&value, block.get(), sizeof value, cudaMemcpyDeviceToHost));
    EXPECT_NE(value, value);  // not a number
    EXPECT_EQ(emulated::device_bytes(), before + sizeof value);
  }
  EXPECT_EQ(emulated::device_bytes(), before);
}

}  // namespace plait::cuda::runtime_test
