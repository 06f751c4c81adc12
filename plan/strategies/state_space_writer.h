#pragma once
// The part of a layer that a state-space mixer has in place of attention, unsharded.

#include "plan/strategies/conv_writer.h"

namespace plait {

class StateSpaceWriter {
 public:
  StateSpaceWriter(Draft& d, BlockWriter& w, UnitKind unit);

  /// The linear layer behind it.
  const BlockWriter::Linear& out() const { return out_; }
  void forward(TensorId h, TensorId out) const;
  void backward(Operand dout, TensorId h, TensorId dh) const;

 private:
  /// Of each token and group with the tokens of its chunk.
  TensorId scores(const char* name) const;
  TensorId packed(const char* name, Scope scope) const;

  const Model& m_;
  BlockWriter& w_;
  DType dtype_;
  Dim samples_;
  BlockWriter::Linear in_, out_;
  ConvWriter conv_;  // x, B and C
  BlockWriter::Parameter decay_, direct_, step_bias_, gamma_;
  TensorId packed_, y_, stats_;
};

}  // namespace plait
