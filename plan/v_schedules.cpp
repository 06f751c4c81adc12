// Schedules of two chunks per stage in the shape of a V: chunk 0 goes down the stages, chunk 1
// comes back up, so that the first stage has both ends of the model. Each is a few phases, whose
// lengths depend on the stage; a phase repeats one pattern of passes over the chunks.
//
// Both are written for as many microbatches as fill the V. With fewer of them, those that are not
// there are left out, which leaves all others in an order that can be executed.
#include <algorithm>
#include <array>
#include <deque>

#include "plan/schedule.h"

namespace plait {
namespace {

/// Appends passes; each takes the next microbatch of its chunk.
class VScheduleWriter {
 public:
  explicit VScheduleWriter(std::int64_t microbatches) : microbatches_(microbatches) {}

  void forward(std::int16_t chunk) {
    push(chunk, next_[0].at(chunk_of(chunk))++, TaskPass::kForward);
  }
  void input(std::int16_t chunk) {
    const std::int32_t microbatch = next_[1].at(chunk_of(chunk))++;
    push(chunk, microbatch, TaskPass::kBackward);
    owed_.push_back({chunk, microbatch, TaskPass::kWeightGrad});
  }
  /// B, and its W at once.
  void backward(std::int16_t chunk) {
    input(chunk);
    const Task w = owed_.back();
    owed_.pop_back();
    push(w.chunk, w.microbatch, w.pass);
  }
  /// F of one chunk and the whole backward pass of the other, side by side: F&B.
  void pair(std::int16_t forward_chunk, std::int16_t backward_chunk) {
    const std::size_t first = tasks.size();
    forward(forward_chunk);
    const std::size_t second = tasks.size();
    backward(backward_chunk);
    if (second > first && tasks.size() > second) tasks[first].pairs = true;
  }
  /// The W that has been owed for longest.
  void weights() {
    const Task w = owed_.front();
    owed_.pop_front();
    push(w.chunk, w.microbatch, w.pass);
  }
  bool owes() const { return !owed_.empty(); }
  std::int32_t forwards(std::int16_t chunk) const { return next_[0].at(chunk_of(chunk)); }
  std::vector<Task> tasks;

 private:
  static std::size_t chunk_of(std::int16_t chunk) { return static_cast<std::size_t>(chunk); }
  void push(std::int16_t chunk, std::int32_t microbatch, TaskPass pass) {
    if (microbatch < microbatches_) tasks.push_back({chunk, microbatch, pass});
  }

  std::int64_t microbatches_;
  std::array<std::array<std::int32_t, 2>, 2> next_ = {};  // microbatch of F and of B, by chunk
  std::deque<Task> owed_;
};

template <class F>
void repeat(std::int64_t times, F&& phase) {
  for (std::int64_t i = 0; i < times; ++i) phase(i);
}

}  // namespace

// ZB-V (Qi et al. 2023, section 6 and figure 8). With f = b = w a microbatch comes back up after 2
// p chunk passes, which is what the first stage has room for: 2 p chunks, the activations of p
// microbatches, as in 1F1B. From then on a stage does F B W of one chunk and of the other in turn
// and never waits.
std::vector<Task> zb_v(std::int64_t stages, std::int64_t stage, std::int64_t microbatches) {
  const std::int64_t below = stages - stage;  // stages from here to the turn
  const std::int64_t n = std::max(microbatches, 2 * stages - 1);
  VScheduleWriter w(microbatches);
  repeat(2 * below - 1, [&](std::int64_t) { w.forward(0); });
  repeat(stage, [&](std::int64_t) { w.forward(1), w.forward(0); });
  repeat(below, [&](std::int64_t) { w.forward(1), w.backward(1); });
  while (w.forwards(1) < n) {
    if (w.forwards(0) < n) w.forward(0);
    w.backward(0), w.forward(1), w.backward(1);
  }
  repeat(stage, [&](std::int64_t) { w.input(0), w.input(1); });
  repeat(below, [&](std::int64_t) { w.input(0), w.weights(); });
  while (w.owes()) w.weights();
  return std::move(w.tasks);
}

// DualPipeV: DualPipe (DeepSeek-AI 2024, DeepSeek-V3 technical report, section 3.2.1), which feeds
// microbatches from both ends of 2 p devices that hold two pieces each, folded in half, so that p
// devices with two pieces each do the same on one copy of the parameters. Steps 1 to 8 are those of
// github.com/deepseek-ai/DualPipe.
std::vector<Task> dualpipe_v(std::int64_t stages, std::int64_t stage, std::int64_t microbatches) {
  const std::int64_t further = stages - stage - 1, passed = stage + 1;
  const std::int64_t n = std::max(microbatches, 2 * stages);
  VScheduleWriter w(microbatches);
  repeat(2 * further, [&](std::int64_t) { w.forward(0); });
  repeat(passed, [&](std::int64_t) { w.forward(0), w.forward(1); });
  repeat(further, [&](std::int64_t) { w.input(1), w.weights(), w.forward(1); });
  repeat(n - 2 * stages + passed, [&](std::int64_t i) {
    // At the turn the first pair would keep the microbatch from the other chunk.
    if (i == 0 && further == 0) {
      w.forward(0), w.backward(1);
    } else {
      w.pair(0, 1);
    }
    w.pair(1, 0);
  });
  repeat(further, [&](std::int64_t) { w.backward(1), w.pair(1, 0); });
  // From the middle of step 6 on W is put off: the stages before wait for B.
  repeat(2 * passed, [&](std::int64_t i) {
    const auto chunk = static_cast<std::int16_t>(1 - i % 2);
    i < passed ? w.backward(chunk) : w.input(chunk);
  });
  repeat(further, [&](std::int64_t) { w.weights(), w.input(0); });
  while (w.owes()) w.weights();
  return std::move(w.tasks);
}

// DualPipe itself: both halves of the stages do what DualPipeV's stages do, the second half with
// the microbatches that enter at the last stage. A microbatch that DualPipeV would turn round goes
// on into the other half.
std::vector<Task> dualpipe(std::int64_t stages, std::int64_t stage, std::int64_t microbatches) {
  const std::int64_t down = (microbatches + 1) / 2;  // of them enter at the first stage
  const bool upper = stage < stages / 2;
  const auto there = [&](const Task& t) { return t.microbatch < microbatches; };
  std::vector<Task> out, all = dualpipe_v(stages / 2, upper ? stage : stages - 1 - stage, down);
  for (Task& t : all) {
    if (!upper) t.chunk = static_cast<std::int16_t>(1 - t.chunk);
    if (t.chunk == 1) t.microbatch += static_cast<std::int32_t>(down);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!there(all[i])) continue;
    out.push_back(all[i]);
    out.back().pairs = all[i].pairs && there(all[i + 1]);
  }
  return out;
}

}  // namespace plait
