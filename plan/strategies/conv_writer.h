#pragma once
// The short causal convolution of a mixer with states: over the middle columns of what its first
// product made (model/state_space_ops.h).

#include "plan/strategies/block_writer.h"

namespace plait {

class ConvWriter {
 public:
  /// `sections` of the channels, which tp splits one by one.
  ConvWriter(Draft& d, BlockWriter& w, UnitKind unit, const Sections& sections, bool bias)
      : w_(w),
        dtype_(d.workload.precision.weights),
        channels_{d.model.conv_channels(), {}, sections} {
    taps_ = w.parameter(unit, "layer.conv.weight", {channels_, Dim{d.model.conv_width}});
    if (bias) bias_ = w.parameter(unit, "layer.conv.bias", {channels_});
  }

  /// The channels alone, of this call.
  TensorId rows(const char* name) const {
    return w_.temporary(name, channels_.global, channels_.sections);
  }
  void forward(TensorId packed, TensorId out, Phase phase = Phase::kForward) const {
    std::vector<Operand> o = {read(packed), read(taps_.weight)};
    if (has_bias()) o.push_back(read(bias_.weight));
    o.push_back(written(out));
    w_.emit(body(Pass::kForward), phase, std::move(o));
  }
  void backward(TensorId dout, TensorId packed, TensorId dpacked) const {
    std::vector<Operand> o = {read(dout), read(packed), read(taps_.weight)};
    if (has_bias()) o.push_back(read(bias_.weight));
    o.push_back(update(dpacked)), o.push_back(update(taps_.gradient));
    if (has_bias()) o.push_back(update(bias_.gradient));
    w_.emit(body(Pass::kBackward), Phase::kBackward, std::move(o));
  }

 private:
  bool has_bias() const { return bias_.weight != kNoTensor; }
  CausalConv body(Pass pass) const {
    CausalConv conv;
    conv.pass = pass, conv.dtype = dtype_, conv.bias = has_bias();
    return conv;
  }

  BlockWriter& w_;
  DType dtype_;
  Dim channels_;
  BlockWriter::Parameter taps_{}, bias_ = {kNoTensor, kNoTensor};
};

}  // namespace plait
