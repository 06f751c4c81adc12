#include "costmodel/gemm_fits.h"

namespace plait {
namespace {

// Fitted to AIConfigurator's gemm_perf tables, n and k from 64 up, 7 of 10 pairs (n, k): medians of
// three inference engines in bf16 and nvfp4, whose casts are left out, and for fp8 TensorRT-LLM's,
// which calls cuBLAS with one scale per tensor as training does (the others call kernels with a
// scale per row). GemmFits.* in tests/costmodel fits them anew and prints the errors of the other
// pairs. In nvfp4 no k is split: b_S is as small as to say so.
constexpr TiledGemm kAmpereHalf = {
    kAmpereUnit, 0.959, 0.781, 213, 1, 0.183, 0.43, {0.835, 0.698, 0.515, 0.32}, 2.14, 2.44};
// TensorRT-LLM's products of 16 bits with weights of 4 and 8 (int4_wo and int8_wo of A100's table,
// n and k from 256 up); other generations have no such table, and their own constants.
constexpr TiledGemm kAmpereWidened = {
    kAmpereUnit, 0.841, 1, 101, 0.224, 0.0015, 2.82, {0.904, 0.895, 0.677, 0.513}, 0.058, 11};
// Volta was not measured: Ampere's form with e such that a large product runs at 0.73 of the peak,
// between the 0.66 of cuBLAS 9 (83 of 125 TFLOP/s, Markidis et al. 2018) and Ampere's 0.81.
constexpr TiledGemm kVoltaHalf = {
    kVoltaUnit, 0.865, 0.781, 213, 1, 0.183, 0.43, {0.835, 0.698, 0.515, 0.32}, 2.14, 2.44};
constexpr TiledGemm kHopperHalf = {kHopperUnit,          0.839, 0.852, 141, 0.158, 0.156, 1.99,
                                   {1, 1, 0.716, 0.448}, 3.15,  2.45};
constexpr TiledGemm kBlackwellHalf = {kBlackwellUnit, 0.748, 0.774, 104,
                                      0.307,          0.213, 3.92,  {0.942, 0.949, 0.563, 0.311},
                                      0.35,           2.02};
constexpr TiledGemm kHopperEight = {2 * kHopperUnit,    0.787, 0.82, 257, 0.01, 0.155, 9,
                                    {1, 1, 0.94, 0.39}, 3,     2.45};
constexpr TiledGemm kBlackwellEight = {
    2 * kBlackwellUnit,           0.725, 0.733, 236, 0.221, 0.25, 20,
    {0.961, 0.688, 0.419, 0.282}, 0.21,  2.02};
constexpr TiledGemm kBlackwellFour = {
    4 * kBlackwellUnit,           0.557, 0.698, 648, 0.474, 0.25, 19.9,
    {0.846, 0.643, 0.366, 0.191}, 0.001, 2.02};

bool is_eight_bits(DType dtype) { return dtype == DType::kFp8 || dtype == DType::kInt8; }

}  // namespace

const TiledGemm* tiled_gemm(const Device& device, DType dtype, WeightFormat weights) {
  if (device.sms <= 0) return nullptr;
  switch (generation_of(device)) {
    case Generation::kCpu:
    case Generation::kCdna: return nullptr;
    case Generation::kVolta: return &kVoltaHalf;
    case Generation::kAmpere:
      return weights == WeightFormat::kPlain ? &kAmpereHalf : &kAmpereWidened;
    case Generation::kHopper: return is_eight_bits(dtype) ? &kHopperEight : &kHopperHalf;
    case Generation::kBlackwell:
      if (dtype == DType::kNvfp4) return &kBlackwellFour;
      return is_eight_bits(dtype) ? &kBlackwellEight : &kBlackwellHalf;
  }
  return nullptr;
}

// Bands hold 80 % of the pairs that were not fitted. kOtherDevice: see GemmFits.TransferTo* in
// tests/costmodel. kOtherType: fp32 and fp64 take the rates of bf16 on their own peaks, assumed.
constexpr double kOtherDevice = 0.2, kOtherType = 0.2;

Quality tiled_quality(const Device& device, DType dtype, WeightFormat weights) {
  const bool half = dtype == DType::kBf16 || dtype == DType::kFp16;
  const bool eight = is_eight_bits(dtype);
  if (!is_measured(device)) return {Provenance::kDatasheet, kOtherDevice};
  const bool four = dtype == DType::kNvfp4;
  if (!half && !eight && !four) return {Provenance::kDatasheet, kOtherType};
  switch (generation_of(device)) {
    case Generation::kCpu:
    case Generation::kCdna:
    case Generation::kVolta: break;
    case Generation::kAmpere:
      return {Provenance::kFitted, weights == WeightFormat::kPlain ? 0.105 : 0.19};
    case Generation::kHopper: return {Provenance::kFitted, eight ? 0.06 : 0.075};
    case Generation::kBlackwell: return {Provenance::kFitted, four ? 0.11 : eight ? 0.075 : 0.10};
  }
  return {Provenance::kDatasheet, kOtherDevice};
}

}  // namespace plait
