#include "scenarios/dialects/shell_words.h"

#include <cctype>
#include <map>
#include <utility>

#include "core/error.h"
#include "scenarios/dialects/shell_flow.h"

namespace plait {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool ends_word(char c) {
  return is_space(c) || c == '(' || c == ')' || c == ';' || c == '&' || c == '|' || c == '<' ||
         c == '>';
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<ShellWord> read(std::vector<std::string>* warnings) {
    std::vector<ShellWord> words = read();
    flow_.refuse_open(file_);
    if (warnings != nullptr) warnings->insert(warnings->end(), notes_.begin(), notes_.end());
    return words;
  }

 private:
  std::vector<ShellWord> read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        skip_line();
      } else if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
        step();
        step();
      } else if (ends_word(c)) {
        separator(c);
      } else {
        word();
      }
    }
    return std::move(words_);
  }

  char step() {
    if (text_[at_] == '\n') ++line_;
    return text_[at_++];
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  /// Between words: it may end an array or a command.
  void separator(char c) {
    begins_ = begins_ || c == ')' || c == ';' || c == '&' || c == '|';
    step();
    if (in_array_) {
      in_array_ = c != ')';
      return;
    }
    starts_ = starts_ || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')';
    const bool twice = at_ < text_.size() && text_[at_] == c && (c == ';' || c == '&' || c == '|');
    if (twice) step();
    if (c == ')') flow_.ends_pattern();
    if (twice && c != ';') flow_.goes_on(c == '&');
    if (twice && c == ';') flow_.ends_branch();
    if (!twice && (c == ';' || c == '\n')) flow_.ends_command();
  }

  /// One word; an assignment is remembered and, where its value has several words, taken apart.
  void word() {
    ShellWord out{.text = {}, .line = line_, .unknown = false};
    bool quoted = false;
    const std::size_t expansions = expansions_;
    while (at_ < text_.size() && !ends_word(text_[at_])) {
      quoted = quoted || text_[at_] == '\'' || text_[at_] == '"';
      piece(out);
    }
    const bool plain = !quoted && expansions == expansions_;
    if (!in_array_ && flow_.takes(out, plain, std::exchange(starts_, false))) {
      starts_ = flow_.leads();
      begins_ = true;
      return;
    }
    const std::size_t equals = out.text.find('=');
    const bool assigns = is_assignment(out.text, equals) && !is_value(out);
    if (assigns || out.text.starts_with("--")) warn();
    if (assigns) {
      assign(out, equals, quoted);
    } else if (!flow_.runs()) {
      return;
    } else if (!out.text.empty() || (quoted && expansions == expansions_)) {
      const bool splits = in_array_ && quoted && out.text.starts_with("--") &&
                          out.text.find(' ') < out.text.find('=');
      if (splits) return take_apart(out.text, out.line);
      out.begins = std::exchange(begins_, false);
      words_.push_back(std::move(out));
    }
  }

  /// An option or a variable stands here: how the tests around it were read matters.
  void warn() {
    for (std::string& note : flow_.take_notes()) notes_.push_back(std::move(note));
  }

  /// A quote, an expansion, or a character of a word.
  void piece(ShellWord& out) {
    const char c = text_[at_];
    if (c == '\'' || c == '"') {
      quote(out);
    } else if (c == '$') {
      expand(out);
    } else if (c == '\\') {
      step();
      if (at_ < text_.size() && step() != '\n') out.text += text_[at_ - 1];
    } else {
      out.text += step();
    }
  }

  /// The words that a value is where it stands without quotes.
  void take_apart(const std::string& value, int line) {
    Reader inner(value, file_);
    inner.line_ = line;
    inner.variables_ = variables_;
    inner.begins_ = std::exchange(begins_, false);
    for (ShellWord& w : inner.read()) words_.push_back(std::move(w));
  }

  /// Behind an option on its line: "-ot exps=CPU".
  bool is_value(const ShellWord& word) const {
    if (begins_ || in_array_ || words_.empty()) return false;
    const ShellWord& last = words_.back();
    return last.line == word.line && last.text.starts_with('-') &&
           last.text.find('=') == std::string::npos;
  }

  static bool is_assignment(const std::string& text, std::size_t equals) {
    if (equals == std::string::npos || equals == 0) return false;
    for (const char c : text.substr(0, equals)) {
      if (!is_name(c) && c != '+') return false;
    }
    return true;
  }

  void assign(const ShellWord& word, std::size_t equals, bool quoted) {
    std::string value = word.text.substr(equals + 1);
    const std::string name =
        word.text.substr(0, word.text[equals - 1] == '+' ? equals - 1 : equals);
    in_array_ = value.empty() && at_ < text_.size() && text_[at_] == '(';
    if (flow_.runs()) {
      if (quoted && value.find("--") != std::string::npos) {
        take_apart(value, word.line);
        value.clear();  // its words stand where it is set, not where it is used
      }
      if (!word.unknown) variables_[name] = value;
    }
    begins_ = true;
  }

  void quote(ShellWord& out) {
    const int opened = line_;
    const char mark = step();
    while (at_ < text_.size() && text_[at_] != mark) {
      if (mark == '"' && text_[at_] == '$') {
        expand(out);
      } else if (mark == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
        step();
        const char c = step();
        if (c == '\n') {
          out.text += ' ';
        } else {
          out.text += c;
        }
      } else {
        out.text += step();
      }
    }
    if (at_ == text_.size()) {
      throw InputError({"D002",
                        "a quote is not closed",
                        {file_, opened, 0, ""},
                        std::string("another ") + mark,
                        "close it"});
    }
    step();
  }

  /// What a default, "4" with its quotes, stands for.
  void take_default(const std::string& text, ShellWord& out) {
    Reader inner(text, file_);
    inner.line_ = line_;
    inner.variables_ = variables_;
    while (inner.at_ < text.size()) inner.piece(out);
  }

  /// $NAME, ${NAME}, ${NAME[@]}, ${NAME:-default}, ${NAME:=default}, $(command).
  void expand(ShellWord& out) {
    ++expansions_;
    step();
    const char open = at_ < text_.size() ? text_[at_] : ' ';
    if (open == '(') return skip_command(out);
    std::string name;
    if (open == '{') step();
    while (at_ < text_.size() && is_name(text_[at_])) name += step();
    std::string rest;
    if (open == '{') {
      for (int depth = 0; at_ < text_.size() && (text_[at_] != '}' || depth > 0);) {
        depth += text_[at_] == '{' ? 1 : text_[at_] == '}' ? -1 : 0;
        rest += step();
      }
      if (at_ < text_.size()) step();
    }
    if (const auto known = variables_.find(name); known != variables_.end()) {
      out.text += known->second;
    } else if (rest.starts_with(":-") || rest.starts_with(":=")) {
      ShellWord value;
      take_default(rest.substr(2), value);
      if (rest[1] == '=' && !value.unknown && flow_.runs()) variables_[name] = value.text;
      out.text += value.text;
      out.unknown = out.unknown || value.unknown;
    } else if (!rest.starts_with("[")) {  // an array's words stand where it is set
      out.unknown = true;
      out.text += "$" + name;
    }
  }

  void skip_command(ShellWord& out) {
    int depth = 0;
    out.unknown = true;
    out.text += "$(...)";
    do {
      if (text_[at_] == '(') ++depth;
      if (text_[at_] == ')') --depth;
      step();
    } while (at_ < text_.size() && depth > 0);
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
  ShellFlow flow_;
  std::vector<std::string> notes_;
  bool begins_ = false;         // the next word does
  bool starts_ = true;          // the next word is the first of a command
  bool in_array_ = false;       // between the brackets of NAME=(...)
  std::size_t expansions_ = 0;  // so far; what is empty because of one is no word
  std::map<std::string, std::string, std::less<>> variables_;
  std::vector<ShellWord> words_;
};

}  // namespace

std::vector<ShellWord> shell_words(std::string_view text, const std::string& file,
                                   std::vector<std::string>* warnings) {
  return Reader(text, file).read(warnings);
}

}  // namespace plait
