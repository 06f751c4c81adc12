#include "costmodel/single_loss.h"

namespace plait {

// llm.c, llmc/fused_classifier.cuh: the row's largest value, its sum and the gradients, for which a
// row's second reading comes from the cache. The mean of the rows' losses is a kernel of its own.
bool is_done_elsewhere(const Compute& op, const Kernels& kernels) {
  const auto* loss = std::get_if<CrossEntropy>(&op);
  if (loss == nullptr || kernels.cross_entropy != Fusion::kSingle || loss->split) return false;
  return loss->step == CrossEntropy::Step::kRowMax || loss->step == CrossEntropy::Step::kSums;
}

}  // namespace plait
