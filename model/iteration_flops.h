#pragma once
// FLOPs of one training iteration by closed formula: the numerators of MFU and HFU as papers report
// them. Only matrix products count; a multiply-add is two. The two functions differ in how much of
// the s x s attention square they count, so a published figure is compared with the convention that
// produced it.

#include <cstdint>

#include "core/quantity.h"
#include "model/model.h"

namespace plait {

/// What the FLOPs of a batch depend on: its tokens, and the sum of the squares of the lengths of
/// the documents, or whole sequences, within which attention looks back.
struct BatchSizes {
  double tokens = 0, squares = 0;
  double bands = 0;   // of the squares, what the model's window leaves (band_of, model/op.h)
  double chunks = 0;  // squares of the chunks that mixers with states take a sequence in
  double chunk_cubes = 0;
  static BatchSizes of_sequences(const Model& model, std::int64_t length, std::int64_t count);
  /// So many sequences, or documents, of that length.
  void add(const Model& model, std::int64_t length, std::int64_t count = 1);
};

/// The convention of Narayanan et al. 2021: attention counts the whole square, causal or not. For
/// GPT shapes with `full_recompute` this is their equation (3); `batch` is the global batch in
/// sequences of `seq` tokens. Documents: as Megatron-LM's function at commit 71092579, which takes
/// tokens that are no padding and the squares of documents. Windows: twice the pairs that are seen,
/// that is, of the square what lies within the window on both sides of the diagonal. State-space
/// mixers: 7 FLOPs for each token and element of the heads' states, as Megatron-LM's
/// mamba_layer_flops counts, in whatever chunks; gated delta nets: 8, and the convolution, as its
/// num_floating_point_operations does.
Flops megatron_flops_per_iteration(const Model& model, std::int64_t seq, std::int64_t batch,
                                   bool full_recompute = false);
Flops megatron_flops_per_iteration(const Model& model, const BatchSizes& batch,
                                   bool full_recompute = false);

/// Of these, what one pass over the linear maps and the logits is: forward, or either half of
/// backward. Frozen weights need no gradients, and so one pass less (Megatron-Bridge,
/// training/utils/flop_utils.py, model_flops_frozen: two thirds).
Flops linear_flops_of_a_pass(const Model& model, const BatchSizes& batch);

/// What the algorithm needs: of causal attention the half of the square below the diagonal, within
/// the window where there is one, nothing recomputed; of mixers with states the products of
/// the chunked form, the half below the diagonal of those within a chunk. Equal to the sum of
/// `flops` over all ops of an iteration, and the convention of recent Megatron-LM.
Flops needed_flops_per_iteration(const Model& model, std::int64_t seq, std::int64_t batch);

}  // namespace plait
