#pragma once
// The part of a layer that a gated delta net has in place of attention, unsharded.

#include "plan/strategies/conv_writer.h"

namespace plait {

class DeltaNetWriter {
 public:
  DeltaNetWriter(Draft& d, BlockWriter& w, UnitKind unit);

  /// The linear layer behind it.
  const BlockWriter::Linear& out() const { return out_; }
  void forward(TensorId h, TensorId out) const;
  void backward(Operand dout, TensorId h, TensorId dh) const;

 private:
  TensorId packed(const char* name, Scope scope) const;
  /// Of each token and value head so many numbers.
  TensorId of_heads(const char* name, std::int64_t numbers, DType dtype, Scope scope) const;
  /// Of each token and value head `keys` vectors of keys and `values` of values.
  TensorId vectors(const char* name, std::int64_t keys, std::int64_t values) const;

  const Model& m_;
  BlockWriter& w_;
  DType dtype_;
  Dim samples_;
  BlockWriter::Linear in_, out_;
  ConvWriter conv_;
  BlockWriter::Parameter decay_, step_bias_, gamma_;
  TensorId packed_, kept_, stats_, inverse_, y_, norm_stats_, gated_;
};

}  // namespace plait
