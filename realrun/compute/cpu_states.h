#pragma once
// The ops of mixers with states on the processor: which operand goes where.

#include "kernels/normed_gate.h"
#include "realrun/compute.h"
#include "realrun/compute/op_view.h"

namespace plait {

template <class T>
class CpuStates : private OpView {
 public:
  CpuStates(const OpView& view, const Operands& operands) : OpView(view), operands_(operands) {}

  void operator()(const CausalConv& c) {
    const T* none = nullptr;
    if (c.pass == Pass::kForward) {
      const std::size_t out = c.bias ? 3 : 2;
      return kernels::causal_conv_forward(at(out), at(0), at(1), c.bias ? at(2) : none,
                                          shape_of(c, 0, out));
    }
    const std::size_t dx = c.bias ? 4 : 3, dw = dx + 1;
    kernels::causal_conv_backward(at(dx), at(dw), c.bias ? at(dw + 1) : nullptr, at(0), at(1),
                                  at(2), c.bias ? at(3) : none, shape_of(c, 1, 0), updates(dw));
  }
  void operator()(const DeltaRule& r) {
    if (r.pass == Pass::kForward) {
      const kernels::DeltaRuleWeights<T> weights{at(2), at(3)};
      return kernels::delta_rule_forward<T>(at(4), {at(5), at(6)}, at(8), at(0), at(1), weights,
                                            shape_of(r, 1));
    }
    const kernels::DeltaRuleWeights<T> weights{at(5), at(6)};
    const kernels::DeltaRuleGradients<T> gradients{at(9), at(10)};
    kernels::delta_rule_backward<T>(at(7), at(8), gradients, at(11), at(0), {at(1), at(2)}, at(4),
                                    weights, shape_of(r, 4), updates(9));
  }
  void operator()(const Scan& s) {
    if (s.pass == Pass::kForward) {
      const kernels::ScanWeights<T> weights{at(2), at(3), at(4)};
      return kernels::scan_forward<T>(at(5), at(6), at(0), at(1), weights, shape_of(s, 1));
    }
    const kernels::ScanWeights<T> weights{at(3), at(4), at(5)};
    const kernels::ScanGradients<T> gradients{at(8), at(9), at(10)};
    kernels::scan_backward<T>(at(6), at(7), gradients, at(11), at(0), at(1), at(2), weights,
                              shape_of(s, 2), updates(8));
  }
  void operator()(const GatedNorm& n) {
    if (n.gate_last && n.pass == Pass::kForward) {
      return kernels::normed_gate_forward(at(3), at(4), at(0), at(1), at(2), shape_of(n, 1),
                                          kNormEpsilon);
    }
    if (n.gate_last) {
      return kernels::normed_gate_backward(at(5), at(6), at(7), at(0), at(1), at(2), at(3), at(4),
                                           shape_of(n, 2), updates(7));
    }
    if (n.pass == Pass::kForward) {
      return kernels::gated_norm_forward(at(3), at(4), at(0), at(1), at(2), shape_of(n, 1),
                                         kNormEpsilon);
    }
    kernels::gated_norm_backward(at(5), at(6), at(7), at(8), at(0), at(1), at(2), at(3), at(4),
                                 shape_of(n, 2), updates(7));
  }

 private:
  T* at(std::size_t i) { return operands_.at<T>(i); }

  const Operands& operands_;
};

}  // namespace plait
