#include "realrun/compute/cuda/host_adam.h"

#include <vector>

#include "kernels/adam.h"
#include "kernels/cast.h"
#include "realrun/compute/cuda/element_types.h"

namespace plait::cuda {
namespace {

/// A rank's part of an operand as floats: where it lies, or a copy that goes back by `put`.
class Numbers {
 public:
  Numbers(const Operands& operands, const OpView& view, const Part& part)
      : elements_(part.elements) {
    const DType type = view.tensor(part.operand).dtype;
    if (type == DType::kFp32) {
      floats_ = operands.at<float>(part.operand) + part.first;
    } else if (type == DType::kBf16) {
      narrow_ = operands.at<std::uint16_t>(part.operand) + part.first;
      wide_.resize(static_cast<std::size_t>(elements_));
      floats_ = wide_.data();
      kernels::unpack_bf16(floats_, narrow_, elements_);
    } else {
      refuse(type);
    }
  }
  float* data() { return floats_; }
  void put() const {
    if (narrow_ != nullptr) kernels::pack_bf16(narrow_, wide_.data(), elements_);
  }

 private:
  std::int64_t elements_;
  float* floats_ = nullptr;
  std::uint16_t* narrow_ = nullptr;  // null: floats are in place
  std::vector<float> wide_;
};

}  // namespace

void adam_on_host(const Operands& operands, const OpView& view) {
  const OpView::AdamParts p = view.adam_parts();
  Numbers gradient(operands, view, p.gradient), master(operands, view, p.master);
  Numbers first(operands, view, p.first), second(operands, view, p.second);
  Numbers weight(operands, view, p.copies ? p.weight : p.master);
  kernels::adam(p.copies ? weight.data() : nullptr, master.data(), first.data(), second.data(),
                static_cast<const float*>(gradient.data()),
                p.clips ? static_cast<const float*>(operands.at<float>(1)) : nullptr,
                p.master.elements, p.settings);
  for (const Numbers* n : {&master, &first, &second}) n->put();
  if (p.copies) weight.put();
}

}  // namespace plait::cuda
