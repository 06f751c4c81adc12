#pragma once
// What a search has simulated so far, in a file, so that another one can go on where it ended,
// however it ended. One line per layout, written whole and checked by a sum; a last line that was
// cut off is dropped. The file belongs to one search, whose fingerprint is in its first line.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "search/work.h"

namespace plait {

struct JournalEntry {
  std::uint32_t space = 0;   // of a search over several machines, which one
  std::uint32_t layout = 0;  // its number in the space
  Answer answer;
  bool operator==(const JournalEntry&) const = default;
};

class Journal {
 public:
  /// Opens the journal at `path` or begins one. Throws InputError G020 where the file is no journal
  /// or that of a search with another fingerprint, G021 where a line before the last is damaged;
  /// EnvironmentError where the file cannot be used or another search is writing it.
  Journal(const std::string& path, const std::string& fingerprint);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// What it held when it was opened, in the order of the lines.
  const std::vector<JournalEntry>& entries() const { return entries_; }
  /// Appends a line. It outlives this process at once, and the machine within a second. Throws
  /// EnvironmentError.
  void add(const JournalEntry& entry);

 private:
  void read(const std::string& fingerprint);
  /// Reads the lines from `begin` on; returns where the last good one ends.
  std::size_t read_entries(const std::string& text, std::size_t begin);
  void write(const std::string& text);
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  int file_ = -1;
  std::vector<JournalEntry> entries_;
  std::chrono::steady_clock::time_point synced_;
};

}  // namespace plait
