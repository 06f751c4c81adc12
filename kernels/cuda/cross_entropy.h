#pragma once
// Cross-entropy on the device: the four steps of kernels/cross_entropy.h, in float.

#include "kernels/cross_entropy.h"
#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// max[rows] of logits[rows, vocab].
void cross_entropy_max(const Queue& q, float* max, const float* logits, std::int64_t rows,
                       std::int64_t vocab);

/// sums[rows, 2]: the sum of e^(x - max), and the label's x - max, 0 where that is elsewhere.
void cross_entropy_sums(const Queue& q, float* sums, const float* logits, const float* max,
                        const std::int64_t* labels, std::int64_t rows, std::int64_t vocab,
                        std::int64_t vocab_offset);

/// loss[1] = scale times the sum over rows of log(sum of exponentials) - label's x + max.
void cross_entropy_loss(const Queue& q, float* loss, const float* sums, std::int64_t rows,
                        double scale);

/// logits[rows, vocab] become scale (softmax - onehot), the gradient of the loss.
void cross_entropy_gradient(const Queue& q, float* logits, const float* max, const float* sums,
                            const std::int64_t* labels, std::int64_t rows, std::int64_t vocab,
                            std::int64_t vocab_offset, double scale);

}  // namespace plait::kernels::cuda
