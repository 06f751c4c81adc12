#include "scenarios/dialects/shell/shell_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace plait {

bool is_shell_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool ends_shell_word(char c) {
  return is_shell_space(c) || c == '(' || c == ')' || c == ';' || c == '&' || c == '|' ||
         c == '<' || c == '>';
}
bool is_shell_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

char ShellCursor::step() {
  if (text_[at_] == '\n') ++line_;
  return text_[at_++];
}

void ShellCursor::skip_comment() {
  if (goes_on_) broken_ = fmt::format("as line {} is a comment", line_);
  at_ = std::min(text_.find('\n', at_), text_.size());
}

bool ShellCursor::take_redirection() {
  std::size_t end = text_.find_first_not_of("<>", at_);
  if (end == std::string_view::npos) end = text_.size();
  if (at("&>")) {
    end = std::min(text_.find_first_not_of('>', at_ + 1), text_.size());
  } else if (end == at_ || (end < text_.size() && text_[end] == '(')) {
    return false;
  } else if (end < text_.size() && (text_[end] == '&' || text_[end] == '|')) {
    ++end;
  }
  at_ = end;
  return true;
}

std::string_view ShellCursor::rest_of_command() {
  const std::size_t begin = at_;
  at_ = std::min(text_.find_first_of("\n;", at_), text_.size());
  return text_.substr(begin, at_ - begin);
}

std::string ShellCursor::name() {
  std::string out;
  while (!ends() && is_shell_name(next())) out += step();
  return out;
}

std::string_view ShellCursor::bracketed() {
  const std::size_t begin = at_ + 1;
  int depth = 0;
  do {
    const char c = step();
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
  } while (!ends() && depth > 0);
  return text_.substr(begin, at_ - 1 - begin);
}

std::string_view ShellCursor::back_quoted() {
  step();
  const std::size_t begin = at_;
  while (!ends() && next() != '`') step();
  const std::string_view out = text_.substr(begin, at_ - begin);
  if (!ends()) step();
  return out;
}

std::string ShellCursor::braced() {
  std::string out;
  for (int depth = 0; !ends() && (next() != '}' || depth > 0);) {
    depth += next() == '{' ? 1 : next() == '}' ? -1 : 0;
    out += step();
  }
  if (!ends()) step();
  return out;
}

/// 0 where no line ends there.
std::size_t ShellCursor::end_of_blanks() const {
  std::size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != '\n' && is_shell_space(text_[end])) ++end;
  return end < text_.size() && text_[end] == '\n' ? end : 0;
}

/// That lines end in \r\n is no blank.
void ShellCursor::take_line_end() {
  const std::size_t end = end_of_blanks();
  const std::string_view blanks = text_.substr(at_ + 1, end - at_ - 1);
  goes_on_ = blanks.empty() || blanks == "\r";
  if (!goes_on_) broken_ = fmt::format("as a blank follows the backslash in line {}", line_);
  at_ = end;
  if (goes_on_) step();
}

std::string ShellCursor::take_broken() { return std::exchange(broken_, ""); }

}  // namespace plait
