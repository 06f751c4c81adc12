#include "serving/guesses.h"

#include "serving/draws.h"

namespace plait {

Guesses guesses_of(const Speculation& s, std::int64_t seed) {
  if (!s.any()) return {};
  // vLLM's Scheduler: num_lookahead_tokens, of methods that keep keys and values of guesses.
  const std::int64_t lookahead = s.method == Drafting::kNgram ? 0 : s.tokens;
  return {s.tokens, lookahead, s.acceptance, static_cast<std::uint64_t>(seed)};
}

std::int64_t accepted(const Guesses& guesses, std::size_t request, std::int64_t known,
                      std::int64_t guessed) {
  const std::uint64_t first = scramble(request) + static_cast<std::uint64_t>(known);
  std::int64_t n = 0;
  while (n < guessed && uniform(guesses.seed, kAcceptance, first + static_cast<std::uint64_t>(n)) <
                            guesses.acceptance) {
    ++n;
  }
  return n;
}

}  // namespace plait
