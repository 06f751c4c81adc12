#include <cblas.h>

#include <atomic>
#include <thread>
#include <vector>

#include "model/op_json.h"
#include "realrun/bench/bench.h"
#include "realrun/bench/kernel_call.h"
#include "realrun/bench/timing.h"

namespace plait {
namespace {

// Larger than any second-level cache, and than what a virtual machine gets of a shared third level.
constexpr std::int64_t kPoolBytes = 256 << 20, kQuickPoolBytes = 16 << 20;

/// Products vary more from call to call, and most of a step is spent in them.
double seconds_of(const Compute& op) { return uses_matrix_units(op) ? 0.03 : 0.015; }
constexpr double kQuickSeconds = 0.002;
/// The speed of a core changes for seconds at a time, by 4:3 on virtual machines whose cores are
/// hyperthreads: rounds that are far apart meet several of its states.
constexpr int kRounds = 3;

/// Threads that compute the same op as the measured one, over and over, from pools of their own.
class Companions {
 public:
  Companions(int threads, std::int64_t pool_bytes, const std::vector<Compute>& grid) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, pool_bytes, &grid] {
        OperandPool pool(pool_bytes);
        ++ready_;
        while (!stop_) kernel_call(grid[current_], pool)();
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
  void turn_to(std::size_t op) { current_ = op; }

 private:
  std::atomic<std::size_t> current_ = 0;
  std::atomic<int> ready_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

/// The grid in rounds; a row for each op and round.
class Rounds {
 public:
  Rounds(RowsFile& file, const BenchOptions& options, const std::vector<Compute>& grid)
      : file_(file),
        options_(options),
        grid_(grid),
        quick_(options.size == GridSize::kQuick),
        pool_(pool_bytes()),
        companions_(options.threads - 1, pool_bytes() / 2, grid) {
    double whole = 0;
    for (const Compute& op : grid) whole += seconds_of(op) * rounds();
    if (options.seconds > 0) scale_ = options.seconds / whole;
  }

  void measure() {
    for (int round = 0; round < rounds(); ++round) {
      for (std::size_t i = 0; i < grid_.size(); ++i) measure(round, i);
    }
  }

 private:
  int rounds() const { return quick_ ? 1 : kRounds; }
  std::int64_t pool_bytes() const { return quick_ ? kQuickPoolBytes : kPoolBytes; }

  void measure(int round, std::size_t i) {
    KernelRow row;
    row.op = grid_[i], row.round = round;
    if (file_.has(row)) return;
    const auto done = static_cast<std::size_t>(round) * grid_.size() + i;
    options_.progress(done, static_cast<std::size_t>(rounds()) * grid_.size(),
                      std::string(kernel_name(row.op)));
    companions_.turn_to(i);
    TimingOptions timing;
    timing.seconds = quick_ && options_.seconds == 0 ? kQuickSeconds : seconds_of(row.op) * scale_;
    timing.least_repeats = 3;
    const Timed t = time_calls(kernel_call(row.op, pool_), timing);
    row.repeats = t.repeats, row.calls = t.calls, row.wall = t.wall, row.cpu = t.cpu;
    row.switches = t.switches;
    file_.add(row);
  }

  RowsFile& file_;
  const BenchOptions& options_;
  const std::vector<Compute>& grid_;
  bool quick_;
  double scale_ = 1;
  OperandPool pool_;
  Companions companions_;
};

}  // namespace

void bench_compute(RowsFile& file, const BenchOptions& options) {
  ::openblas_set_num_threads(1);
  const std::vector<Compute> grid = compute_grid(options.size);
  Rounds(file, options, grid).measure();
}

}  // namespace plait
