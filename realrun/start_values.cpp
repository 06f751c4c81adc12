#include "realrun/start_values.h"

#include <cmath>

namespace plait {
namespace {

/// SplitMix64's finaliser (Steele et al. 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325ULL;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return h;
}

double hashed_uniform(std::string_view name, std::int64_t layer, std::int64_t element) {
  const std::uint64_t key =
      mix(hash_of(name) + 0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(layer + 1));
  const std::uint64_t bits =
      mix(key + 0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(element + 1));
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1;
}

double initial_weight(std::string_view name, std::int64_t layer, std::int64_t element,
                      std::int64_t inputs) {
  const double u = hashed_uniform(name, layer, element);
  if (name.ends_with("gamma")) return 1 + 0.1 * u;
  if (name.ends_with("beta") || name.ends_with("bias")) return 0.05 * u;
  const bool looked_up =
      name == "embedding.weight" || name == "position.weight" || name == "token_type.weight";
  if (looked_up) return 0.5 * u;
  // What adapters change is small beside what the layer gives, as in fine-tuning; but not nothing,
  // since the gradient of A is B's multiple.
  const double size = name.find(".lora_b") != std::string_view::npos ? 0.25 : 1.7;
  return size * u / std::sqrt(static_cast<double>(inputs));
}

std::int64_t token_at(std::int64_t sample, std::int64_t position, std::int64_t vocab) {
  const std::uint64_t bits =
      mix(mix(0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(sample + 1)) +
          static_cast<std::uint64_t>(position + 1));
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(vocab));
}

}  // namespace plait
