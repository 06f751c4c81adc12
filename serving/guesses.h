#pragma once
// Guessed tokens as a scheduler sees them (plan/speculation.h): how many a sequence gets, and how
// many of them turn out right.

#include <cstddef>
#include <cstdint>

#include "plan/speculation.h"

namespace plait {

struct Guesses {
  std::int64_t tokens = 0;     // of each sequence in a step: k; 0: there are none
  std::int64_t lookahead = 0;  // slots behind them, in which a drafter puts those of the next step
  double acceptance = 0;
  std::uint64_t seed = 1;
  bool any() const { return tokens > 0; }
};

struct GuessTotals {
  std::int64_t checks = 0;  // sequences with guesses, in all steps
  std::int64_t guesses = 0, accepted = 0;
  GuessTotals& operator+=(const GuessTotals& o) {
    checks += o.checks, guesses += o.guesses, accepted += o.accepted;
    return *this;
  }
  /// vLLM's "Mean acceptance length": tokens that a checked sequence gets of a step.
  double mean_length() const {
    return checks > 0 ? 1 + static_cast<double>(accepted) / static_cast<double>(checks) : 0;
  }
  /// vLLM's "Avg Draft acceptance rate": of all guesses, those behind a wrong one too.
  double rate() const {
    return guesses > 0 ? static_cast<double>(accepted) / static_cast<double>(guesses) : 0;
  }
};

Guesses guesses_of(const Speculation& speculation, std::int64_t seed);

/// Of `guessed` tokens behind the first `known` of a request those that are right, up to the first
/// that is not. The same whatever step and whichever replica checks them.
std::int64_t accepted(const Guesses& guesses, std::size_t request, std::int64_t known,
                      std::int64_t guessed);

}  // namespace plait
