#include "realrun/start_nf4.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/nf4.h"

namespace plait {

StoredMatrix stored_matrix(const std::vector<double>& weights, bool nested) {
  const auto blocks_of = [](const std::vector<double>& numbers, std::int64_t block) {
    return static_cast<std::size_t>(ceil_div(std::ssize(numbers), block));
  };
  StoredMatrix out;
  out.codes.resize(weights.size());
  out.absmax.resize(blocks_of(weights, kNf4Block));
  kernels::quantize_nf4(out.codes.data(), out.absmax.data(), weights.data(), std::ssize(weights));
  if (!nested) return out;
  const std::vector<double> scales = out.absmax;
  out.scales.resize(blocks_of(scales, kNf4Scales) + 1);
  kernels::quantize_scales(out.absmax.data(), out.scales.data(), scales.data(), std::ssize(scales));
  return out;
}

std::vector<Nf4Tensors> nf4_tensors(const Plan& plan) {
  const auto named = [&](const std::string& name) {
    const auto found = std::ranges::find(plan.tensors, name, &Tensor::name);
    return found == plan.tensors.end() ? kNoTensor
                                       : static_cast<TensorId>(found - plan.tensors.begin());
  };
  constexpr std::string_view kScales = ".absmax";
  std::vector<Nf4Tensors> out;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const std::string& name = plan.tensors[t].name;
    if (!plan.tensors[t].persistent || !name.ends_with(kScales)) continue;
    const TensorId weight = named(name.substr(0, name.size() - kScales.size()));
    PLAIT_CHECK(weight != kNoTensor, "scales of no matrix");
    out.push_back({weight, static_cast<TensorId>(t), named(name + "_scales")});
  }
  return out;
}

}  // namespace plait
