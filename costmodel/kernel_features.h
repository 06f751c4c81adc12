#pragma once
// What a fitted kernel's time is linear in. Ops that run the same code are a class ("matmul.nt",
// "norm.layer.backward"); a class's features are counts of the work that its loops do, and its time
// is the sum of non-negative coefficients times features. docs/models/calibration.md has the list
// and how well it does.

#include <string>
#include <string_view>
#include <vector>

#include "model/op.h"

namespace plait {

/// Element types other than fp32 are classes of their own: "matmul.nt.bf16".
std::string kernel_class(const Compute& op);

/// Whether the class is a product's that a processor was measured with: the classes of a GPU's
/// products end in their type.
bool is_processors_product(std::string_view kernel_class);

/// Names of the features in their order, for example {"calls", "bmnk", "bmn", ...}. The first is
/// always the call itself, whose coefficient is the fixed time. `kernel` is the first part of the
/// class; empty for a kernel that there is not.
std::vector<std::string_view> feature_names(std::string_view kernel);

/// Values of the features, in the same order.
std::vector<double> kernel_features(const Compute& op);

/// What an op is told by, each at least 1, and its names for a kernel as above: of a product
/// {"batch", "m", "n", "k"}, of what works on rows {"rows", "width"}. What the sum of features
/// misses is a function of these (costmodel/gaussian_process.h).
std::vector<std::string_view> size_names(std::string_view kernel);
std::vector<double> kernel_sizes(const Compute& op);

/// Elements of the scores that are worked on. Fused and causal: those of 64 x 64 tiles on and below
/// the diagonal, or within a window.
double visited_pairs(const Attention& op);

}  // namespace plait
