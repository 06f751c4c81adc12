#pragma once
// The end of the model, and of each module that predicts a further token: a norm, the output matrix
// and a loss, unsharded.

#include <optional>

#include "plan/strategies/block_writer.h"

namespace plait {

class HeadWriter {
 public:
  struct Place {
    UnitKind unit = UnitKind::kHead;  // that has the norm
    std::string prefix;               // of its tensors' names
    Operand x, dx;                    // what comes in, and its gradient
    Operand labels;
    double weight = 1;  // of the loss
  };
  /// With a matrix of its own, in the unit, unless there is one.
  HeadWriter(Draft& d, BlockWriter& w, Place place, std::optional<BlockWriter::Parameter> matrix);

  void forward();
  void backward();
  BlockWriter::Parameter matrix() const { return out_.weight; }
  TensorId loss() const { return loss_; }

 private:
  bool casts() const { return narrow_ != logits_; }
  CrossEntropy step(CrossEntropy::Step s) const { return {s, 0, 0, wide_, place_.weight}; }

  BlockWriter& w_;
  Place place_;
  DType dtype_, wide_;  // cross-entropy is in `wide_`
  std::int64_t hidden_, vocab_;
  BlockWriter::NormWeights norm_;
  BlockWriter::Linear out_{};
  TensorId h_, logits_, narrow_, max_, sums_, loss_;  // what backward needs, and the loss
};

}  // namespace plait
