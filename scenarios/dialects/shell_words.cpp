#include "scenarios/dialects/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/shell_arithmetic.h"
#include "scenarios/dialects/shell_flow.h"
#include "scenarios/dialects/shell_uses.h"

namespace plait {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool ends_word(char c) {
  return is_space(c) || c == '(' || c == ')' || c == ';' || c == '&' || c == '|' || c == '<' ||
         c == '>';
}

constexpr std::string_view kCommand = "$(...)";  // what one prints

/// $NAME or $(command), and nothing beside it.
bool stands_alone(const ShellWord& word) {
  const bool named = is_unset(word) && word.text.size() > 1 && !std::isdigit(word.text[1]);
  return named || (word.unknown && word.text == kCommand);
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::ranges::count(texts, text) != 0;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<ShellWord> read(std::vector<std::string>* warnings) {
    std::vector<ShellWord> words = read();
    flow_.refuse_open(file_);
    words = uses_.used(std::move(words), notes_);
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
    end_command();
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
      if (!in_array_) end_command(), list_.clear();
      return;
    }
    const bool begins = starts_ || flow_.tests();
    if (begins && text_.substr(at_ - 1).starts_with("((")) return test_of_numbers();
    redirects_ = c == '<' || c == '>' || (redirects_ && c != '\n');
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
    const bool target = std::exchange(redirects_, false);
    const std::size_t expansions = expansions_;
    expanded_.clear();
    whole_list_ = false;
    while (at_ < text_.size() && !ends_word(text_[at_])) {
      quoted = quoted || text_[at_] == '\'' || text_[at_] == '"';
      piece(out);
    }
    const bool plain = !quoted && expansions == expansions_;
    const bool first = !in_array_ && std::exchange(starts_, false);
    if (!in_array_ && flow_.takes(out, plain, first)) {
      starts_ = flow_.leads();
      begins_ = true;
      return;
    }
    if (first) begin_command(out.text);
    const std::size_t equals = out.text.find('=');
    const bool assigns = is_assignment(out.text, equals) && (declares_ || !is_value(out));
    if (assigns || out.text.starts_with("--")) warn();
    if (assigns) return assign(out, equals, quoted);
    if (!flow_.runs()) return;
    uses_.add(list_, expanded_);
    if (!first && std::exchange(sources_, false)) {
      return warn_unread({fmt::format("{}, which line {} sources", out.text, out.line)}, notes_);
    }
    if (out.text.empty() && !(quoted && expansions == expansions_)) return;
    const bool of_options = in_array_ && quoted && out.text.starts_with("--") &&
                            out.text.find(' ') < out.text.find('=');
    const bool of_words = !quoted && !plain && out.text.find(' ') != std::string::npos;
    if (of_options || of_words) return take_apart(out.text, out.line);
    out.begins = std::exchange(begins_, false);
    out.of = list_;
    out.nothing = !target && (!quoted || whole_list_) && stands_alone(out);
    words_.push_back(std::move(out));
  }

  void begin_command(const std::string& word) {
    end_command();
    sources_ = is_one_of(word, {"source", "."});
    declares_ = is_one_of(word, {"declare", "typeset", "local", "export", "readonly"});
  }
  /// What only a shell could fill in is missed where a program gets options.
  void end_command() {
    const auto begin =
        words_.begin() + static_cast<std::ptrdiff_t>(std::exchange(at_word_, words_.size()));
    const bool options = std::any_of(begin, words_.end(),
                                     [](const ShellWord& w) { return w.text.starts_with("--"); });
    const bool lists = std::exchange(has_list_, of_options_);
    if (options || lists) return;
    for (auto word = begin; word != words_.end(); ++word) word->nothing = false;
  }

  /// ((A > 1)): a test, which is true where it is not 0.
  void test_of_numbers() {
    ShellWord word{.text = std::string(kNumbers), .line = line_, .unknown = true};
    const auto value = number(bracketed());
    if (value) word.text = *value != 0 ? "true" : "false", word.unknown = false;
    if (at_ < text_.size()) step();
    flow_.takes(word, true, std::exchange(starts_, false));
  }
  /// From the bracket that opens here to the one that closes it; what is between.
  std::string_view bracketed() {
    const std::size_t begin = at_ + 1;
    int depth = 0;
    do {
      const char c = step();
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    } while (at_ < text_.size() && depth > 0);
    return text_.substr(begin, at_ - 1 - begin);
  }
  std::optional<std::int64_t> number(std::string_view expression) const {
    return shell_arithmetic(expression, [&](std::string_view name) -> std::optional<std::string> {
      const auto known = variables_.find(name);
      if (known == variables_.end() || lists_.contains(name)) return std::nullopt;
      return known->second;
    });
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
    } else if (c == '`') {
      skip_quoted_command(out);
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
    inner.lists_ = lists_;
    inner.list_ = list_;
    inner.of_options_ = inner.has_list_ = true;
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
    if (in_array_) list_ = name;
    if (flow_.runs()) {
      uses_.add(name, expanded_);
      const bool has_lists =
          std::ranges::any_of(expanded_, [&](auto& n) { return lists_.contains(n); });
      const bool is_list = quoted && (value.find("--") != std::string::npos || has_lists);
      if (is_list) {
        list_ = name;
        take_apart(value, word.line);
        list_.clear();
        value.clear();  // its words stand where it is set, not where it is used
      }
      if (is_list || in_array_) lists_.insert(name);
      if (!word.unknown || is_list) variables_[name] = value;
    }
    begins_ = true;
  }

