#pragma once
// Cross-entropy over a vocabulary that may be sharded (Shoeybi et al. 2019, section 3), in the four
// steps between which ranks combine their results: maxima by max, sums by +. A rank holds columns
// vocab_offset .. vocab_offset + vocab of the logits; labels are global token ids. A label below 0
// means that the row is padding: it adds nothing to the loss and has no gradient.

#include <cstdint>

namespace plait::kernels {

/// max[rows] of logits[rows, vocab].
template <class T>
void cross_entropy_max(T* max, const T* logits, std::int64_t rows, std::int64_t vocab);

/// sums[rows, 2]: the sum of e^(x - max), and the label's x - max, 0 where that is elsewhere; of
/// padding 1 and 0, from the rank that has the first columns.
template <class T>
void cross_entropy_sums(T* sums, const T* logits, const T* max, const std::int64_t* labels,
                        std::int64_t rows, std::int64_t vocab, std::int64_t vocab_offset);

/// loss[1] = scale times the sum over rows of log(sum of exponentials) - label's x + max. With
/// scale = 1 / tokens of the global batch the losses of all ranks and microbatches add up to its
/// mean.
template <class T>
void cross_entropy_loss(T* loss, const T* sums, std::int64_t rows, double scale);

/// logits[rows, vocab] become scale (softmax - onehot), the gradient of the loss.
template <class T>
void cross_entropy_gradient(T* logits, const T* max, const T* sums, const std::int64_t* labels,
                            std::int64_t rows, std::int64_t vocab, std::int64_t vocab_offset,
                            double scale);

}  // namespace plait::kernels
