#pragma once
// Whether the words of a record assert something or deny it: "torch.compile" and "compile=True", or
// "no torch.compile", "without compile", "compile=False", "torch.compile off", "compile was not
// used". It is decided here for all that is read in texts.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

/// As the patterns below want texts: small letters, with blanks for underscores and for hyphens.
std::string plain_text(std::string text);

/// Whether the words of a text (in small letters) from `begin` to `end` are denied there.
bool is_denied(const std::string& text, std::size_t begin, std::size_t end);

/// A place where a text has a pattern (a regular expression).
struct Mention {
  std::string words;                // in small letters
  std::vector<std::string> groups;  // what is in brackets of the pattern
  bool denied = false;
};
std::vector<Mention> mentions_of(const std::string& text, const std::string& pattern);

/// The first place that is not denied.
std::optional<Mention> asserted(const std::string& text, const std::string& pattern);

/// Nothing where a text does not have the pattern; false where each place is denied.
std::optional<bool> said_in(const std::string& text, const std::string& pattern);

/// What software, kernels and switches are called in notes, in `kernel` and in further arguments.
enum class Phrase : std::uint8_t {
  kCompile,            // torch.compile, of layers
  kLiger,              // Liger-Kernel
  kLossPieces,         // "chunked cross entropy", torchtune's and TRL's
  kOverlapsGradients,  // Megatron-LM's --overlap-grad-reduce
  kOverlapsGathers,    // --overlap-param-gather
  kOverlapsTensor,     // --tp-comm-overlap
  kHidesExchanges,     // overlap_moe_expert_parallel_comm, "a2a overlap"
  kWholeStepGraph,     // cuda_graph_impl full_iteration, earlier that scope of local
  kGraphs,             // CUDA graphs, of layers or of what is not said
  kAsyncTensor,        // torchtitan's, nanotron's
  kDropsTokens,        // of mixtures
  kDeepEp,
  kHybridEp
};
/// Whether the record asserts it.
bool says(const PublishedRun& run, Phrase phrase);

/// What of these the record says, as it stands among what is taken: `read: torch.compile; no
/// Liger`; empty where it says none.
std::string phrases_read(const PublishedRun& run);

}  // namespace plait
