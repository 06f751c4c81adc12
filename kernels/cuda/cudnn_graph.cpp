#include "kernels/cuda/cudnn_graph.h"

#include "core/error.h"

namespace plait::kernels::cuda {

void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char reason[512] = "";
  cudnnGetLastErrorString(reason, sizeof(reason));
  throw EnvironmentError(std::string("cuDNN: ") + cudnnGetErrorString(status) + "\n  in " + what +
                         (reason[0] != '\0' ? std::string(": ") + reason : ""));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check_cudnn(cudnnBackendCreateDescriptor(type, &raw), "cudnnBackendCreateDescriptor");
  owner_.reset(raw, [](void* d) { cudnnBackendDestroyDescriptor(d); });
}
void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     std::int64_t count, const void* values) {
  check_cudnn(cudnnBackendSetAttribute(get(), name, type, count, values),
              "cudnnBackendSetAttribute");
}
void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& other) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.get());
}
void Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& others) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& d : others) raw.push_back(d.get());
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()), raw.data());
}
cudnnStatus_t Descriptor::try_finalize() { return cudnnBackendFinalize(get()); }
void Descriptor::finalize() { check_cudnn(try_finalize(), "cudnnBackendFinalize"); }

Graph::Tensor Graph::tensor(const Four& dims, const Four& strides, cudnnDataType_t type,
                            std::int64_t id) {
  constexpr std::int64_t kAlignment = 16;
  Tensor t{Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR), dims, strides, type,
           id > 0 ? id : next_inner_++};
  t.descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, t.id);
  t.descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  t.descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.data());
  t.descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  t.descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  t.descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, id == 0);
  t.descriptor.finalize();
  return t;
}
Graph::Tensor Graph::scalar(std::int64_t id, cudnnDataType_t type) {
  constexpr std::int64_t kAlignment = 16;
  const Four ones = {1, 1, 1, 1};
  Tensor t{Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR), ones, ones, type, id};
  t.descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  t.descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  t.descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, ones.data());
  t.descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, ones.data());
  t.descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  t.descriptor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  t.descriptor.finalize();
  return t;
}

void Graph::add_pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t precision, const Inputs& in,
                          const Tensor& y, std::int64_t axis) {
  Descriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  what.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, precision);
  if (axis >= 0) what.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  what.finalize();
  Descriptor op(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, in.x->descriptor);
  if (in.b != nullptr) op.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, in.b->descriptor);
  if (in.t != nullptr) op.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, in.t->descriptor);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y.descriptor);
  op.finalize();
  operations_.push_back(op);
}
void Graph::pointwise_to(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b,
                         const Tensor& y) {
  add_pointwise(mode, CUDNN_DATA_FLOAT, {&x, &b}, y);
}
Graph::Tensor Graph::pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b) {
  Tensor y = tensor(x.dims, x.strides, CUDNN_DATA_FLOAT);
  pointwise_to(mode, x, b, y);
  return y;
}
Graph::Tensor Graph::pointwise(cudnnPointwiseMode_t mode, const Tensor& x) {
  Tensor y = tensor(x.dims, x.strides, CUDNN_DATA_FLOAT);
  add_pointwise(mode, CUDNN_DATA_FLOAT, {&x}, y);
  return y;
}
Graph::Tensor Graph::select(const Tensor& x, const Tensor& b, const Tensor& t) {
  Tensor y = tensor(x.dims, x.strides, CUDNN_DATA_FLOAT);
  add_pointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, {&x, &b, &t}, y);
  return y;
}
Graph::Tensor Graph::lower_triangle(const Tensor& x) {
  const Tensor row = tensor(x.dims, x.strides, CUDNN_DATA_INT32);
  const Tensor column = tensor(x.dims, x.strides, CUDNN_DATA_INT32);
  add_pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, {&x}, row, 2);
  add_pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, {&x}, column, 3);
  Tensor y = tensor(x.dims, x.strides, CUDNN_DATA_BOOLEAN);
  add_pointwise(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, {&row, &column}, y);
  return y;
}
void Graph::matmul_to(const Tensor& a, const Tensor& b, const Tensor& c) {
  Descriptor what(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  what.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  what.finalize();
  Descriptor op(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, what);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c.descriptor);
  op.finalize();
  operations_.push_back(op);
}
Graph::Tensor Graph::matmul(const Tensor& a, const Tensor& b) {
  const auto [batch, heads, rows, inner] = a.dims;
  const std::int64_t columns = b.dims[3];
  Tensor c = tensor({batch, heads, rows, columns},
                    {heads * rows * columns, rows * columns, columns, 1}, CUDNN_DATA_FLOAT);
  matmul_to(a, b, c);
  return c;
}
void Graph::reduce_to(cudnnReduceTensorOp_t reduction, const Tensor& x, const Tensor& y) {
  Descriptor what(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  what.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, reduction);
  what.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  what.finalize();
  Descriptor op(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, what);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y.descriptor);
  op.finalize();
  operations_.push_back(op);
}
Graph::Tensor Graph::reduce_columns(cudnnReduceTensorOp_t reduction, const Tensor& x) {
  const auto [batch, heads, rows, columns] = x.dims;
  Tensor y = tensor({batch, heads, rows, 1}, {heads * rows, rows, 1, 1}, CUDNN_DATA_FLOAT);
  reduce_to(reduction, x, y);
  return y;
}
Graph::Tensor Graph::transposed(const Tensor& x, cudnnDataType_t type) {
  const Four& d = x.dims;
  const Four& s = x.strides;
  Tensor y = tensor({d[0], d[1], d[3], d[2]}, {s[0], s[1], s[3], s[2]}, type);
  Descriptor op(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
  op.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y.descriptor);
  op.finalize();
  operations_.push_back(op);
  return y;
}

namespace {

/// Engines with their settings, best first.
std::vector<Descriptor> proposals(const Descriptor& graph, const PlanTarget& target) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  if (target.handle == nullptr) {
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
  }
  heuristics.finalize();
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  std::int64_t count = 0;
  const auto read = [&](const char* what) {
    check_cudnn(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                         raw.empty() ? nullptr : raw.data()),
                what);
  };
  read("the number of proposed engines");
  for (std::int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configs.back().get());
  }
  if (count > 0) read("the proposed engines");
  configs.resize(static_cast<std::size_t>(count));
  return configs;
}

}  // namespace

Descriptor Graph::plan(const PlanTarget& target) {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  if (target.handle != nullptr) {
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  }
  graph.finalize();
  cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
  for (const Descriptor& config : proposals(graph, target)) {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (target.handle != nullptr) {
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
    } else {
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
    }
    status = plan.try_finalize();
    if (status == CUDNN_STATUS_SUCCESS) return plan;
  }
  check_cudnn(status, "the search for an engine");
  return {};
}

}  // namespace plait::kernels::cuda
