#include "scenarios/dialects/shell/shell_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>

#include "core/error.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/shell/here_documents.h"
#include "scenarios/dialects/shell/shell_command.h"
#include "scenarios/dialects/shell/shell_cursor.h"
#include "scenarios/dialects/shell/shell_flow.h"
#include "scenarios/dialects/shell/shell_loops.h"
#include "scenarios/dialects/shell/shell_uses.h"
#include "scenarios/dialects/shell/shell_variables.h"
#include "scenarios/dialects/shell/slurm_head.h"

namespace plait {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : in_(text), file_(file) {
    for (const auto& [name, value] : slurm_variables(std::string(text)))
      variables_.set(name, value);
  }
  /// Of a part of the script that `outer` reads.
  Reader(std::string_view text, const Reader& outer, int line)
      : in_(text, line), file_(outer.file_), variables_(outer.variables_) {}

  std::vector<ShellWord> read(Warnings* warnings) {
    std::vector<ShellWord> words = read();
    flow_.refuse_open(file_);
    words = uses_.used(std::move(words), notes_);
    if (warnings != nullptr) append(*warnings, std::move(notes_));
    return words;
  }

 private:
  std::vector<ShellWord> read() {
    while (!in_.ends()) {
      const char c = in_.next();
      if (c == '#') {
        in_.skip_comment();
      } else if (in_.ends_line()) {
        in_.take_line_end();
      } else if (ends_shell_word(c)) {
        separator(c);
      } else {
        word();
      }
    }
    end_command();
    return std::move(words_);
  }

  /// Between words: it may end an array or a command.
  void separator(char c) {
    if (in_.take_redirection()) return void(redirects_ = true);
    if (c == '\n') in_.leave_line_end();
    if (c == '\n' || c == ';') set_parameters(std::span(words_).subspan(at_word_), variables_);
    begins_ = begins_ || c == ')' || c == ';' || c == '&' || c == '|';
    in_.step();
    if (in_array_) {
      in_array_ = c != ')';
      if (!in_array_) end_command(), list_.clear(), in_.take_broken();
      return;
    }
    const bool begins = starts_ || flow_.tests();
    if (begins && c == '(' && in_.at("(")) return test_of_numbers();
    redirects_ = redirects_ && c != '\n' && c != '(';
    starts_ = starts_ || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')';
    const bool twice = !in_.ends() && in_.next() == c && (c == ';' || c == '&' || c == '|');
    if (twice) in_.step();
    if (c == ')') flow_.ends_pattern();
    if (twice && c != ';') flow_.goes_on(c == '&');
    if (twice && c == ';') flow_.ends_branch();
    if (!twice && (c == ';' || c == '\n')) flow_.ends_command();
  }

  /// One word; an assignment is remembered and, where its value has several words, taken apart.
  void word() {
    ShellWord out{.text = {}, .line = in_.line(), .unknown = false};
    bool quoted = splits_ = false;
    in_.leave_line_end();
    const bool target = std::exchange(redirects_, false);
    const std::size_t expansions = expansions_;
    expanded_.clear(), whole_list_ = false;
    for (; !in_.ends() && !ends_shell_word(in_.next()); piece(out)) {
      quoted = quoted || in_.next() == '\'' || in_.next() == '"';
    }
    const bool plain = !quoted && expansions == expansions_;
    if (!flow_.tests() && (target || (plain && is_descriptor(out.text, in_.next())))) return;
    const bool first = !in_array_ && std::exchange(starts_, false);
    if (!in_array_ && flow_.takes(out, plain, first)) {
      starts_ = flow_.leads(), begins_ = true;
      return;
    }
    if (first) begin_command(out);
    if (command_.lost) return;
    if (first && plain && out.text == "for") return loop();
    const std::size_t equals = out.text.find('=');
    const bool assigns =
        !in_array_ && is_assignment(out.text, equals) && (command_.declares || !is_value(out));
    if (assigns || (is_option_word(out.text) && !command_.prepares)) warn();
    if (assigns) return assign(out, equals, quoted);
    if (!flow_.runs()) return;
    uses_.add(list_, command_.number, expanded_);
    if (!first && std::exchange(command_.sources, false)) {
      return warn_unread({fmt::format("{}, which line {} sources", out.text, out.line)}, notes_);
    }
    if (out.text.empty() && !(quoted && expansions == expansions_)) return;
    if (quoted && is_script(std::span(words_).subspan(at_word_)) && take_script(out)) return;
    const bool of_options = in_array_ && quoted && out.text.starts_with("--") &&
                            out.text.find(' ') < out.text.find('=');
    if (in_array_) variables_.add_word(list_, out.text);
    const bool of_words = splits_ || (!quoted && !plain && out.text.find(' ') != std::string::npos);
    if (of_options || of_words) return take_apart(out.text, out.line);
    out.begins = std::exchange(begins_, false), out.of = list_;
    if (list_.empty()) out.commands = {command_.number};
    out.nothing = (!quoted || whole_list_) && stands_alone(out);
    words_.push_back(std::move(out));
  }

