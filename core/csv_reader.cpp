#include "core/csv_reader.h"

#include "core/split.h"

namespace plait {

bool CsvReader::at_end_of_cell() const {
  return at_ == text_.size() || text_[at_] == between_ || text_[at_] == '\n';
}

/// Behind the opening quote. One that is never closed goes on to the end of the text.
std::string CsvReader::quoted() {
  std::string out;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"' && ++at_ < text_.size() && text_[at_] != '"') break;
    if (at_ == text_.size()) break;
    if (text_[at_] == '\n') ++line_;
    out += text_[at_];
  }
  return out;
}

std::string CsvReader::cell() {
  while (!at_end_of_cell() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  std::string out;
  if (at_ < text_.size() && text_[at_] == '"') {
    ++at_;
    out = quoted();
  }
  const std::size_t begin = at_;
  while (!at_end_of_cell()) ++at_;
  out += text_.substr(begin, at_ - begin);
  return std::string(trimmed(out));
}

bool CsvReader::next(CsvRecord& record) {
  if (at_ == text_.size()) return false;
  record.line = line_;
  record.cells.clear();
  for (record.cells.push_back(cell()); at_ < text_.size() && text_[at_] == between_;) {
    ++at_;
    record.cells.push_back(cell());
  }
  if (at_ < text_.size()) ++at_, ++line_;  // the end of the line
  return true;
}

}  // namespace plait
