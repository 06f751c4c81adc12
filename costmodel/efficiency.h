#pragma once
// What kernels achieve of a device's data-sheet numbers: fractions of peak and fixed times by GPU
// generation, with their sources in efficiency.cpp. The detailed form of products has its own
// (gemm_fits.h).

#include <cstdint>

#include "costmodel/cost.h"
#include "topologies/cluster.h"

namespace plait {

enum class Generation : std::uint8_t { kCpu, kVolta, kAmpere, kHopper, kBlackwell, kCdna };

/// By compute capability: 70-79 Volta (and Turing), 80-89 Ampere (and Ada), 90-99 Hopper, from 100
/// Blackwell, from 900 AMD's CDNA, by whose kernels nothing was fitted; 0 is a processor.
Generation generation_of(const Device& device);

/// One of the GPUs whose kernels were measured: A100, A800, H100, H800, B200.
bool is_measured(const Device& device);

/// Clocks a second of a multiprocessor, at which its peak on vectors holds.
double clock_of(const Device& device);

/// What the largest products reach of a type's peak, over the same for the GPU of its generation
/// whose kernels were measured: Device::matmul_yield, and what is known of the type.
double matmul_yield(const Device& device, DType dtype);

/// How much longer a product takes between the other kernels of a layer than when it is repeated
/// alone, which is what the fits are made of: other clocks, caches and queues.
double between_other_kernels(const Device& device);

/// How good a set of constants is.
struct Quality {
  Provenance provenance = Provenance::kDatasheet;
  double band = 0;  // half-width of the relative error band
};

/// What a fitted formula says of a kernel: seconds on multiprocessors, on memory, and `fixed` ones
/// as on the GPU that was measured.
struct KernelTime {
  Seconds fixed, compute, memory;
  Seconds total() const { return fixed + compute + memory; }
};

/// What compute and memory take that overlap, in seconds: (C^3 + M^3)^(1/3).
double overlapped(double compute, double memory);
/// The same with a fixed time, shared out by what each saves of it to first order: C^3 to M^3.
KernelTime overlapped(Seconds fixed, Seconds compute, Seconds memory);

/// t = fixed + max(F / (flops P), B / (bandwidth BW)), by generation: for processors, and GPUs of
/// which the number of multiprocessors is not known.
struct GemmFit {
  double flops = 0;      // achieved fraction of the dense peak
  double bandwidth = 0;  // achieved fraction of the memory bandwidth
  Seconds fixed;
  Quality quality;
};
GemmFit gemm_fit(const Device& device, DType dtype);

/// Kernels that stream their operands: t = fixed + B / (fraction BW) (memory_bound.cpp).
enum class StreamKind : std::uint8_t {
  kCopy,        // add, cast, fill, reductions, optimizer
  kNorm,        // a reduction over rows, then a second read from cache
  kActivation,  // gated or plain
  kRope,        // strided halves of a head
  kEmbedding,   // gather and scatter of rows
  kSoftmax,     // row-wise exponentials
  kTensorList,  // one kernel over a list of tensors
  kAmax,        // the largest magnitude of all
  kQuantise     // from 16 bits to 4 with a scale for each block
};
struct StreamFit {
  double bandwidth = 0;  // fraction of the memory bandwidth for operands from memory
  double l2 = 0;         // the same for those that are in the L2 cache: may exceed 1
  Seconds fixed;
  Quality quality;
};
StreamFit stream_fit(const Device& device, StreamKind kind);

/// The fixed time of a kernel on this device: `fitted` was measured on its generation, where the
/// time of an empty kernel is known, and it scales with the device's launch overhead.
Seconds fixed_time(const Device& device, Seconds fitted);

}  // namespace plait