  void begin_command(const ShellWord& word) {
    end_command();
    const std::string broken = in_.take_broken();
    command_.begin(word, !broken.empty() && flow_.runs(), of_options_);
    if (!command_.lost) return;
    warn_unread(
        {fmt::format("{} and what follows it (line {}), which are no part of the command, {}",
                     word.text, word.line, broken)},
        notes_);
  }
  /// What only a shell could fill in is missed where a program gets options.
  void end_command() {
    const std::span command = std::span(words_).subspan(std::exchange(at_word_, words_.size()));
    if (!std::exchange(has_list_, of_options_)) pass_over_nothing(command);
  }

  /// for NAME in WORDS, or for ((NAME = 0; NAME < 4; NAME++))
  void loop() {
    const int line = in_.line();
    while (in_.at(" ")) in_.step();
    if (in_.at("((")) {
      const std::string_view counted = in_.bracketed();
      if (flow_.runs()) take_counting_loop(counted, line, variables_);
      return;
    }
    Reader inner(in_.rest_of_command(), *this, line);
    inner.in_loop_ = true;
    std::vector<ShellWord> words = inner.read();
    uses_.add_all(inner.uses_);
    if (words.size() < 3 || words[1].text != "in" || !flow_.runs()) return;
    std::vector<std::string> values;
    for (const ShellWord& word : std::span(words).subspan(2)) {
      if (word.unknown) return variables_.forget(words[0].text);
      for (std::string& value : expanded_braces(word.text)) values.push_back(std::move(value));
    }
    variables_.loop(words[0].text, std::move(values), line);
  }

  /// ((A > 1)): a test, which is true where it is not 0.
  void test_of_numbers() {
    ShellWord word{.text = std::string(kNumbers), .line = in_.line(), .unknown = true};
    const auto value = variables_.number(in_.bracketed());
    if (value) word.text = *value != 0 ? "true" : "false", word.unknown = false;
    if (!in_.ends()) in_.step();
    flow_.takes(word, true, std::exchange(starts_, false));
  }

  /// An option or a variable stands here: how the tests around it were read matters.
  void warn() { append(notes_, flow_.take_notes()); }

  /// A quote, an expansion, or a character of a word.
  void piece(ShellWord& out) {
    const char c = in_.next();
    if (c == '\'' || c == '"') {
      quote(out);
    } else if (c == '$') {
      expand(out);
    } else if (c == '`') {
      take_quoted_command(out);
    } else if (c == '\\') {
      in_.step();
      if (!in_.ends() && in_.step() != '\n') out.text += in_.last();
    } else {
      out.text += in_.step();
    }
  }

  /// The words that a value is where it stands without quotes.
  void take_apart(const std::string& value, int line) {
    Reader inner(value, *this, line);
    inner.list_ = list_;
    inner.command_.number = command_.number;
    inner.of_options_ = inner.has_list_ = true;
    inner.begins_ = std::exchange(begins_, false);
    for (ShellWord& w : inner.read()) words_.push_back(std::move(w));
  }

