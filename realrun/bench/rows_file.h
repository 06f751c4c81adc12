#pragma once
// A file of measurements that grows row by row. Each row goes out in one write and a part of one is
// taken back, so however the run ends (Ctrl-C, a full disk, a crash of the machine) the file holds
// whole rows, and the same command goes on where it stopped.

#include <set>
#include <string>

#include "model/measurement.h"

namespace plait {

class RowsFile {
 public:
  /// Opens `path` ("-" or "": standard output). Rows that are there already are kept and known, if
  /// the file was begun by the same bench on the same machine, with as many threads and the same
  /// --quick; else throws InputError K004. Throws EnvironmentError when it cannot be written.
  RowsFile(const std::string& path, const RunRow& run);
  ~RowsFile();
  RowsFile(const RowsFile&) = delete;
  RowsFile& operator=(const RowsFile&) = delete;

  /// Whether a row of this identity is there.
  bool has(const Row& row) const { return known_.contains(identity_of(row)); }
  /// Rows that were there when it was opened.
  std::size_t found() const { return found_; }
  /// Throws EnvironmentError (disk full); the rows before stay.
  void add(const Row& row);

 private:
  void keep_whole_rows(const RunRow& run);
  [[noreturn]] void fail(int reason);

  std::string path_;
  int fd_ = -1;
  std::int64_t whole_ = 0;  // bytes of whole rows
  std::size_t found_ = 0;
  std::set<std::string> known_;
};

}  // namespace plait
