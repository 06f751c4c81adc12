#include "plan/documents.h"

#include <algorithm>

#include "plan/refusal.h"

namespace plait {
namespace {

void require_one_length(const Documents& d) {
  if (d.length == 0 || d.lengths.empty()) return;
  throw refusal("S131", "documents have one length for all of them and a list of lengths",
                "workload.documents", "workload.documents.length or workload.documents.lengths",
                "remove one of the two",
                {"workload.documents.length", "workload.documents.lengths"});
}

constexpr std::int64_t kMostDocuments = 1 << 20;

void require_few(const Documents& d, std::int64_t sequence_length) {
  if (d.length == 0 || sequence_length / d.length < kMostDocuments) return;
  throw refusal("S134", "more than a million documents in a sequence", "workload.documents.length",
                "at least " + std::to_string(sequence_length / kMostDocuments + 1) + " tokens",
                "make the documents longer", {"workload.sequence_length"});
}

/// `tokens` that stand in one sequence.
void require_room(std::int64_t tokens, std::int64_t sequence_length) {
  if (tokens <= sequence_length) return;
  throw refusal(
      "S132",
      "documents of " + std::to_string(tokens) + " tokens in a sequence of " +
          std::to_string(sequence_length),
      "workload.documents", "at most workload.sequence_length tokens in a sequence",
      "shorten the documents or raise workload.sequence_length",
      {"workload.documents.length", "workload.documents.lengths", "workload.sequence_length"});
}

/// Positions first .. first + n - 1. The query at offset x of a document sees x + 1/2 keys, but no
/// more than a window, so that a whole document of l has l^2 / 2 pairs: twice those of offsets u ..
/// v - 1 are v^2 - u^2, or what the window leaves of these.
void add_queries(DocumentSizes& to, const std::vector<std::int64_t>& bounds, std::int64_t window,
                 std::int64_t first, std::int64_t n) {
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    const std::int64_t begin = bounds[i - 1];
    const std::int64_t u = std::max(first, begin) - begin;
    const std::int64_t v = std::min(first + n, bounds[i]) - begin;
    if (v <= u) continue;
    ++to.count, to.longest = std::max(to.longest, v),
                to.squares += band_of(v, window) - band_of(u, window);
  }
}

DocumentLayout packed(const Documents& d, std::int64_t s) {
  require_few(d, s);
  DocumentLayout out{.bounds = {0}, .filled = {}};
  for (const std::int64_t length : d.lengths) out.bounds.push_back(out.bounds.back() + length);
  require_room(out.bounds.back(), s);
  if (d.lengths.empty()) {
    while (out.bounds.back() + d.length < s) out.bounds.push_back(out.bounds.back() + d.length);
  } else if (out.bounds.back() < s) {
    out.filled = {out.bounds.back()};
  }
  if (out.bounds.back() < s) out.bounds.push_back(s);
  return out;
}

DocumentLayout padded(const Documents& d, std::int64_t s) {
  DocumentLayout out{.bounds = {}, .filled = d.lengths};
  if (d.lengths.empty()) out.filled = {d.length};
  require_room(std::ranges::max(out.filled), s);
  return out;
}

}  // namespace

std::string_view name_of(Packing packing) {
  switch (packing) {
    case Packing::kNone: return "none";
    case Packing::kPacked: return "packed";
    case Packing::kPadded: return "padded";
  }
  return "?";
}

DocumentSizes DocumentLayout::sizes(std::int64_t window) const {
  DocumentSizes out;
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    const std::int64_t length = bounds[i] - bounds[i - 1];
    ++out.count, out.longest = std::max(out.longest, length);
    out.squares += band_of(length, window);
  }
  return out;
}

DocumentSizes DocumentLayout::largest_share(std::int64_t ranks, std::int64_t window) const {
  DocumentSizes most;
  if (bounds.empty()) return most;
  const std::int64_t chunk = bounds.back() / (2 * ranks);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    DocumentSizes own;
    add_queries(own, bounds, window, rank * chunk, chunk);
    add_queries(own, bounds, window, (2 * ranks - 1 - rank) * chunk, chunk);
    if (own.squares > most.squares) most = own;
  }
  return most;
}

DocumentLayout lay_out(const Documents& documents, std::int64_t sequence_length) {
  if (documents.packing == Packing::kNone || !documents.have_length()) return {};
  require_one_length(documents);
  return documents.packing == Packing::kPacked ? packed(documents, sequence_length)
                                               : padded(documents, sequence_length);
}

BatchSizes trained_on(const Model& model, const DocumentLayout& layout,
                      std::int64_t sequence_length, std::int64_t batch) {
  if (!layout.any()) return BatchSizes::of_sequences(model, sequence_length, batch);
  BatchSizes out;
  if (layout.bounds.empty()) {
    for (std::int64_t i = 0; i < batch; ++i) out.add(model, layout.end_of(i, sequence_length));
    return out;
  }
  const std::int64_t end = layout.end_of(0, sequence_length);
  for (std::size_t i = 1; i < layout.bounds.size() && layout.bounds[i] <= end; ++i) {
    out.add(model, layout.bounds[i] - layout.bounds[i - 1], batch);
  }
  return out;
}

BatchSizes computed(const Model& model, const DocumentLayout& layout, bool by_part,
                    std::int64_t sequence_length, std::int64_t batch) {
  if (!by_part || layout.bounds.empty()) {
    return BatchSizes::of_sequences(model, sequence_length, batch);
  }
  BatchSizes out;
  for (std::size_t i = 1; i < layout.bounds.size(); ++i) {
    out.add(model, layout.bounds[i] - layout.bounds[i - 1], batch);
  }
  return out;
}

}  // namespace plait
