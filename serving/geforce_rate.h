#pragma once
// At what rate llama.cpp multiplies on the professional cards that have a GeForce's chip.

#include "topologies/cluster.h"

namespace plait {

/// Their matrix units sum in fp32 at twice the GeForce's rate and more, which gains llama.cpp's
/// products nothing: of Llama 2 7B's prompts in Q4_0 an RTX A6000 takes 2,979 tokens/s and an RTX
/// 6000 Ada 3,911, where an RTX 3090 and 4090 take 2,602 and 5,531
/// (XiongjieDai/GPU-Benchmarks-on-LLM-Inference). So 16-bit products are as fast as a GeForce's:
/// two FLOP of a matrix unit for each of the CUDA cores' (GA102 and AD102 data sheets: 71 and 35.6,
/// 165.2 and 82.6 TFLOP/s). Compute capability 8.6 and 8.9; others keep their rates.
void multiply_as_geforce(Cluster& cluster);

}  // namespace plait
