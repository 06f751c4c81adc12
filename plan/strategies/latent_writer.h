#pragma once
// The part of a layer that multi-head latent attention has in place of its projection to queries,
// keys and values, unsharded.

#include "plan/strategies/block_writer.h"

namespace plait {

class LatentWriter {
 public:
  LatentWriter(Draft& d, BlockWriter& w, UnitKind unit);

  /// Writes the packed rows [q | k | v].
  void forward(TensorId h, TensorId packed) const;
  void backward(TensorId dpacked, TensorId h, TensorId dh) const;

 private:
  /// A product of the hidden state; what is its latent, behind a norm, goes into another product.
  struct Latent {
    std::string name;               // "kv"
    std::int64_t rank = 0;          // 0: no latent, `up` has the hidden state as its input
    BlockWriter::Linear down, up;   // (rank + what comes beside, h); (width, rank)
    BlockWriter::NormWeights norm;  // (rank)
    TensorId raw = kNoTensor, normed = kNoTensor;  // (s, b, rank)
  };
  Latent declare(UnitKind unit, std::string name, std::int64_t rank, std::int64_t beside,
                 std::int64_t width);
  TensorId queries(TensorId h) const;
  void queries_backward(TensorId dq, TensorId h, TensorId dh) const;
  /// Of what a latent was projected to: back to the latent before its norm.
  TensorId latent_backward(const Latent& latent, TensorId dout) const;
  TensorId beside_latents(const char* name) const;

  const Model& m_;
  BlockWriter& w_;
  DType dtype_;
  Latent queries_, keys_;
  TensorId rotary_;  // (s, b, rope_head_dim), kept for who makes the heads again
};

}  // namespace plait