  void quote(ShellWord& out) {
    const int opened = line_;
    const char mark = step();
    while (at_ < text_.size() && text_[at_] != mark) {
      if (mark == '"' && text_[at_] == '$') {
        expand(out);
      } else if (mark == '"' && text_[at_] == '`') {
        skip_quoted_command(out);
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
    inner.lists_ = lists_;
    while (inner.at_ < text.size()) inner.piece(out);
  }

  /// $NAME, ${NAME...}, $((expression)), $[expression], $(command).
  void expand(ShellWord& out) {
    ++expansions_;
    step();
    const char open = at_ < text_.size() ? text_[at_] : ' ';
    if (open == '(' || open == '[') return take_command(out);
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
    if (!name.empty()) expanded_.push_back(name);
    has_list_ = has_list_ || lists_.contains(name);
    fill_in(name, rest, out);
  }

  /// ${NAME}, ${NAME[@]}, ${NAME:-default}, ${NAME:=default}, ${NAME:+other}, ${NAME:?message}; of
  /// what else there is, ${NAME%.json}, only a shell knows.
  void fill_in(const std::string& name, const std::string& rest, ShellWord& out) {
    const auto known = variables_.find(name);
    const bool is_list = lists_.contains(name), there = is_list || known != variables_.end();
    if (rest.starts_with("[") && (there || name.empty()))
      return;  // its words stand where it is set
    const std::string_view by = std::string_view(rest).substr(0, rest.starts_with(":") ? 2 : 1);
    const bool set = there && (is_list || !by.starts_with(":") || !known->second.empty());
    if (is_one_of(by, {":+", "+"})) {
      if (set) take_default(rest.substr(by.size()), out);
    } else if (!set && is_one_of(by, {":-", ":=", "-", "="})) {
      ShellWord value;
      take_default(rest.substr(by.size()), value);
      if (by.ends_with('=') && !value.unknown && flow_.runs()) variables_[name] = value.text;
      out.text += value.text;
      out.unknown = out.unknown || value.unknown;
    } else if (there && (rest.empty() || is_one_of(by, {":-", ":=", "-", "=", ":?", "?"}))) {
      if (known != variables_.end()) out.text += known->second;
    } else {
      whole_list_ = rest.starts_with("[");
      out.unknown = true;
      out.text += there ? fmt::format("${{{}{}}}", name, rest) : "$" + name;
    }
  }

  /// $(command), $((expression)) or $[expression]
  void take_command(ShellWord& out) {
    const bool numbers = text_[at_] == '[';
    std::string_view inner = bracketed();
    const bool twice = inner.starts_with('(') && inner.ends_with(')');
    if (twice) inner = inner.substr(1, inner.size() - 2);
    const auto value = numbers || twice ? number(inner) : std::nullopt;
    out.text += value ? std::to_string(*value) : std::string(kCommand);
    out.unknown = out.unknown || !value;
  }
  /// `command`
  void skip_quoted_command(ShellWord& out) {
    ++expansions_;
    out.unknown = true;
    out.text += kCommand;
    for (step(); at_ < text_.size() && text_[at_] != '`';) step();
    if (at_ < text_.size()) step();
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
  bool redirects_ = false;      // the next word is a file
  bool sources_ = false;        // the next word is a script
  bool declares_ = false;       // what the command has are assignments, whatever is before them
  bool of_options_ = false;     // the text is a list of options itself
  bool has_list_ = false;       // the command does
  bool whole_list_ = false;     // the word has all of one that the script does not set
  std::string list_;            // the one that is open; "": none
  std::size_t at_word_ = 0;     // the first of the command
  std::size_t expansions_ = 0;  // so far; what is empty because of one is no word
  std::vector<std::string> expanded_;  // variables of the word
  ShellUses uses_;
  std::set<std::string, std::less<>> lists_;  // variables whose words stand where they are set
  std::map<std::string, std::string, std::less<>> variables_;
  std::vector<ShellWord> words_;
};

}  // namespace

std::vector<ShellWord> shell_words(std::string_view text, const std::string& file,
                                   std::vector<std::string>* warnings) {
  return Reader(text, file).read(warnings);
}

}  // namespace plait
