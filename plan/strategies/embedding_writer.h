#pragma once
// The beginning of the model, unsharded: rows of tables, looked up by token, position and type of
// text, added up, and where the model has one a norm of their sum.

#include <optional>
#include <vector>

#include "plan/strategies/block_writer.h"

namespace plait {

class EmbeddingWriter {
 public:
  EmbeddingWriter(Draft& d, BlockWriter& w);

  void forward();
  void backward();
  /// Of the tokens.
  BlockWriter::Parameter table() const { return table_; }

 private:
  /// A table whose row a token's place chooses: `run` neighbouring positions share one.
  struct Placed {
    BlockWriter::Parameter rows;
    std::int64_t run = 1;
  };
  void declare();
  Embedding lookup(Pass pass) const;
  Embedding lookup(Pass pass, const Placed& placed) const;

  Draft& d_;
  BlockWriter& w_;
  BlockWriter::Parameter table_{};
  std::vector<Placed> placed_;
  std::optional<BlockWriter::NormWeights> norm_;
  std::vector<TensorId> sums_;  // one behind each table
};

}  // namespace plait
