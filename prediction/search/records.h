#pragma once
// The files that a search keeps while it runs: its journal, and tables of what it has simulated.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "prediction/search/machines.h"
#include "reports/simulated_layouts.h"
#include "search/journal.h"

namespace plait {

/// Their paths; "": none.
struct SearchFiles {
  std::string journal, csv, sqlite;
};

class SearchRecords {
 public:
  SearchRecords(const SearchFiles& files, const Studies& studies, const RunFacts& facts);

  /// What they have to hear of study number `space`.
  SearchEars ears(std::uint32_t space, const Study& study);
  /// What the journal held of it.
  std::vector<std::pair<std::uint32_t, Answer>> known(std::uint32_t space) const;
  void finish(bool complete);

 private:
  void write(const Study& study, const std::vector<Simulated>& news);

  std::unique_ptr<Journal> journal_;
  std::vector<std::unique_ptr<LayoutWriter>> writers_;
};

}  // namespace plait
