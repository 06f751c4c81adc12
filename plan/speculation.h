#pragma once
// Speculative decoding (Leviathan et al. 2023; Chen et al. 2023): something cheap guesses the next
// k tokens of a sequence, and one step of the model checks them all, with k + 1 tokens for each
// sequence. Of guesses each of which is accepted with probability a, independently and up to the
// first that is not, a step yields (1 - a^(k + 1)) / (1 - a) tokens on average (Leviathan et al.
// 2023, equation 1).

#include <cstdint>
#include <string>

namespace plait {

/// What guesses, by the names of vLLM's --speculative-config.
enum class Drafting : std::uint8_t {
  kNone,
  kNgram,       // the host, from what the sequence already has (prompt lookup)
  kDraftModel,  // a small model of its own
  kMtp,         // the model's own module that predicts further tokens, once for each guess
  kEagle        // a head of one layer on the model's last hidden states, once for each guess
};

struct Speculation {
  Drafting method = Drafting::kNone;
  std::int64_t tokens = 1;  // guessed at a time: k (num_speculative_tokens)
  double acceptance = 0;    // a, of a guess whose predecessors were accepted
  std::string draft_model;  // kDraftModel: a preset's name
  bool any() const { return method != Drafting::kNone; }
};

}  // namespace plait
