#include "realrun/compute/cuda/cuda_adapter.h"

#include "kernels/cuda/add.h"
#include "realrun/compute/cuda/element_types.h"

namespace plait::cuda {

void add_scaled(const kernels::cuda::Queue& queue, const Operands& operands, const OpView& view,
                const Add& op) {
  with_type(view.tensor(0).dtype, [&]<class T>(T) {
    T *from = operands.at<T>(0), *to = operands.at<T>(1);
    if (op.pass == Pass::kForward) {
      return kernels::cuda::add_scaled(queue, to + view.first_column(0, 1), from, op.scale, op.rows,
                                       op.width, view.width(1));
    }
    kernels::cuda::add_scaled_backward(queue, to, from + view.first_column(1, 0), op.scale, op.rows,
                                       op.width, view.width(0));
  });
}

}  // namespace plait::cuda
