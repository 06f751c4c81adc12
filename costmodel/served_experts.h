#pragma once
// The experts' products of a serving step, as the kernels of inference engines run them
// (MatMul::served): one for all experts that have tokens, each with a weight matrix and rows of its
// own. The form is that of costmodel/gemm_fits.h without splits of k, its tiles are each within
// one expert, and t0 has what sorts the tokens by experts too. vLLM's kernels, which are Triton's
// on Ampere and Hopper and TensorRT-LLM's on Blackwell; TensorRT-LLM itself was not measured and is
// taken to do as vLLM does there. On Hopper fp8 is always that with scales for blocks of 128. 8-bit
// and 4-bit weights that are widened to 16 bits have OpenAI's kernels for MXFP4. Which data, which
// rows: tests/costmodel/fit/served_experts.h.

#include "costmodel/cost.h"
#include "costmodel/gemm_fits.h"
#include "model/kernels.h"

namespace plait {

/// nullptr where no engine's kernel was measured on the device's generation: products are then as
/// any others.
/// `scales`: Kernels::amax.
const TiledGemm* served_experts(const MatMul& op, const Device& device, Fusion scales);
/// Where there are such constants. Of the rows that tokens choose, whose number differs from expert
/// to expert, which balanced tables have not. `slowdown`: as for gemm_cost.
Cost served_experts_cost(const MatMul& op, const Device& device, Fusion scales, double slowdown);

}  // namespace plait
