#include "realrun/start_values.h"

#include <cmath>

#include "core/random.h"

namespace plait {
namespace {

constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;  // SplitMix64's increment

}  // namespace

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325ULL;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return h;
}

InitialWeight::InitialWeight(std::string_view name, std::int64_t layer, std::int64_t inputs)
    : key_(mix64(hash_of(name) + kOdd * static_cast<std::uint64_t>(layer + 1))) {
  const bool looked_up =
      name == "embedding.weight" || name == "position.weight" || name == "token_type.weight";
  if (name.ends_with("gamma") || name.ends_with("scan.d")) {
    mean_ = 1, size_ = 0.1;
  } else if (name.ends_with("dt_bias")) {
    // Softplus makes steps of 0.02 to 0.13 of it: states remember tens of tokens, as they do where
    // training begins (steps of 0.001 to 0.1, and d = 1: state-spaces/mamba,
    // mamba_ssm/modules/mamba2.py). States of few tokens come near zero, and the norms behind them
    // divide by it.
    mean_ = -3, size_ = 1;
  } else if (name.ends_with("beta") || name.ends_with("bias")) {
    size_ = 0.05;
  } else if (looked_up) {
    size_ = 0.5;
  } else {
    // What adapters change is small beside what the layer gives, as in fine-tuning; but not
    // nothing, since the gradient of A is B's multiple.
    const double scale = name.find(".lora_b") != std::string_view::npos ? 0.25 : 1.7;
    size_ = scale / std::sqrt(static_cast<double>(inputs));
  }
}

double InitialWeight::operator()(std::int64_t element) const {
  const std::uint64_t bits = mix64(key_ + kOdd * static_cast<std::uint64_t>(element + 1));
  return mean_ + size_ * (static_cast<double>(bits >> 11) * 0x1p-52 - 1);
}

std::int64_t token_at(std::int64_t sample, std::int64_t position, std::int64_t vocab) {
  const std::uint64_t bits = mix64(mix64(kOdd * static_cast<std::uint64_t>(sample + 1)) +
                                   static_cast<std::uint64_t>(position + 1));
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(vocab));
}

}  // namespace plait
