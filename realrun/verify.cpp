#include "realrun/verify.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "plan/memory.h"
#include "realrun/transport/threads.h"
#include "realrun/walk.h"

namespace plait {
namespace {

/// Gradients of the whole model: per tensor ("name of layer l"), by global element.
struct Gradients {
  std::map<std::string, std::map<std::int64_t, double>> tensors;
  bool replicas_agree = true;
  double loss = 0;
  bool memory_as_planned = true;
};

template <class T>
class WorldRun {
 public:
  WorldRun(const Model& model, const Plan& plan) : model_(model), plan_(plan) {}

  Gradients run() {
    const std::int64_t n = plan_.mesh.world_size();
    std::vector<std::thread> threads;
    for (std::int64_t r = 0; r < n; ++r) threads.emplace_back([this, r] { run_rank(r); });
    for (std::thread& t : threads) t.join();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(out_);
  }

 private:
  void run_rank(std::int64_t r) {
    try {
      const std::unique_ptr<Transport> transport = world_.transport(r);
      Walker<T> walker(plan_, model_, r, *transport);
      walker.step();
      const std::lock_guard lock(mutex_);
      collect(walker);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      world_.abort();
    }
  }

  void collect(Walker<T>& walker) {
    const Rank& rank = walker.rank();
    const StageMemory planned = live_memory(plan_, rank.stage);
    out_.memory_as_planned = out_.memory_as_planned && planned.peak == walker.buffers().peak();
    for (const UnitBuffers& unit : unit_buffers(plan_)) {
      const TensorId held = unit.gradient_shard == kNoTensor ? unit.gradients : unit.gradient_shard;
      for (std::int32_t layer : layers_of(plan_, rank.stage, unit.anchor())) {
        collect_unit(walker, unit, held, layer);
      }
    }
    collect_loss(walker);
  }
  /// This rank's valid part of the unit's gradients: the share that its optimizer state covers.
  void collect_unit(Walker<T>& walker, const UnitBuffers& unit, TensorId held, std::int32_t layer) {
    const Rank& rank = walker.rank();
    const AxisSet axes = plan_.tensors[unit.moment].dims[0].sharded;
    const ShareOfBuffer share = share_of_buffer(plan_, rank, plan_.tensors[unit.gradients], axes);
    const T* data = reinterpret_cast<const T*>(walker.buffers().member(held, layer, 0));
    const std::int64_t begin = held == unit.gradients ? 0 : share.first;
    for (std::size_t v = 0; v < unit.gradient_views.size(); ++v) {
      const Tensor& t = plan_.tensors[unit.gradient_views[v]];
      const std::string name = canonical_weight(plan_.tensors[unit.weight_views[v]].name, model_) +
                               " of layer " + std::to_string(layer);
      for (std::int64_t i = 0; i < t.elements(plan_.mesh); ++i) {
        const std::int64_t flat = t.offset + i;
        if (flat < share.first || flat >= share.first + share.elements) continue;
        keep(name, global_index(t, plan_.mesh, rank, i), static_cast<double>(data[flat - begin]));
      }
    }
  }
  void keep(const std::string& name, std::int64_t element, double value) {
    const auto [at, fresh] = out_.tensors[name].emplace(element, value);
    if (!fresh && at->second != value) out_.replicas_agree = false;
  }
  void collect_loss(Walker<T>& walker) {
    const Rank& rank = walker.rank();
    if (rank.stage + 1 != plan_.programs.size() || rank.along(Axis::kTp) != 0) return;
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      if (plan_.tensors[t].name != "loss") continue;
      for (std::int32_t mb = 0; mb < plan_.microbatches; ++mb) {
        out_.loss += static_cast<double>(
            *reinterpret_cast<const T*>(walker.buffers().member(static_cast<TensorId>(t), 0, mb)));
      }
    }
  }

  const Model& model_;
  const Plan& plan_;
  ThreadWorld world_{plan_.mesh.world_size()};
  std::mutex mutex_;
  std::exception_ptr failure_;
  Gradients out_;
};

Gradients gradients(const Model& model, const Plan& plan, RunPrecision precision) {
  openblas_set_num_threads(1);  // the ranks are the threads
  if (precision == RunPrecision::kFp32) return WorldRun<float>(model, plan).run();
  return WorldRun<double>(model, plan).run();
}

/// |a - b| / |b| over the elements of b; 1 for elements that a lacks.
double relative_error(const std::map<std::int64_t, double>& a,
                      const std::map<std::int64_t, double>& b) {
  double difference = 0, size = 0;
  for (const auto& [element, expected] : b) {
    const auto found = a.find(element);
    const double got = found == a.end() ? 0 : found->second;
    difference += (got - expected) * (got - expected);
    size += expected * expected;
  }
  return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

}  // namespace

Verification verify(const Model& model, const Plan& plan, const Plan& unsharded,
                    RunPrecision precision) {
  const Gradients expected = gradients(model, unsharded, precision);
  const Gradients got = gradients(model, plan, precision);
  Verification out;
  out.ranks = plan.mesh.world_size();
  out.loss = got.loss, out.reference_loss = expected.loss;
  out.replicas_agree = got.replicas_agree;
  out.memory_as_planned = got.memory_as_planned && expected.memory_as_planned;
  for (const auto& [name, values] : expected.tensors) {
    const auto found = got.tensors.find(name);
    const double error = found == got.tensors.end() ? 1 : relative_error(found->second, values);
    if (error > out.worst_error) out.worst_error = error, out.worst_tensor = name;
  }
  return out;
}

}  // namespace plait
