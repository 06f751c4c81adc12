#include "reports/profile/operator_chains.h"

#include <algorithm>
#include <optional>

#include "reports/profile/operator_patterns.h"

namespace plait {
namespace {

/// How many letters `chain` takes from the beginning of `letters`, as many as it can; none where it
/// does not fit.
std::optional<std::size_t> taken(std::string_view chain, std::string_view letters) {
  if (chain.empty()) return 0;
  const bool optional = chain.size() > 1 && chain[1] == '?';
  const std::string_view rest = chain.substr(optional ? 2 : 1);
  if (!letters.empty() && letters.front() == chain.front()) {
    if (const auto more = taken(rest, letters.substr(1))) return 1 + *more;
  }
  return optional ? taken(rest, letters) : std::nullopt;
}

/// Products, norms, losses and embeddings are known by their own names.
bool keeps_its_kind(char letter) {
  return std::string_view("LNXE").find(letter) != std::string_view::npos;
}

}  // namespace

char letter_of(std::string_view operator_name) {
  using operator_patterns::kLetters;
  const auto* found =
      std::ranges::find(kLetters, operator_name, &operator_patterns::OperatorLetter::name);
  return found == std::end(kLetters) ? '.' : found->letter;
}

bool is_view_of_chains(char letter) {
  return std::string_view("sSvzZ").find(letter) != std::string_view::npos;
}

std::vector<KernelKind> kinds_of_chain(std::string_view letters) {
  std::vector<KernelKind> out(letters.size(), KernelKind::kUnknown);
  for (std::size_t at = 0; at < letters.size();) {
    std::size_t next = at + 1;
    for (const operator_patterns::OperatorChain& chain : operator_patterns::kChains) {
      const auto count = taken(chain.letters, letters.substr(at));
      if (!count) continue;
      next = at + *count;
      for (std::size_t i = at; i < next; ++i) {
        if (!keeps_its_kind(letters[i])) out[i] = chain.kind;
      }
      break;
    }
    // The last one may be the first of the next chain: a product behind weights of attention.
    const bool shared = next > at + 1 && keeps_its_kind(letters[next - 1]);
    at = shared ? next - 1 : next;
  }
  return out;
}

}  // namespace plait
