#pragma once
// What steps take, from simulating their plans, once per shape. Shapes are taken as engines run
// them: steps that only generate are padded to the batch sizes for which a CUDA graph was captured.
// Such a graph is one launch of the host; of other steps it issues each kernel
// (docs/models/issue.md). Beyond 64, token counts and contexts are rounded to 1/64 of their size,
// which changes no step by more; below they are exact.

#include <map>
#include <tuple>

#include "costmodel/costmodel.h"
#include "plan/serving.h"
#include "serving/serve.h"
#include "topologies/cluster.h"

namespace plait {

/// Everything that a step's time depends on besides its shape.
struct ServedModel {
  Model model;
  ServingPrecision precision;
  ServingLayout layout;
  Cluster cluster;
  CostModel costs;
  std::vector<std::int64_t> placement;  // device of each rank; empty: rank r on device r
  bool graphs = true;                   // steps that only generate are padded
  /// Weights in host memory are pages of the mapped file (llama.cpp), not read into it.
  bool mapped_weights = false;
};

/// vLLM's capture sizes (vllm/config/compilation.py): 1, 2, 4, then multiples of 8, from 256 on of
/// 16; beyond 512 there are none and steps run as they are.
std::int64_t padded_batch(std::int64_t sequences);
/// A step that only generates, of no more tokens than graphs were captured for.
bool is_captured(const Step& step);
/// To six significant bits, to nearest.
std::int64_t rounded(std::int64_t n);
/// The shape that stands for `step`.
Step priced_shape(const Step& step, bool graphs);

/// One step, exactly.
StepTime time_step(const ServedModel& served, const Step& step);

class StepCosts {
 public:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t>;
  static Key key_of(const Step& shape);

  explicit StepCosts(const ServedModel& served) : served_(served) {}
  const StepTime& operator()(const Step& step);
  std::size_t shapes() const { return known_.size(); }
  bool graphs() const { return served_.graphs; }

 private:
  const ServedModel& served_;
  std::map<Key, StepTime> known_;
};

}  // namespace plait
