// Backward passes of whole layers against differences of the loss: that what one rank computes,
// which all others are compared with, is the gradient of the layer that is meant.
#include <gtest/gtest.h>

#include "realrun/matrix/models.h"
#include "tests/realrun/run_on_one_rank.h"

namespace plait {
namespace {

Workload two_sequences() {
  Workload w;
  w.sequence_length = matrix_models::kSequence, w.global_batch = 2;
  w.gradient_clipping = false;
  return in_precision(w, RunPrecision::kFp64);
}

class Slopes : public testing::TestWithParam<Model> {};

TEST_P(Slopes, AreTheGradients) {
  const Workload w = two_sequences();
  const RanOnOneRank ran = run_on_one_rank(GetParam(), w, nullptr, 1);
  EXPECT_GT(ran.gradients.size(), 10U);
  expect_gradients_to_be_slopes(GetParam(), w, ran);
}

INSTANTIATE_TEST_SUITE_P(Of, Slopes,
                         testing::Values(matrix_models::llama(), matrix_models::gpt(),
                                         matrix_models::falcon(), matrix_models::falcon_7b(),
                                         matrix_models::gpt_neox(), matrix_models::phi(),
                                         matrix_models::gemma(), matrix_models::olmo_2(),
                                         matrix_models::qwen3_next(), matrix_models::bert()),
                         [](const testing::TestParamInfo<Model>& tested) {
                           std::string name;
                           for (const char c : tested.param.name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
                           }
                           return name;
                         });

}  // namespace
}  // namespace plait
