#include "kernels/cuda/cross_entropy.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::cross_entropy_test {

struct Case {
  std::int64_t rows, vocab, offset, shift;
};
/// Labels are drawn from 60 tokens: on, before and behind the shard. Every fifth row is padding.
constexpr Case kCases[] = {
    {1, 4, 0, 0}, {20, 40, 10, 0}, {9, 37, 0, 0}, {3, 2052, 30, 0}, {5, 40, 0, 1}};

TEST(CudaCrossEntropy, EachStepEqualsItsTwin) {
  Random random;
  for (const Case& c : kCases) {
    std::vector<float> logits = random.values<float>(c.rows * c.vocab);
    for (float& x : logits) x *= 8;
    auto labels = random.ids(c.rows, 60);
    const auto rows = static_cast<std::size_t>(c.rows);
    for (std::size_t r = 2; r < rows; r += 5) labels[r] = -1;
    std::vector<float> max(rows), sums(2 * rows), loss(1);
    const double scale = 0.125;
    kernels::cross_entropy_max(max.data(), logits.data(), c.rows, c.vocab);
    kernels::cross_entropy_sums(sums.data(), logits.data(), max.data(), labels.data(), c.rows,
                                c.vocab, c.offset);

    OnDevice<float> device_logits(logits, c.shift), device_max(unwritten<float>(c.rows));
    OnDevice<float> device_sums(unwritten<float>(2 * c.rows)), device_loss(unwritten<float>(1));
    OnDevice<std::int64_t> device_labels(labels);
    cross_entropy_max(queue(), device_max.data(), device_logits.data(), c.rows, c.vocab);
    expect_close(device_max, max, 0);
    cross_entropy_sums(queue(), device_sums.data(), device_logits.data(), device_max.data(),
                       device_labels.data(), c.rows, c.vocab, c.offset);
    expect_close(device_sums, sums, 64, 2);
    for (std::size_t r = 2; r < rows; r += 5) sums[2 * r] = 1;  // with the first columns' rank
    OnDevice<float> all_sums(sums);
    kernels::cross_entropy_loss(loss.data(), sums.data(), c.rows, scale);
    cross_entropy_loss(queue(), device_loss.data(), all_sums.data(), c.rows, scale);
    expect_close(device_loss, loss, c.rows, 8);

    kernels::cross_entropy_gradient(logits.data(), max.data(), sums.data(), labels.data(), c.rows,
                                    c.vocab, c.offset, scale);
    cross_entropy_gradient(queue(), device_logits.data(), device_max.data(), all_sums.data(),
                           device_labels.data(), c.rows, c.vocab, c.offset, scale);
    expect_close(device_logits, logits, 16, scale);
  }
}

}  // namespace plait::kernels::cuda::cross_entropy_test
