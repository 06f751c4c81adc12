#pragma once
// Names of kernels for people: C++ templates without what says nothing.

#include <string>
#include <string_view>

namespace plait {

/// "vectorized_layer_norm_kernel": a name without result, namespaces, template arguments and
/// parameters.
std::string bare_kernel(std::string_view name);

/// The same with the template argument that tells most: "elementwise_kernel<silu_backward_kernel>",
/// "reduce_kernel<sum_functor>".
std::string readable_kernel(std::string_view name);

}  // namespace plait
