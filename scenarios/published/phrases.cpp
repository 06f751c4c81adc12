#include "scenarios/published/phrases.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

#include "core/compiled.h"
#include "core/spelling.h"

namespace plait {
namespace {

/// Texts are told apart into clauses: a negation does not reach over these. A dot inside a word or
/// number is no end of a sentence.
bool ends_clause(const std::string& text, std::size_t at) {
  const char c = text[at];
  if (c == '.') return at + 1 == text.size() || text[at + 1] == ' ';
  return std::string_view(";,()\n|").find(c) != std::string_view::npos;
}

std::string clause_before(const std::string& text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && !ends_clause(text, begin - 1)) --begin;
  return text.substr(begin, at - begin);
}

std::string clause_behind(const std::string& text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && !ends_clause(text, end)) ++end;
  return text.substr(at, end - at);
}

/// "no", "without the use of", "did not use", "never", "instead of", up to what is denied.
bool denied_before(const std::string& clause) {
  static const std::regex kBefore(
      R"((?:\b(?:no|not|non|without|w/o|never|neither|nor|lacks?|lacking|missing|disabl(?:e|ed|es|ing)))"
      R"(|n't|\b(?:instead of|rather than|unlike|compared (?:to|with)|vs\.?|versus|than|against))[ -]+)"
      R"((?:(?:an?|any|the|its|their|own|of|use|used|uses|using|enabled?|explicit|extra|custom|fused)"
      R"(|separate|torch|kernels?|yet|in|with|be|been)[ .-]+|--|["'])*$)");
  return std::regex_search(clause, kBefore);
}

/// "=False", ": off", not "FSDP: no offload", " false" as arguments have it, "kernels were
/// disabled", "is not used".
bool denied_behind(const std::string& clause) {
  static const std::regex kBehind(
      R"(^[\w"']*(?:\s*[=:]\s*["']?(?:false|off|no(?! \w)|none|0|disabled)\b(?![.\w])| (?:false|none)\b)"
      R"(|(?: (?:kernels?|ops?|layers?|switch|flag|option|mode|support|attention|norms?|itself))*)"
      R"((?: (?:is|are|was|were|has|have|been|being|turned|switched|set|to))*)"
      R"( (?:(?:not|never|isn't|wasn't|aren't|weren't)(?: (?:be|been|being))?)"
      R"((?: (?:used|enabled|on|set|available|supported|applied|active|turned on|there)\b| *$))"
      R"(|off\b|disabled\b|unused\b)))");
  return std::regex_search(clause, kBehind);
}

struct PhraseWords {
  Phrase phrase;
  const char* called;
  const char* pattern;  // of plain_text
};
constexpr std::array<PhraseWords, 13> kPhrases = {{
    {Phrase::kCompile, "torch.compile", R"(\bcompiled?\b)"},
    {Phrase::kLiger, "Liger", R"(\bliger)"},
    {Phrase::kLossPieces, "loss in pieces",
     R"(\bchunked (?:output |fused |linear )*(?:loss|nll|ce|cross entropy)\b)"},
    {Phrase::kOverlapsGradients, "overlap of gradients",
     R"(\boverlap(?:ped)? (?:of )?grad(?:ient)?s? reduc(?:e|tion)\b)"},
    {Phrase::kOverlapsGathers, "overlap of gathered weights",
     R"(\boverlap(?:ped)? (?:of )?param(?:eter)?s? gather|\boverlap grad reduce ?(?:and|\+|/|&|,)(?: and)? ?param gather)"},
    {Phrase::kOverlapsTensor, "overlap of tensor parallelism", R"(\btp comm overlap\b)"},
    {Phrase::kHidesExchanges, "overlap of exchanges",
     R"(\ba2a overlap\b|\boverlap moe expert parallel comm\b)"},
    {Phrase::kWholeStepGraph, "a graph of the whole step",
     R"(\bcuda graphs?(?: impl| scope)? ?[=:] ?(?:local ?/ ?)?\W{0,2}full iteration\b(?! inf))"},
    {Phrase::kGraphs, "CUDA graphs", R"(\bcuda ?graphs\b)"},
    {Phrase::kAsyncTensor, "async tensor parallelism",
     R"(\btp linear async communication\b|\basync communication\b|\basync ?tp\b|\basync tensor parallel)"},
    {Phrase::kDropsTokens, "dropped tokens",
     R"(\btokens?(?: (?:are|were))? ?drop(?!out|less)|\bdrop(?:s|ped|ping)? tokens?\b|\bdrop and pad\b)"},
    {Phrase::kDeepEp, "DeepEP", R"(\bdeepep\b)"},
    {Phrase::kHybridEp, "HybridEP", R"(\bhybridep\b)"},
}};

/// An argument's value stands behind a blank: "--tp-comm-overlap false". Models that drop tokens
/// are called so; names of Megatron-LM's tests say nothing of switches.
std::string words_of(const PublishedRun& run, Phrase phrase) {
  const std::string text = run.notes + "; " + run.kernel + "; " + run.arguments;
  return plain_text(phrase == Phrase::kDropsTokens ? text + "; " + run.model.name : text);
}

}  // namespace

std::string plain_text(std::string text) {
  text = lower_case(text);
  std::ranges::replace_if(
      text, [](char c) { return c == '_' || c == '-'; }, ' ');
  return text;
}

// Of two negations one takes back the other: "no master weights: false".
bool is_denied(const std::string& text, std::size_t begin, std::size_t end) {
  return denied_before(clause_before(text, begin)) != denied_behind(clause_behind(text, end));
}

std::vector<Mention> mentions_of(const std::string& text, const std::string& pattern) {
  const std::string small = lower_case(text);
  std::vector<Mention> out;
  for (std::sregex_iterator at(small.begin(), small.end(), compiled(pattern)), end; at != end;
       ++at) {
    const auto begin = static_cast<std::size_t>(at->position());
    const std::size_t behind = begin + static_cast<std::size_t>(at->length());
    Mention place{at->str(), {}, is_denied(small, begin, behind)};
    for (std::size_t i = 1; i < at->size(); ++i) place.groups.push_back((*at)[i].str());
    out.push_back(std::move(place));
  }
  return out;
}

std::optional<Mention> asserted(const std::string& text, const std::string& pattern) {
  const std::vector<Mention> found = mentions_of(text, pattern);
  const auto at = std::ranges::find(found, false, &Mention::denied);
  return at == found.end() ? std::nullopt : std::optional(*at);
}

std::optional<bool> said_in(const std::string& text, const std::string& pattern) {
  const std::vector<Mention> found = mentions_of(text, pattern);
  if (found.empty()) return std::nullopt;
  return std::ranges::find(found, false, &Mention::denied) != found.end();
}

bool says(const PublishedRun& run, Phrase phrase) {
  const auto* words = std::ranges::find(kPhrases, phrase, &PhraseWords::phrase);
  return said_in(words_of(run, phrase), words->pattern).value_or(false);
}

std::string phrases_read(const PublishedRun& run) {
  std::string out;
  for (const PhraseWords& words : kPhrases) {
    const std::optional<bool> said = said_in(words_of(run, words.phrase), words.pattern);
    if (!said) continue;
    out += (out.empty() ? "read: " : "; ") + std::string(*said ? "" : "no ") + words.called;
  }
  return out;
}

}  // namespace plait
