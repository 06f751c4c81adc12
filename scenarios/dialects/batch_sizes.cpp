#include "scenarios/dialects/batch_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/capped_product.h"
#include "core/error.h"

namespace plait {
namespace {

constexpr const char *kGlobal = "workload.global_batch", *kMicro = "workload.micro_batch";

class Batches {
 public:
  Batches(ScenarioTree& tree, const Imported& imported, const std::string& file,
          std::int64_t replicas)
      : tree_(tree),
        imported_(imported),
        file_(file),
        steps_(accumulation_steps(imported)),
        samples_(capped_product({steps_, replicas})),
        replicas_(replicas) {}

  void agree(Warnings* warnings) {
    if (imported_.accumulation.by_default && tree_.find(kGlobal) != nullptr) return;
    const Given *global = given(kGlobal), *micro = given(kMicro);
    if (global == nullptr && micro == nullptr) return agree_with_base();
    if (global == nullptr) return tree_.set(kGlobal, of(*micro));
    const std::int64_t sequences = std::stoll(global->value);
    if (micro == nullptr) {
      if (sequences % samples_ != 0) refuse(*global, nullptr);
      return tree_.set(kMicro, sequences / samples_);
    }
    const std::int64_t once = of(*micro);
    const bool agrees = imported_.repeats_steps ? sequences % once == 0 : sequences == once;
    if (!agrees) refuse(*global, micro);
    if (sequences > once && tree_.size("pp") > 1 && warnings != nullptr)
      warnings->push_back(flushes(*global, *micro, sequences / once));
  }

 private:
  const Given* given(std::string_view path) const {
    const auto found = std::ranges::find(imported_.given, path, &Given::path);
    return found == imported_.given.end() ? nullptr : &*found;
  }
  /// Sequences of the steps that the file says, over all replicas.
  std::int64_t of(const Given& micro) const {
    return capped_product({std::stoll(micro.value), samples_});
  }

  [[noreturn]] void refuse(const Given& global, const Given* micro) const {
    const bool times = imported_.repeats_steps || micro == nullptr;
    const std::int64_t once = micro == nullptr ? samples_ : of(*micro);
    throw InputError({"D004",
                      fmt::format("a batch of {} is not {} x {} accumulation steps x {} replicas{}",
                                  global.value, micro == nullptr ? "a micro-batch" : micro->value,
                                  steps_, replicas_, imported_.repeats_steps ? ", or several" : ""),
                      {file_, global.line, 0,
                       imported_.repeats_steps ? "training.global_batch_size" : "train_batch_size"},
                      fmt::format("{}{}", times ? "a multiple of " : "", once),
                      "correct the batch sizes, or name the machine with --base"});
  }

  /// torchtitan runs the schedule of its pipeline once for each local batch, and starts the next
  /// when all of it is back (torchtitan/train.py, train_step and forward_backward_step).
  Warning flushes(const Given& global, const Given& micro, std::int64_t times) const {
    const std::int64_t local = std::stoll(micro.value) * steps_;
    return {
        "W008",
        fmt::format(
            "a batch of {0} (line {1}) is {2} local batches of {3} for each of {4} replicas: the "
            "program fills and drains its pipeline {2} times in a step, and here it is filled "
            "once, which is faster; to run what is predicted, set local_batch_size to {5}",
            global.value, global.line, times, local, replicas_, local * times)};
  }

  /// Steps alone go with the micro-batch of the base, or where it has none with its batch.
  void agree_with_base() {
    const auto of_base = [&](const char* path) {
      const ScenarioTree::Node* at = tree_.find(path);
      return at != nullptr && at->is_number_integer() ? at->get<std::int64_t>() : 0;
    };
    const std::int64_t global = of_base(kGlobal);
    if (const std::int64_t micro = of_base(kMicro); micro > 0) {
      tree_.set(kGlobal, capped_product({micro, samples_}));
    } else if (global > 0 && samples_ > 0 && global % samples_ == 0) {
      tree_.set(kMicro, global / samples_);
    } else if (global > 0) {
      throw InputError(
          {"D004",
           fmt::format("a batch of {} is no multiple of {} accumulation steps x {} replicas",
                       global, steps_, replicas_),
           {file_, imported_.accumulation.line, 0, imported_.accumulation.path},
           fmt::format("a multiple of {}", samples_),
           "correct it, or name workload.micro_batch in the base: the batch follows"});
    }
  }

  ScenarioTree& tree_;
  const Imported& imported_;
  const std::string& file_;
  std::int64_t steps_, samples_, replicas_;
};

}  // namespace

std::int64_t accumulation_steps(const Imported& imported) {
  const std::string& n = imported.accumulation.value;
  return n.empty() ? 0 : std::stoll(n);
}

void agree_on_batches(ScenarioTree& tree, const Imported& imported, const std::string& file,
                      std::int64_t replicas, Warnings* warnings) {
  if (accumulation_steps(imported) == 0) return;
  Batches(tree, imported, file, replicas).agree(warnings);
}

}  // namespace plait
