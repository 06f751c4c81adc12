#pragma once
// The end of the model, and of each module that predicts a further token: a norm, the output matrix
// and a loss, unsharded; layers with norms behind them need none, and a model that tells masked
// tokens has a linear layer more. Where the loss takes tokens in pieces, its logits are those of
// one piece, and so the whole of each piece, from logits to gradients, stands in the backward
// block, which follows upon the forward block (Liger-Kernel's fused linear cross entropy, Hsu et
// al. 2024, arXiv 2410.10989, section 3.2).

#include <optional>

#include "plan/strategies/masked_lm_writer.h"

namespace plait {

/// Into how many the loss is cut. Throws InputError S071, S072.
std::int64_t loss_pieces(const Draft& draft);

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
  /// What one pass over the output matrix works on: all tokens, or those of a piece.
  struct Piece {
    TensorId h, dh, max, sums;
    Operand labels;
  };
  bool casts() const { return narrow_ != logits_; }
  TensorId logits_of(std::string name, DType dtype, Scope scope);
  Piece piece(TensorId dh, std::int64_t i);
  TensorId rows_of(TensorId whole, std::int64_t i);
  void logits_and_sums(const Piece& p);
  void gradients(const Piece& p);
  CrossEntropy step(CrossEntropy::Step s) const {
    return {s, 0, 0, d_.tensors[logits_].dtype, place_.weight};
  }

  Draft& d_;
  BlockWriter& w_;
  Place place_;
  std::int64_t pieces_;
  DType dtype_, wide_;  // of the loss and of rows' sums: `wide_`
  std::int64_t hidden_, vocab_;
  std::optional<BlockWriter::NormWeights> norm_;
  std::optional<MaskedLmWriter> masked_lm_;
  BlockWriter::Linear out_{};
  TensorId dlogits_ = kNoTensor;
  TensorId normed_, h_;                           // behind the norm; what the output matrix reads
  TensorId logits_, narrow_, max_, sums_, loss_;  // what backward needs, and the loss
};

}  // namespace plait
