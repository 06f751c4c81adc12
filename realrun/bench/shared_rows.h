#pragma once
// The rows of a bench that ranks measure together: rank 0 has the file, and all do what it says.

#include <string>

#include "realrun/bench/bench.h"
#include "realrun/control.h"

namespace plait {

class SharedRows {
 public:
  /// `file`: null on other ranks than 0.
  SharedRows(Control& control, RowsFile* file, const BenchOptions& options)
      : control_(control), file_(file), options_(options) {}

  void expect(std::size_t rows) { all_ = rows; }
  /// Whether this row is still to be measured, the same on all ranks.
  bool is_due(const Row& row, const std::string& what) {
    if (file_ != nullptr) options_.progress(done_, all_, what);
    ++done_;
    return control_.agreed(file_ == nullptr || !file_->has(row));
  }
  void add(const Row& row) {
    if (file_ != nullptr) file_->add(row);
  }

 private:
  Control& control_;
  RowsFile* file_;
  const BenchOptions& options_;
  std::size_t all_ = 0, done_ = 0;
};

}  // namespace plait
