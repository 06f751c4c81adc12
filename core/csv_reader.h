#pragma once
// CSV, record by record, as RFC 4180 has it: a cell may stand in quotes, where separators and line
// ends are part of it and a quote is written twice. Blanks around cells, in or out of quotes, are
// no part of them.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

struct CsvRecord {
  int line = 0;  // that it begins on, from 1
  std::vector<std::string> cells;
  bool blank() const { return cells.size() == 1 && cells[0].empty(); }
};

class CsvReader {
 public:
  /// `text` outlives it.
  CsvReader(std::string_view text, char between) : text_(text), between_(between) {}
  /// False behind the last.
  bool next(CsvRecord& record);

 private:
  bool at_end_of_cell() const;
  std::string cell();
  std::string quoted();

  std::string_view text_;
  char between_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace plait
