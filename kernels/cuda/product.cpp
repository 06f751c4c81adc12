// cuBLASLt is column-major: a row-major matrix is its transposed one there, so c = a b is asked for
// as c^T = b^T a^T, with the factors in the other order.

#include "kernels/cuda/product.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "core/error.h"
#include "kernels/cuda/check.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/product_rules.h"

namespace plait::kernels::cuda {
namespace {

void check(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw EnvironmentError("cuBLASLt: " + std::string(cublasLtGetStatusString(status)) + "\n  in " +
                         what);
}

constexpr cudaDataType_t cuda_type(ElementType t) {
  switch (t) {
    case ElementType::kFloat: return CUDA_R_32F;
    case ElementType::kBf16: return CUDA_R_16BF;
    case ElementType::kFp16: return CUDA_R_16F;
    case ElementType::kE4m3: return CUDA_R_8F_E4M3;
    case ElementType::kE5m2: return CUDA_R_8F_E5M2;
  }
  return CUDA_R_32F;
}
constexpr bool is_fp8(ElementType t) { return t == ElementType::kE4m3 || t == ElementType::kE5m2; }
constexpr std::size_t size_of(ElementType t) {
  return t == ElementType::kFloat ? 4 : is_fp8(t) ? 1 : 2;
}

/// The largest power of two up to 256 that divides an address: algorithms depend on it.
std::int64_t alignment_of(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p) | 256U;
  return static_cast<std::int64_t>(address & (~address + 1));
}

/// All that an algorithm depends on.
struct ProductKey {
  ProductSize size;
  Factor a, b;  // without data
  Result c;
  bool adds = false, biased = false, bias_is_bf16 = false;
  int multiprocessors = 0;
  std::array<std::int64_t, 4> alignments{};  // of a, b, c and the bias

  auto fields() const {
    return std::tuple(size.m, size.n, size.k, size.batch, a.type, a.transposed, a.stride,
                      a.batch_stride, b.type, b.transposed, b.stride, b.batch_stride, c.type,
                      c.stride, c.batch_stride, adds, biased, bias_is_bf16, multiprocessors,
                      alignments);
  }
  bool operator<(const ProductKey& other) const { return fields() < other.fields(); }
};

/// Of a call, besides the matrices.
struct Pointers {
  const void* bias = nullptr;
  const float *scale_a = nullptr, *scale_b = nullptr;
  bool scaled = false;
};

/// Descriptors of one product and the algorithm that the heuristics chose.
class Recipe {
 public:
  /// `pointers` are what they are in the first call: the heuristics look at the bias's address for
  /// its alignment (cublasLt.h, CUBLASLT_MATMUL_DESC_BIAS_POINTER).
  Recipe(cublasLtHandle_t handle, const ProductKey& key, bool tf32, const Pointers& pointers) {
    const cublasComputeType_t compute = tf32 && key.a.type == ElementType::kFloat
                                            ? CUBLAS_COMPUTE_32F_FAST_TF32
                                            : CUBLAS_COMPUTE_32F;
    check(cublasLtMatmulDescCreate(&matmul_, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
    // Their first factor is our second one.
    set(CUBLASLT_MATMUL_DESC_TRANSA, key.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, key.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (key.biased) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      if (key.bias_is_bf16) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF);
    }
    if (key.multiprocessors > 0) {
      set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, std::int32_t{key.multiprocessors});
    }
    // Transformer Engine adds up e4m3 products, those of the forward pass, in the tensor cores'
    // short accumulator, and those with e5m2 gradients in float.
    if (key.a.type == ElementType::kE4m3 && key.b.type == ElementType::kE4m3) {
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    }
    point(pointers);
    const auto [m, n, k, batch] = key.size;
    first_ = layout(key.b.type, key.b.transposed ? k : n, key.b.transposed ? n : k, key.b.stride,
                    key.b.batch_stride, batch);
    second_ = layout(key.a.type, key.a.transposed ? m : k, key.a.transposed ? k : m, key.a.stride,
                     key.a.batch_stride, batch);
    result_ = layout(key.c.type, n, m, key.c.stride, key.c.batch_stride, batch);
    choose(handle, key);
  }
  ~Recipe() {
    for (cublasLtMatrixLayout_t l : {first_, second_, result_}) {
      if (l != nullptr) cublasLtMatrixLayoutDestroy(l);
    }
    if (matmul_ != nullptr) cublasLtMatmulDescDestroy(matmul_);
  }
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;

