#pragma once
// What a run starts from. Weights are a hash of their name and global element index, tokens of
// their sample and position, so that every sharding of a model starts from the same numbers.

#include <cstdint>
#include <string_view>

namespace plait {

/// FNV-1a.
std::uint64_t hash_of(std::string_view text);

/// Initial values of one weight of one layer, by element: norms' scales around 1, matrices in
/// proportion to 1 / sqrt(inputs).
class InitialWeight {
 public:
  InitialWeight(std::string_view name, std::int64_t layer, std::int64_t inputs);
  double operator()(std::int64_t element) const;

 private:
  std::uint64_t key_;
  double mean_ = 0, size_;  // uniform in mean +- size
};

/// Token of a sample at a position, in [0, vocab).
std::int64_t token_at(std::int64_t sample, std::int64_t position, std::int64_t vocab);

/// An encoder is trained to tell the tokens that its input hides, each of them replaced by the last
/// one of the vocabulary: every seventh (BERT's 15 %; Devlin et al. 2018, arXiv 1810.04805, section
/// 3.1), beginning elsewhere in each sample.
constexpr bool masked_at(std::int64_t sample, std::int64_t position) {
  return (sample + position) % 7 == 0;
}

/// In place of the label of padding and of tokens that are not masked, which are not trained on.
inline constexpr std::int64_t kNoLabel = -1;

}  // namespace plait
