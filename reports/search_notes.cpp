// What a search says above and below its table: the proof, what limits it, and what it leaves as it
// is.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "reports/compare.h"
#include "reports/human.h"
#include "reports/search.h"

namespace plait {
namespace {

std::string without_section(const std::string& path) { return path.substr(path.find('.') + 1); }

/// "; none is faster", or how far what is undecided may be off.
std::string gap_of(const SearchReport& s) {
  const SearchCounts& c = s.counts;
  if (c.considered == 0 && s.best.empty()) return "";
  if (c.open == 0) return s.not_begun > 0 ? "; none of these is faster" : "; none is faster";
  std::string open = fmt::format(", {} undecided", human_count(c.open));
  if (std::isinf(c.gap)) return open;
  if (c.gap > 0)
    return open + fmt::format(", of which one may be up to {} faster", human_percent(c.gap));
  if (c.gap_of_last == 0) return open + "; none is faster";
  if (s.best.size() < 2) return open + "; the best is proven";
  const std::string others =
      s.best.size() == 2 ? "place 2" : fmt::format("places 2 to {}", s.best.size());
  return open + fmt::format("; the best is proven, {} may be up to {} faster", others,
                            human_percent(c.gap_of_last));
}

std::string proof_of(const SearchReport& s) {
  const SearchCounts& c = s.counts;
  std::string out = fmt::format("{} layouts: {} simulated, {} too large, {} provably slower",
                                human_count(c.considered), human_count(c.simulated),
                                human_count(c.too_large), human_count(c.too_slow));
  if (c.refused > 0) out += fmt::format(", {} cannot be planned", human_count(c.refused));
  return out + gap_of(s);
}

/// "pipeline.schedule 1f1b, interleaved; recompute.kind none, full"
std::string words_of(const std::vector<SearchedValues>& fields) {
  std::vector<std::string> parts;
  for (const SearchedValues& field : fields) {
    parts.push_back(
        fmt::format("{} {}", without_section(field.path), fmt::join(field.values, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "limited to what megatron-core has: pipeline.schedule 1f1b, interleaved; recompute.kind none,
/// full"
std::string limits_of(const SearchReport& s) {
  if (s.limits.empty()) return "";
  return fmt::format("limited to what {} has: {}", s.framework, words_of(s.limits));
}

/// "not tried, as they divide nothing with the other sizes: tp 8; pp 4, 16"
std::string untried_of(const SearchReport& s) {
  if (s.untried.empty() || s.counts.considered == 0) return "";
  return fmt::format("not tried, as they divide nothing with the other sizes: {}",
                     words_of(s.untried));
}

/// "18 of nodes 2 cannot be planned: C014, nothing says what the processor is"
std::string words_of(const SearchRefusal& r) {
  const std::string of = r.machine.empty() ? "" : " of " + machine_words(r.machine);
  const std::string which = r.all && !of.empty()
                                ? fmt::format("none{} that may be among the best can", of)
                                : fmt::format("{}{} cannot", human_count(r.layouts), of);
  return fmt::format("{} be planned: {}, {}", which, r.why.code, r.why.problem);
}

/// The most frequent errors.
std::vector<std::string> refusals_of(const SearchReport& s) {
  constexpr std::size_t kShown = 3;
  std::vector<SearchRefusal> all = s.refusals;
  std::ranges::stable_sort(all, std::ranges::greater{}, &SearchRefusal::layouts);
  std::vector<std::string> out;
  for (const SearchRefusal& r : all) {
    if (out.size() < kShown) out.push_back(words_of(r));
  }
  if (all.size() > kShown) {
    out.push_back(fmt::format("and {} more errors, which JSON has", all.size() - kShown));
  }
  return out;
}

/// What an end before the end leaves out.
std::string interruption_of(const SearchReport& s) {
  if (!s.interrupted) return "";
  std::vector<std::string> missing;
  if (s.counts.open > 0) missing.emplace_back("layouts are undecided");
  if (s.not_begun > 0) {
    missing.push_back(fmt::format("{} of the variants {} not searched", human_count(s.not_begun),
                                  s.not_begun == 1 ? "is" : "are"));
  }
  if (s.front_cut) missing.emplace_back("the front lacks layouts with less memory");
  return fmt::format("INTERRUPTED: {}", fmt::join(missing, ", "));
}

/// What MFU counts, of all rows.
std::string squares_of(const SearchReport& s) {
  std::vector<const Report*> reports;
  for (const std::vector<SearchRow>* rows : {&s.best, &s.front}) {
    for (const SearchRow& row : *rows) reports.push_back(&row.report);
  }
  for (const std::optional<SearchRow>* row : {&s.own, &s.rule_of_thumb}) {
    if (*row) reports.push_back(&(*row)->report);
  }
  return half_squares_words(reports);
}

/// Why there is no row of the scenario itself.
std::string as_written_of(const SearchReport& s) {
  if (!s.own_refused) return "";
  return fmt::format("as written it cannot be planned: {}, {}", s.own_refused->code,
                     s.own_refused->problem);
}

/// Where steps are of different batches.
std::string batches_of(const SearchReport& s) {
  const auto alike = [&s](const SearchRow& row) {
    return same_batch(row.report, s.best.front().report);
  };
  if (s.best.empty() || std::ranges::all_of(s.best, alike)) return "";
  return "steps are of different batches: changes are those of the time per token";
}

}  // namespace

std::vector<Line> search_notes(const SearchReport& s, int width) {
  std::vector<Line> out = {{{proof_of(s)}}};
  for (std::string& part : wrap(interruption_of(s), width)) {
    if (!part.empty()) out.push_back({{std::move(part), Ink::kBad}});
  }
  std::vector<std::string> notes = {limits_of(s), untried_of(s), batches_of(s), squares_of(s),
                                    as_written_of(s)};
  if (s.flow_asked) {
    notes.emplace_back(
        "simulated with the analytic network, not with the flows that are asked for");
  }
  for (std::string& refusal : refusals_of(s)) notes.push_back(std::move(refusal));
  for (const std::string& note : notes) {
    for (std::string& part : wrap(note, width)) {
      if (!part.empty()) out.push_back({{std::move(part), Ink::kDim}});
    }
  }
  return out;
}

namespace {

std::string simulated_words(const SearchReport& s) {
  if (s.simulated_for_front == 0) return "";
  return fmt::format(", which took {} more", human_plural(s.simulated_for_front, "simulation"));
}

const char* what_cut_the_front(const SearchReport& s) {
  if (!s.front_cut && s.not_begun == 0) return "";
  return s.interrupted ? "; INTERRUPTED, it is not complete"
                       : "; the budget is spent, and it is not complete";
}

}  // namespace

std::string front_words(const SearchReport& s) {
  return fmt::format(
      "front: those of the best that no other beats, and with less memory the fastest in steps of "
      "{:.0f} %, down to the smallest{}{}",
      100 * kFrontStep, simulated_words(s), what_cut_the_front(s));
}

std::string held_words(const SearchReport& s) {
  if (s.held.empty()) return "";
  std::vector<std::string> parts;
  for (const Override& set : s.held) {
    const std::string name =
        set.path.starts_with("strategy.") ? without_section(set.path) : set.path;
    parts.push_back(set.value.empty() ? name : fmt::format("{} {}", name, set.value));
  }
  return fmt::format("held as written, where -L does not vary them: {}", fmt::join(parts, ", "));
}

std::string saving_words(const SearchReport& s) {
  if (!s.nothing.empty()) return "";
  struct Saving {
    const char *path, *value, *option;
  };
  constexpr Saving kSaving[] = {
      {"strategy.offload.optimizer", "none", "--set strategy.offload=auto"},
      {"strategy.offload.activations", "none", "-L strategy.offload.activations=none,cpu"},
      {"workload.loss_pieces", "1", "-L workload.loss_pieces=1,16"}};
  std::vector<std::string> options;
  for (const Saving& saving : kSaving) {
    const auto is_it = [&](const Override& held) {
      return held.path == saving.path && held.value == saving.value;
    };
    if (std::ranges::any_of(s.held, is_it)) options.emplace_back(saving.option);
  }
  if (options.empty()) return "";
  return fmt::format("not searched, and may need less memory: {}", fmt::join(options, "; "));
}

}  // namespace plait
