#include "costmodel/efficiency.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "costmodel/microseconds.h"

namespace plait {
namespace {

// Prefixes of names. A800 and H800 are A100 and H100 with fewer NVLinks.
struct MeasuredFamily {
  std::string_view prefix;
  Generation generation;
};
constexpr std::array<MeasuredFamily, 5> kMeasured = {{{"a100", Generation::kAmpere},
                                                      {"a800", Generation::kAmpere},
                                                      {"h100", Generation::kHopper},
                                                      {"h800", Generation::kHopper},
                                                      {"b200", Generation::kBlackwell}}};

double cube(double x) { return x * x * x; }

}  // namespace

double overlapped(double compute, double memory) { return std::cbrt(cube(compute) + cube(memory)); }

KernelTime overlapped(Seconds fixed, Seconds compute, Seconds memory) {
  if (compute.value == 0) return {fixed, compute, memory};
  const Seconds both(overlapped(compute.value, memory.value));
  const Seconds on_compute = both / (1 + cube(memory / compute));
  return {fixed, on_compute, both - on_compute};
}

Generation generation_of(const Device& device) {
  if (device.compute_capability >= 900) return Generation::kCdna;
  if (device.compute_capability >= 100) return Generation::kBlackwell;
  if (device.compute_capability >= 90) return Generation::kHopper;
  if (device.compute_capability >= 80) return Generation::kAmpere;
  if (device.compute_capability > 0) return Generation::kVolta;
  return Generation::kCpu;
}

// A yield relates a GPU to the measured one of its generation, whose own is 1: H100 PCIe and NVL
// have other peaks than the H100 SXM that was measured.
bool is_measured(const Device& device) {
  if (device.matmul_yield != 1) return false;
  for (const MeasuredFamily& m : kMeasured)
    if (device.name.starts_with(m.prefix) && generation_of(device) == m.generation) return true;
  return false;
}

// Fused multiply-adds of a multiprocessor per clock: CUDA C++ Programming Guide, throughput of
// native arithmetic instructions.
double clock_of(const Device& device) {
  const double lanes = device.compute_capability <= 80 ? 64 : 128;
  return device.vector_fp32.value / (2 * lanes * std::max(device.sms, 1));
}

// Twelve products of a layer of 4,096 and 16,384 columns and 15,872 tokens, as Transformer Engine
// calls cuBLAS on B300 (docs/examples/gemm_profiling/gemm_profiling.rst): in nvfp4 3.48 times as
// fast as in bf16 (13.102 and 3.764 ms), where B200's share of the peaks would say 4.29.
constexpr int kUltra = 103;
constexpr double kUltraFour = 3.48 / 4.29;

double matmul_yield(const Device& device, DType dtype) {
  const bool four = dtype == DType::kNvfp4 && device.compute_capability == kUltra;
  return device.matmul_yield * (four ? kUltraFour : 1);
}

// Vidur's profiles of layers over the model, medians of products of 2,048 rows and more: A100 1.08
// (9,552 products), H100 1.10 (4,288). Other GPUs: the mean of the two, assumed.
double between_other_kernels(const Device& device) {
  switch (generation_of(device)) {
    case Generation::kCpu: return 1;
    case Generation::kAmpere: return 1.08;
    case Generation::kHopper: return 1.10;
    case Generation::kVolta:
    case Generation::kCdna:
    case Generation::kBlackwell: return 1.09;
  }
  return 1;
}

// e, b and t0 fitted to AIConfigurator's gemm_perf tables of A100, H100 and B200 (bf16, n and k >=
// 1024, logarithmic loss); with peak and bandwidth swapped they miss other devices' tables by 7.5 %
// (H100 -> H200) to 15.5 % (A100 -> H100). fp8 and nvfp4: the median rate of products with 4k <= m,
// n, k <= 16k. Volta borrows Ampere's constants. A processor: 0.7 of both, assumed. CDNA: of what
// the best product reaches on MI300X, 0.51 of the peak (ml-engineering), nine tenths, as on the
// others; the bandwidth of its copies, below; t0 as on Ampere, assumed.
GemmFit gemm_fit(const Device& device, DType dtype) {
  const bool fp8 = dtype == DType::kFp8 || dtype == DType::kInt8;
  const double blackwell = dtype == DType::kNvfp4 ? 0.51 : fp8 ? 0.47 : 0.677;
  switch (generation_of(device)) {
    case Generation::kCpu: return {0.70, 0.70, us(1), {Provenance::kDatasheet, 0.5}};
    case Generation::kVolta: return {0.758, 0.746, us(7.3), {Provenance::kDatasheet, 0.25}};
    case Generation::kAmpere:
      return {fp8 ? 0.57 : 0.758, 0.746, us(7.3), {Provenance::kDatasheet, 0.25}};
    case Generation::kHopper:
      return {fp8 ? 0.57 : 0.774, 0.826, us(3.6), {Provenance::kDatasheet, 0.2}};
    case Generation::kBlackwell: return {blackwell, 0.718, us(3.2), {Provenance::kDatasheet, 0.2}};
    case Generation::kCdna: return {0.46, 0.75, us(7.3), {Provenance::kDatasheet, 0.4}};
  }
  return {};
}

namespace {

// Streaming ceilings over the data-sheet bandwidth: BabelStream in Azure's AI benchmarking guide,
// 0.79-0.86 on A100, 0.87-0.95 on H100, 0.84-0.93 on H200; Blackwell from the weight streaming of
// skinny products, 0.75-0.89 (AIConfigurator). L2 rates: Vidur's residual-add profile.
double ceiling(Generation generation) {
  switch (generation) {
    case Generation::kCpu: return 0.75;
    case Generation::kVolta: return 0.80;
    case Generation::kAmpere: return 0.83;
    case Generation::kHopper: return 0.90;
    case Generation::kBlackwell: return 0.85;
    case Generation::kCdna: return 0.80;
  }
  return 0;
}

// t0, b and b_L2 of add, rope and embedding: fitted to Vidur's profiles of vLLM kernels on A100 and
// H100, 7 of 10 shapes; add with b as above and t0 of an empty kernel; StreamFits.* in
// tests/costmodel fits them anew and prints the errors of the others. Norms and activations of
// inference engines (0.34-0.58) are not what training runs: with t0 from the same profiles, fused
// training kernels are taken at 0.75 of the bandwidth, an assumption with a wide band. kAmax:
// TensorRT-LLM's on B200 (AIConfigurator's computescale table, a dynamic cast less a static one), 7
// of 10 shapes, CastFits.*; kQuantise: what casts of three inference engines to nvfp4 add to their
// products, GemmFits.*. Both stand for Transformer Engine's (casts.cpp).
// kTensorList: PyTorch's multi_tensor_apply reaches 0.84 of a copy's 3.0 TB/s on H100 in fused
// AdamW of 3 billion parameters, and 0.87 in products, norms, copies and zeros of as many
// (reports/gpu/h100/torch-kernels.json); the same fraction elsewhere, assumed.
StreamFit gpu_stream(StreamKind kind, Generation generation) {
  const bool late = generation == Generation::kHopper || generation == Generation::kBlackwell;
  const Quality fitted{Provenance::kFitted, 0.1}, assumed{Provenance::kDatasheet, 0.25};
  const Quality other_library{Provenance::kDatasheet, 0.3};
  const Quality of_hopper{
      generation == Generation::kHopper ? Provenance::kFitted : Provenance::kDatasheet, 0.15};
  switch (kind) {
    case StreamKind::kCopy:
      return {ceiling(generation), late ? 1.356 : 1.334, us(late ? 1.3 : 1.9), fitted};
    case StreamKind::kNorm: return {0.75, 0.9, us(late ? 3.7 : 4.0), assumed};
    case StreamKind::kActivation: return {0.75, 1.0, us(late ? 1.9 : 2.6), assumed};
    case StreamKind::kRope:
      return {late ? 0.455 : 0.411, late ? 0.544 : 0.506, us(late ? 2.0 : 2.68), fitted};
    case StreamKind::kEmbedding:
      return {late ? 0.177 : 0.144, late ? 0.191 : 0.163, us(late ? 2.59 : 2.95), fitted};
    case StreamKind::kSoftmax: return {0.75, 0.9, us(late ? 3.7 : 4.0), assumed};
    case StreamKind::kTensorList:
      return {0.86 * ceiling(generation), 1.0, us(late ? 1.3 : 1.9), of_hopper};
    case StreamKind::kAmax: return {0.369, 0.503, us(8.91), other_library};
    case StreamKind::kQuantise: return {0.671, 0.671, us(4.28), other_library};
  }
  return {};
}

}  // namespace

StreamFit stream_fit(const Device& device, StreamKind kind) {
  const Generation generation = generation_of(device);
  if (generation == Generation::kCpu) {
    const double b = kind == StreamKind::kCopy ? ceiling(generation) : 0.5;
    return {b, b, us(1), {Provenance::kDatasheet, 0.5}};
  }
  StreamFit fit = gpu_stream(kind, generation);
  if (!is_measured(device)) fit.quality = {Provenance::kDatasheet, 0.25};
  if (generation == Generation::kCdna) fit.quality.band = 0.4;
  return fit;
}

// An empty kernel: Vidur's profiles of a residual addition at zero bytes, 1.9 us on A100, 1.3 us on
// H100. A processor calls a function in about a microsecond, threads included (assumed).
Seconds fixed_time(const Device& device, Seconds fitted) {
  switch (generation_of(device)) {
    case Generation::kCpu: return fitted * (device.launch_overhead / us(1));
    case Generation::kVolta:
    case Generation::kCdna:
    case Generation::kAmpere: return fitted * (device.launch_overhead / us(1.9));
    case Generation::kHopper:
    case Generation::kBlackwell: return fitted * (device.launch_overhead / us(1.3));
  }
  return fitted;
}

}  // namespace plait
