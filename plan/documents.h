#pragma once
// What the sequences of a batch are made of, where that is not one document as long as the sequence
// each: several, packed one behind the other, or one and padding behind it. Every sequence is
// packed alike, so all microbatches take the same time. Positions count on through the sequence.

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/iteration_flops.h"
#include "model/op.h"

namespace plait {

/// kNone: attention and the loss take no notice of documents. kPacked: attention stays within each
/// (block-diagonal causal masks); what they leave of the sequence is padding, a part by itself.
/// kPadded: attention is causal over the whole sequence, whose last tokens are padding.
enum class Packing : std::uint8_t { kNone, kPacked, kPadded };
std::string_view name_of(Packing packing);

struct Documents {
  Packing packing = Packing::kNone;
  /// Tokens of every document; 0: as `lengths` says. Packed: as many as fit, and one that is cut
  /// where the sequence ends.
  std::int64_t length = 0;
  /// Packed: of the documents of each sequence, in order. Padded: of the sequences of the batch, in
  /// turn.
  std::vector<std::int64_t> lengths = {};
  bool have_length() const { return length > 0 || !lengths.empty(); }
  bool operator==(const Documents&) const = default;
};

/// Documents in sequences of one length. Both lists are empty where there is nothing to say.
struct DocumentLayout {
  /// Packed: where the parts of a sequence begin, and where the last one ends (cu_seqlens).
  std::vector<std::int64_t> bounds;
  /// Tokens that are no padding, of sequences 0, 1, ... of the batch in turn.
  std::vector<std::int64_t> filled;

  bool any() const { return !bounds.empty() || !filled.empty(); }
  /// Within a window of so many tokens; 0: none.
  DocumentSizes sizes(std::int64_t window = 0) const;
  /// Of the two chunks that a rank of `ranks` holds (plan/strategies/context.cpp): those of the
  /// rank whose queries see the most keys.
  DocumentSizes largest_share(std::int64_t ranks, std::int64_t window = 0) const;
  /// The first position of a sequence whose token is padding.
  std::int64_t end_of(std::int64_t sample, std::int64_t sequence_length) const {
    return filled.empty() ? sequence_length
                          : filled[static_cast<std::size_t>(sample) % filled.size()];
  }
};

/// Throws InputError S131, S132, S134.
DocumentLayout lay_out(const Documents& documents, std::int64_t sequence_length);

/// Of a batch of so many sequences, what the model is trained on: without padding.
BatchSizes trained_on(const Model& model, const DocumentLayout& layout,
                      std::int64_t sequence_length, std::int64_t batch);
/// What is computed: padding too, and attention `by_part` or over whole sequences.
BatchSizes computed(const Model& model, const DocumentLayout& layout, bool by_part,
                    std::int64_t sequence_length, std::int64_t batch);

}  // namespace plait