  /// What bash -c runs is of its command; false where it cannot be read.
  bool take_script(const ShellWord& word) {
    try {
      Reader inner(word.text, *this, word.line);
      inner.command_.number = command_.number;
      inner.of_options_ = inner.begins_ = true;
      for (ShellWord& w : inner.read()) words_.push_back(std::move(w));
      uses_.add_all(inner.uses_);
    } catch (const InputError&) {
      return false;
    }
    return true;
  }

  /// Behind an option on its line: "-ot exps=CPU".
  bool is_value(const ShellWord& word) const {
    if (begins_ || words_.empty()) return false;
    const ShellWord& last = words_.back();
    return last.line == word.line && last.text.starts_with('-') &&
           last.text.find('=') == std::string::npos;
  }

  void assign(const ShellWord& word, std::size_t equals, bool quoted) {
    std::string value = word.text.substr(equals + 1);
    const std::string name =
        word.text.substr(0, word.text[equals - 1] == '+' ? equals - 1 : equals);
    in_array_ = value.empty() && !in_.ends() && in_.next() == '(';
    if (in_array_) list_ = name;
    if (flow_.runs()) {
      uses_.add(name, command_.number, expanded_);
      const bool has_lists =
          std::ranges::any_of(expanded_, [&](auto& n) { return variables_.has_list(n); });
      const bool is_list = quoted && (value.find("--") != std::string::npos || has_lists);
      if (is_list) {
        list_ = name;
        take_apart(value, word.line);
        list_.clear();
        value.clear();  // its words stand where it is set, not where it is used
      }
      if (is_list || in_array_) variables_.make_list(name);
      if (!word.unknown || is_list) variables_.set(name, value);
    }
    begins_ = true;
  }

  void quote(ShellWord& out) {
    const int opened = in_.line();
    const char mark = in_.step();
    while (!in_.ends() && in_.next() != mark) {
      if (mark == '"' && in_.next() == '$') {
        expand(out);
      } else if (mark == '"' && in_.next() == '`') {
        take_quoted_command(out);
      } else if (mark == '"' && in_.next() == '\\') {
        in_.step();
        if (!in_.ends()) out.text += in_.step() == '\n' ? ' ' : in_.last();
      } else {
        out.text += in_.step();
      }
    }
    if (in_.ends()) {
      throw InputError({"D002",
                        "a quote is not closed",
                        {file_, opened, 0, ""},
                        std::string("another ") + mark,
                        "close it"});
    }
    in_.step();
  }

  /// What a default, "4" with its quotes, stands for.
  void take_default(const std::string& text, ShellWord& out) {
    Reader inner(text, *this, in_.line());
    while (!inner.in_.ends()) inner.piece(out);
  }

  /// $NAME, $1, ${NAME...}, $((expression)), $[expression], $(command).
  void expand(ShellWord& out) {
    ++expansions_;
    in_.step();
    const char open = in_.next();
    if (open == '(' || open == '[') return take_command(out);
    if (open == '{') in_.step();
    const bool one_digit = open != '{' && std::isdigit(static_cast<unsigned char>(open)) != 0;
    const std::string name = one_digit ? std::string(1, in_.step()) : in_.name(),  // $19 is ${1}9
        rest = open == '{' ? in_.braced() : "";
    if (!name.empty()) expanded_.push_back(name);
    has_list_ = has_list_ || variables_.has_list(name);
    fill_in(name, rest, out);
  }

