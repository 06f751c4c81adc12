#pragma once
// cuDNN's graph API, as far as attention needs it: operations on tensors of four dimensions become
// one plan, that is a kernel (cuDNN's developer guide, "Graph API"). Used inside kernels only.

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace plait::kernels::cuda {

void check_cudnn(cudnnStatus_t status, const char* what);

/// A descriptor of cuDNN's; destroyed with its last owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, const Descriptor& other);
  void set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& others);
  void finalize();
  cudnnStatus_t try_finalize();
  cudnnBackendDescriptor_t get() const { return owner_.get(); }

 private:
  std::shared_ptr<void> owner_;
};

/// What a plan is made for: a handle's device, or one that is only described (tests).
struct PlanTarget {
  cudnnHandle_t handle = nullptr;
  Descriptor properties;  // where handle is null
};

/// An operation graph while it is being written.
class Graph {
 public:
  using Four = std::array<std::int64_t, 4>;
  struct Tensor {
    Descriptor descriptor;
    Four dims{}, strides{};
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    std::int64_t id = 0;
  };
  /// Tensors in memory have an id > 0; others are results that stay inside.
  Tensor tensor(const Four& dims, const Four& strides, cudnnDataType_t type, std::int64_t id = 0);
  /// One number in host memory.
  Tensor scalar(std::int64_t id, cudnnDataType_t type = CUDNN_DATA_FLOAT);

  Tensor pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b);
  Tensor pointwise(cudnnPointwiseMode_t mode, const Tensor& x);
  /// t ? x : b.
  Tensor select(const Tensor& x, const Tensor& b, const Tensor& t);
  /// 1 where row >= column, of x's shape.
  Tensor lower_triangle(const Tensor& x);
  void pointwise_to(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b, const Tensor& y);
  void matmul_to(const Tensor& a, const Tensor& b, const Tensor& c);
  Tensor matmul(const Tensor& a, const Tensor& b);
  /// Over the dimensions in which y has one element.
  void reduce_to(cudnnReduceTensorOp_t op, const Tensor& x, const Tensor& y);
  Tensor reduce_columns(cudnnReduceTensorOp_t op, const Tensor& x);
  /// The last two dimensions exchanged.
  Tensor transposed(const Tensor& x, cudnnDataType_t type);

  /// The first of cuDNN's plans that its heuristics propose and that can be built.
  Descriptor plan(const PlanTarget& target);

 private:
  struct Inputs {
    const Tensor *x, *b = nullptr, *t = nullptr;
  };
  void add_pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t precision, const Inputs& in,
                     const Tensor& y, std::int64_t axis = -1);
  std::vector<Descriptor> operations_;
  std::int64_t next_inner_ = 1000;
};

}  // namespace plait::kernels::cuda
