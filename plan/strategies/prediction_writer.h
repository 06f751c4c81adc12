#pragma once
// Multi-token prediction (DeepSeek-AI 2024, DeepSeek-V3, arXiv 2412.19437, section 2.2): what a
// module that predicts a further token has around its transformer layer, unsharded. Of module k of
// D, for the token at place i, with h_0 what comes out of the model's last layer,
//
//   x_k = W [norm(embedding of t_(i+k)) | norm(h_(k-1))]       W (h, 2 h)
//   h_k = layer(x_k)                                           one like the model's last
//   loss_k = cross entropy of (output matrix) norm(h_k) with t_(i+k+1)
//
// and what is trained for is the model's own loss and the mean of these, times 0.1 (the default of
// Megatron-LM's --mtp-loss-scaling-factor, and DeepSeek-V3's last). Embedding and output matrix are
// the model's. h_(k-1) is taken before the norm of its head; Megatron-LM takes it behind, which is
// the same work. Sequences come with D tokens more, so that every place predicts; Megatron-LM masks
// the last ones.
//
// Modules are layers behind the model's L: the layer of module k is number L + 2 k - 1, so that x_k
// is the residual stream there, and h_k that one number further.

#include "plan/strategies/head_writer.h"

namespace plait {

class PredictionWriter {
 public:
  /// `table`: where embeddings are looked up; `output`: the output matrix.
  PredictionWriter(Draft& d, BlockWriter& w, BlockWriter::Parameter table,
                   BlockWriter::Parameter output);

  /// Everything but the transformer layer, which is the draft's last one.
  void write();

 private:
  void join();
  void join_backward();
  /// Of the two halves of what is projected: the embedding's, the hidden state's.
  TensorId half(const char* name, int which) const;

  Draft& d_;
  BlockWriter& w_;
  DType dtype_;
  std::int64_t h_;
  BlockWriter::Parameter table_;
  BlockWriter::NormWeights of_embedding_, of_hidden_;
  BlockWriter::Linear projection_;
  TensorId tokens_;  // (s, b), one further at every second layer number: token i + 1 at number L
  TensorId embedded_, joined_;  // (s, b, h), (s, b, 2 h)
  HeadWriter head_;
};

}  // namespace plait
