#include "kernels/cuda/gemm.h"

#include <cublasLt.h>

#include <string>

#include "core/error.h"

namespace plait::kernels::cuda {

struct Products::State {
  cublasLtHandle_t handle = nullptr;
};

Products::Products(FloatProducts) : state_(std::make_unique<State>()) {
  const cublasStatus_t status = cublasLtCreate(&state_->handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw EnvironmentError(std::string("cuBLASLt: ") + cublasLtGetStatusString(status));
  }
}
Products::~Products() { cublasLtDestroy(state_->handle); }

}  // namespace plait::kernels::cuda
