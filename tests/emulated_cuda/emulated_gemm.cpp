#include "kernels/cuda/gemm.h"

namespace plait::kernels::cuda {

struct Products::State {};
Products::Products(FloatProducts) {}
Products::~Products() = default;

}  // namespace plait::kernels::cuda