  void run(cublasLtHandle_t handle, const Queue& q, float alpha, const Factor& a, const Factor& b,
           float beta, const Result& c, const void* bias) {
    point({bias, a.scale, b.scale, is_fp8(a.type)});
    auto* workspace = static_cast<std::byte*>(q.scratch) + q.kernel_scratch_bytes;
    check(cublasLtMatmul(handle, matmul_, &alpha, b.data, first_, a.data, second_, &beta, c.data,
                         result_, c.data, result_, &algorithm_, workspace, kProductScratchBytes,
                         q.stream),
          "cublasLtMatmul");
  }

 private:
  void point(const Pointers& to) {
    if (to.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, to.bias);
    if (!to.scaled) return;
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, to.scale_b);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, to.scale_a);
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, T value) {
    check(cublasLtMatmulDescSetAttribute(matmul_, name, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }
  static cublasLtMatrixLayout_t layout(ElementType type, std::int64_t rows, std::int64_t columns,
                                       std::int64_t stride, std::int64_t batch_stride,
                                       std::int64_t batch) {
    cublasLtMatrixLayout_t out = nullptr;
    check(cublasLtMatrixLayoutCreate(&out, cuda_type(type), static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), stride),
          "cublasLtMatrixLayoutCreate");
    if (batch == 1) return out;
    const auto count = static_cast<std::int32_t>(batch);
    const auto set = [out](cublasLtMatrixLayoutAttribute_t name, auto value) {
      check(cublasLtMatrixLayoutSetAttribute(out, name, &value, sizeof(value)),
            "cublasLtMatrixLayoutSetAttribute");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride);
    return out;
  }
  void choose(cublasLtHandle_t handle, const ProductKey& key) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const auto set = [preference](cublasLtMatmulPreferenceAttributes_t name, auto value) {
      check(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof(value)),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kProductScratchBytes});
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(key.alignments[1]));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(key.alignments[0]));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(key.alignments[2]));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(key.alignments[2]));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, matmul_, first_, second_, result_, result_, preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    check(status != CUBLAS_STATUS_SUCCESS || count > 0 ? status : CUBLAS_STATUS_NOT_SUPPORTED,
          "the choice of an algorithm for m, n, k = " + std::to_string(key.size.m) + ", " +
              std::to_string(key.size.n) + ", " + std::to_string(key.size.k));
    algorithm_ = found.algo;
  }

  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

/// Epilogues read a bias in vectors of 16 bytes: what is not aligned to them is read from a copy.
const void* aligned_bias(const Queue& q, const Bias& bias, std::int64_t n) {
  constexpr std::uintptr_t kVector = 16;
  if (reinterpret_cast<std::uintptr_t>(bias.data) % kVector == 0) return bias.data;
  const std::size_t bytes = static_cast<std::size_t>(n) * size_of(bias.type);
  PLAIT_CHECK(bytes <= q.kernel_scratch_bytes, "a bias larger than the scratch memory");
  CUDA_CHECK(cudaMemcpyAsync(q.scratch, bias.data, bytes, cudaMemcpyDeviceToDevice, q.stream));
  return q.scratch;
}

}  // namespace

struct Products::State {
  cublasLtHandle_t handle = nullptr;
  bool tf32 = false;
  int multiprocessors = 0;  // of the whole device
  std::map<ProductKey, Recipe> recipes;
};

Products::Products(FloatProducts float_products) : state_(std::make_unique<State>()) {
  state_->tf32 = float_products == FloatProducts::kTf32;
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(
      cudaDeviceGetAttribute(&state_->multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check(cublasLtCreate(&state_->handle), "cublasLtCreate");
}
Products::~Products() {
  state_->recipes.clear();
  cublasLtDestroy(state_->handle);
}

void product(const Queue& q, const ProductSize& size, float alpha, const Factor& a, const Factor& b,
             float beta, const Result& c, const Bias& bias) {
  if (size.m == 0 || size.n == 0 || size.batch == 0) return;
  require_documented(size, a, b, c, bias);
  Products::State& state = q.products->state();
  const void* const offsets = aligned_bias(q, bias, size.n);
  ProductKey key{size, a, b, c};
  key.a.data = key.b.data = nullptr, key.c.data = nullptr;
  key.adds = beta != 0, key.biased = bias.data != nullptr;
  key.bias_is_bf16 = bias.type == ElementType::kBf16;
  if (q.multiprocessors < state.multiprocessors) key.multiprocessors = q.multiprocessors;
  key.alignments = {alignment_of(a.data), alignment_of(b.data), alignment_of(c.data),
                    alignment_of(offsets)};
  auto found = state.recipes.find(key);
  if (found == state.recipes.end()) {
    found = state.recipes
                .try_emplace(key, state.handle, key, state.tf32,
                             Pointers{offsets, a.scale, b.scale, is_fp8(a.type)})
                .first;
  }
  found->second.run(state.handle, q, alpha, a, b, beta, c, offsets);
}

}  // namespace plait::kernels::cuda
