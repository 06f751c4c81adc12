#pragma once
// Where a reader of a shell script stands in its text, and whether the command there goes on from
// the line before.

#include <string>
#include <string_view>

namespace plait {

bool is_shell_space(char c);
/// Between words.
bool ends_shell_word(char c);
/// Of a variable's name.
bool is_shell_name(char c);

class ShellCursor {
 public:
  explicit ShellCursor(std::string_view text, int line = 1) : text_(text), line_(line) {}

  bool ends() const { return at_ >= text_.size(); }
  /// The character that stands here; a blank at the end.
  char next() const { return ends() ? ' ' : text_[at_]; }
  bool at(std::string_view text) const { return text_.substr(at_).starts_with(text); }
  /// The character in front.
  char last() const { return text_[at_ - 1]; }
  int line() const { return line_; }

  /// One character on, which it is.
  char step();
  void skip_comment();
  /// Passes >, >>, <, <<, >&, <&, &> and >|, where one stands here: a file, or the number of an
  /// open one, is the next word. Not <( and >(, which are commands.
  bool take_redirection();
  /// What is up to the end of the line or the command.
  std::string_view rest_of_command();
  std::string name();
  /// From the bracket that opens here to the one that closes it; what is between.
  std::string_view bracketed();
  /// The same of back quotes.
  std::string_view back_quoted();
  /// Behind "{", up to the "}" that closes it.
  std::string braced();

  /// A backslash stands here, and blanks at most between it and the end of its line.
  bool ends_line() const { return next() == '\\' && end_of_blanks() > 0; }
  /// Passes it: the command goes on in the next line, unless a blank follows the backslash.
  void take_line_end();
  /// A word or the end of a line: what follows goes on from no line before.
  void leave_line_end() { goes_on_ = false; }
  /// Why a command ended whose line seems to go on, "" where none did, since it was last asked.
  std::string take_broken();

 private:
  std::size_t end_of_blanks() const;

  std::string_view text_;
  std::size_t at_ = 0;
  int line_;
  bool goes_on_ = false;  // from the line before
  std::string broken_;
};

}  // namespace plait
