#include <atomic>
#include <thread>
#include <vector>

#include "realrun/bench/bench.h"
#include "realrun/bench/kernel_call.h"
#include "realrun/bench/timing.h"

namespace plait {
namespace {

// Larger than any second-level cache, and than what a virtual machine gets of a shared third level.
constexpr std::int64_t kPoolBytes = 256 << 20, kQuickPoolBytes = 16 << 20;

/// The speed of a core changes for seconds at a time, by 4:3 on virtual machines whose cores are
/// hyperthreads: rounds that are far apart meet several of its states.
constexpr int kRounds = 3;

/// Threads that compute the same op as the measured one, over and over, from pools of their own.
class Companions {
 public:
  Companions(int threads, std::int64_t pool_bytes, const Compute& first) : current_(&first) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, pool_bytes] {
        OperandPool pool(pool_bytes);
        ++ready_;
        while (!stop_) kernel_call(*current_, pool)();
      });
    }
    while (ready_ < threads) std::this_thread::yield();
  }
  ~Companions() {
    stop_ = true;
    for (std::thread& t : threads_) t.join();
  }
  Companions(const Companions&) = delete;
  Companions& operator=(const Companions&) = delete;
  void turn_to(const Compute& op) { current_ = &op; }

 private:
  std::atomic<const Compute*> current_;
  std::atomic<int> ready_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

void bench_compute(RowsFile& file, const BenchOptions& options) {
  const bool quick = options.size == GridSize::kQuick;
  const std::int64_t pool_bytes = quick ? kQuickPoolBytes : kPoolBytes;
  const std::vector<Compute> grid = compute_grid(processor_extents(options.size));
  OperandPool pool(pool_bytes);
  Companions companions(options.threads - 1, pool_bytes / 2, grid.front());
  bench_kernels(file, options, grid, quick ? 1 : kRounds,
                [&](const Compute& op, const TimingOptions& timing) {
                  companions.turn_to(op);
                  return time_calls(kernel_call(op, pool), timing);
                });
}

}  // namespace plait