  /// ${NAME}, ${NAME[@]}, ${NAME:-default}, ${NAME:=default}, ${NAME:+other}, ${NAME:?message}; of
  /// what else there is, ${NAME%.json}, only a shell knows.
  void fill_in(const std::string& name, const std::string& rest, ShellWord& out) {
    const std::string* known = variables_.value(name);
    const bool is_list = variables_.has_list(name), there = is_list || known != nullptr;
    if (auto note = variables_.take_note(name)) notes_.push_back(std::move(*note));
    if (rest.starts_with("[") && (there || name.empty())) return fill_in_list(name, rest, out);
    const std::string_view by = std::string_view(rest).substr(0, rest.starts_with(":") ? 2 : 1);
    const bool set = there && (is_list || !by.starts_with(":") || !known->empty());
    if (is_any_of(by, {":+", "+"})) {
      if (set) take_default(rest.substr(by.size()), out);
    } else if (!set && is_any_of(by, {":-", ":=", "-", "="})) {
      ShellWord value;
      take_default(rest.substr(by.size()), value);
      if (by.ends_with('=') && !value.unknown && flow_.runs()) variables_.set(name, value.text);
      out.text += value.text;
      out.unknown = out.unknown || value.unknown;
    } else if (there && (rest.empty() || is_any_of(by, {":-", ":=", "-", "=", ":?", "?"}))) {
      if (known != nullptr) out.text += *known;
    } else {
      whole_list_ = rest.starts_with("[");
      out.unknown = true;
      out.text += there ? fmt::format("${{{}{}}}", name, rest) : "$" + name;
    }
  }

  /// Its words stand where it is set, but for those of ${NAME[@]/#/--} and of a loop.
  void fill_in_list(const std::string& name, std::string_view rest, ShellWord& out) {
    const std::vector<std::string> words = variables_.words(name);
    const bool changed = rest.starts_with("[@]/") || rest.starts_with("[*]/");
    const bool in_front = rest.substr(std::min<std::size_t>(rest.size(), 3)).starts_with("/#/");
    if (changed && !in_front) {
      warn_unread({fmt::format("what ${{{}{}}} makes of its words", name, rest)}, notes_);
    }
    if (!in_loop_ && !(changed && in_front)) return;
    splits_ = true;
    for (const std::string& word : words) {
      out.text += fmt::format(" {}{}", in_front ? rest.substr(6) : "", word);
    }
  }

  /// $(command), $((expression)) or $[expression]
  void take_command(ShellWord& out) {
    const bool numbers = in_.next() == '[';
    const std::string_view inner = in_.bracketed();
    const bool twice = inner.starts_with('(') && inner.ends_with(')');
    if (!numbers && !twice) return take_output(inner, out);
    append(notes_, variables_.take_notes(inner));
    const auto value = variables_.number(twice ? inner.substr(1, inner.size() - 2) : inner);
    out.text += value ? std::to_string(*value) : std::string(kCommand);
    out.unknown = out.unknown || !value;
  }
  /// `command`
  void take_quoted_command(ShellWord& out) {
    ++expansions_;
    take_output(in_.back_quoted(), out);
  }
  /// What a command prints, where it is a sequence of numbers.
  void take_output(std::string_view command, ShellWord& out) {
    const std::vector<std::string> words = sequence_of(command, variables_);
    out.text += words.empty() ? std::string(kCommand) : fmt::format("{}", fmt::join(words, " "));
    out.unknown = out.unknown || words.empty();
  }

  ShellCursor in_;
  const std::string& file_;
  ShellFlow flow_;
  Warnings notes_;
  bool begins_ = false;      // the next word does
  bool starts_ = true;       // the next word is the first of a command
  bool in_array_ = false;    // between the brackets of NAME=(...)
  bool redirects_ = false;   // the next word is a file
  bool in_loop_ = false;     // the text is what a loop goes over
  bool splits_ = false;      // the word is several
  bool of_options_ = false;  // the text is a list of options itself
  bool has_list_ = false;    // the command does
  bool whole_list_ = false;  // the word has all of one that the script does not set
  std::string list_;         // the one that is open; "": none
  std::size_t at_word_ = 0;  // the first of the command
  ShellCommand command_;
  std::size_t expansions_ = 0;         // so far; what is empty because of one is no word
  std::vector<std::string> expanded_;  // variables of the word
  ShellUses uses_;
  ShellVariables variables_;
  std::vector<ShellWord> words_;
};

}  // namespace

std::vector<ShellWord> shell_words(std::string_view text, const std::string& file,
                                   Warnings* warnings) {
  const std::string script = without_documents(std::string(text));
  return Reader(script, file).read(warnings);
}

}  // namespace plait
