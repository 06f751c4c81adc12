// A block takes a row of the logits at a time.

#include <limits>

#include "kernels/cuda/cross_entropy.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/reduce.h"
#include "kernels/vocab_shard.h"

namespace plait::kernels::cuda {
namespace {

constexpr int kWide = kVector<float>;

/// f(column, V elements) for what this thread has of a row.
template <int V, class F>
__device__ void for_my_columns(const float* row, std::int64_t width, F&& f) {
  const std::int64_t stride = std::int64_t{blockDim.x} * V;
#pragma unroll 4
  for (std::int64_t at = std::int64_t{threadIdx.x} * V; at < width; at += stride) {
    f(at, load<V>(row + at));
  }
}

template <int V>
__global__ void __launch_bounds__(kBlock)
    max_kernel(float* max, const float* logits, std::int64_t rows, std::int64_t vocab) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    float largest = kLowest;
    for_my_columns<V>(logits + r * vocab, vocab, [&](std::int64_t, const Floats<V>& x) {
#pragma unroll
      for (int i = 0; i < V; ++i) largest = x.at[i] > largest ? x.at[i] : largest;
    });
    largest = reduce_block(largest, kLowest, Larger{});
    if (threadIdx.x == 0) max[r] = largest;
  }
}

template <int V>
__global__ void __launch_bounds__(kBlock)
    sums_kernel(float* sums, const float* logits, const float* max, const std::int64_t* labels,
                std::int64_t rows, std::int64_t vocab, std::int64_t vocab_offset) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const float* row = logits + r * vocab;
    const float shift = max[r];
    float sum = 0;
    for_my_columns<V>(row, vocab, [&](std::int64_t, const Floats<V>& x) {
#pragma unroll
      for (int i = 0; i < V; ++i) sum += expf(x.at[i] - shift);
    });
    sum = sum_block(sum);
    if (threadIdx.x == 0) {
      const LocalToken<float> label(labels[r], vocab, vocab_offset);
      const float of_padding = vocab_offset == 0 ? 1.0F : 0.0F;  // log 1 = 0
      sums[2 * r] = labels[r] < 0 ? of_padding : sum;
      sums[2 * r + 1] = (row[label.place] - shift) * label.factor;
    }
  }
}

constexpr unsigned kLossBlock = 1024;  // the only one

__global__ void __launch_bounds__(kLossBlock)
    loss_kernel(float* loss, const float* sums, std::int64_t rows, double scale) {
  double total = 0;
  for (std::int64_t r = threadIdx.x; r < rows; r += blockDim.x) {
    total += static_cast<double>(logf(sums[2 * r])) - static_cast<double>(sums[2 * r + 1]);
  }
  total = sum_block(total);
  if (threadIdx.x == 0) *loss = static_cast<float>(scale * total);
}

template <int V>
__global__ void __launch_bounds__(kBlock)
    gradient_kernel(float* logits, const float* max, const float* sums, const std::int64_t* labels,
                    std::int64_t rows, std::int64_t vocab, std::int64_t vocab_offset, float scale) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    float* row = logits + r * vocab;
    const float shift = max[r], factor = labels[r] < 0 ? 0.0F : scale / sums[2 * r];
    const LocalToken<float> label(labels[r], vocab, vocab_offset);
    const float at_label = scale * label.factor;
    for_my_columns<V>(row, vocab, [&](std::int64_t at, Floats<V> x) {
#pragma unroll
      for (int i = 0; i < V; ++i) {
        x.at[i] = expf(x.at[i] - shift) * factor;
        if (at + i == label.place) x.at[i] -= at_label;
      }
      store(row + at, x);
    });
  }
}

bool in_vectors(const float* logits, std::int64_t vocab) {
  return aligned({logits}) && vocab % kWide == 0;
}

}  // namespace

void cross_entropy_max(const Queue& q, float* max, const float* logits, std::int64_t rows,
                       std::int64_t vocab) {
  auto* kernel = in_vectors(logits, vocab) ? max_kernel<kWide> : max_kernel<1>;
  launch(kernel, blocks_for(q, rows), kBlock, 0, q.stream, max, logits, rows, vocab);
}

void cross_entropy_sums(const Queue& q, float* sums, const float* logits, const float* max,
                        const std::int64_t* labels, std::int64_t rows, std::int64_t vocab,
                        std::int64_t vocab_offset) {
  auto* kernel = in_vectors(logits, vocab) ? sums_kernel<kWide> : sums_kernel<1>;
  launch(kernel, blocks_for(q, rows), kBlock, 0, q.stream, sums, logits, max, labels, rows, vocab,
         vocab_offset);
}

void cross_entropy_loss(const Queue& q, float* loss, const float* sums, std::int64_t rows,
                        double scale) {
  launch(loss_kernel, 1, kLossBlock, 0, q.stream, loss, sums, rows, scale);
}

void cross_entropy_gradient(const Queue& q, float* logits, const float* max, const float* sums,
                            const std::int64_t* labels, std::int64_t rows, std::int64_t vocab,
                            std::int64_t vocab_offset, double scale) {
  auto* kernel = in_vectors(logits, vocab) ? gradient_kernel<kWide> : gradient_kernel<1>;
  launch(kernel, blocks_for(q, rows), kBlock, 0, q.stream, logits, max, sums, labels, rows, vocab,
         vocab_offset, static_cast<float>(scale));
}

}  // namespace plait::kernels::cuda
