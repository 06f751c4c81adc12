#include "prediction/search/records.h"

#include <fmt/format.h>

#include "core/sha256.h"
#include "plait_version.h"

namespace plait {
namespace {

/// What makes two searches the same: layouts have the same numbers and the same figures.
std::string fingerprint_of(const Studies& studies) {
  std::string text = fmt::format("{} {}\n", kVersion, kRevision);
  for (const std::unique_ptr<Study>& study : studies) text += study->identity();
  return sha256(text);
}

}  // namespace

SearchRecords::SearchRecords(const SearchFiles& files, const Studies& studies,
                             const RunFacts& facts) {
  if (!files.journal.empty()) {
    journal_ = std::make_unique<Journal>(files.journal, fingerprint_of(studies));
  }
  if (!files.csv.empty()) writers_.push_back(write_layouts_csv(files.csv));
  if (!files.sqlite.empty()) {
    writers_.push_back(write_layouts_sqlite(files.sqlite, facts.scenario, facts));
  }
}

SearchEars SearchRecords::ears(std::uint32_t space, const Study& study) {
  SearchEars out;
  out.all_memory = journal_ != nullptr || !writers_.empty();
  if (journal_) {
    out.at_once = [this, space](std::uint32_t layout, const Answer& answer) {
      journal_->add({space, layout, answer});
    };
  }
  if (!writers_.empty()) {
    out.in_order = [this, &study](const std::vector<Simulated>& news) { write(study, news); };
  }
  return out;
}

std::vector<std::pair<std::uint32_t, Answer>> SearchRecords::known(std::uint32_t space) const {
  std::vector<std::pair<std::uint32_t, Answer>> out;
  if (!journal_) return out;
  for (const JournalEntry& e : journal_->entries()) {
    if (e.space == space) out.emplace_back(e.layout, e.answer);
  }
  return out;
}

void SearchRecords::finish(bool complete) {
  for (const std::unique_ptr<LayoutWriter>& w : writers_) w->finish(complete);
}

void SearchRecords::write(const Study& study, const std::vector<Simulated>& news) {
  std::vector<SimulatedLayout> rows;
  for (const Simulated& n : news) {
    SimulatedLayout row{study.machine(), study.settings(n.number)};
    row.bound_s = to_seconds(n.bound).value;
    row.planned = !n.answer.refused();
    if (row.planned) {
      row.step_time_s = to_seconds(n.answer.step).value;
      row.memory_bytes = n.answer.memory, row.room_bytes = n.answer.room;
    }
    rows.push_back(std::move(row));
  }
  for (const std::unique_ptr<LayoutWriter>& w : writers_) w->add(rows);
}

}  // namespace plait
