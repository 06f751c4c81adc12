#include "scenarios/dialects/shell/shell_flow.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"

namespace plait {
namespace {

void add_note(Warnings& notes, std::optional<Warning> note) {
  if (note) notes.push_back(std::move(*note));
}

}  // namespace

bool ShellFlow::runs() const {
  const bool here = frames_.empty() || (frames_.back().outer && frames_.back().runs);
  return here && !list_.skips;
}

bool ShellFlow::takes(const ShellWord& word, bool plain, bool first) {
  leads_ = false;
  if (in(Part::kTest)) return take_test(word, plain), true;
  if (in(Part::kSubject)) return take_subject(word, plain), true;
  if (in(Part::kPatterns)) return take_pattern(word, plain), true;
  if (plain && first && take_keyword(word)) return true;
  return take_list(word, first);
}

void ShellFlow::open(Kind kind, Part part, int line) {
  const bool outer = runs();
  frames_.push_back({.kind = kind, .part = part, .line = line, .outer = outer});
  list_ = {};
}

void ShellFlow::take_test(const ShellWord& word, bool plain) {
  Frame& frame = frames_.back();
  if (!plain || word.text != "then") return frame.condition.add(word);
  const bool asked = frame.outer && !frame.done;
  frame.runs = asked && frame.condition.holds();
  if (asked) add_note(frame.notes, frame.condition.note());
  frame.done = frame.done || frame.runs;
  frame.part = Part::kBody;
  leads_ = true;
}

void ShellFlow::take_subject(const ShellWord& word, bool plain) {
  Frame& frame = frames_.back();
  if (plain && word.text == "in") {
    frame.part = Part::kPatterns;
  } else if (word.unknown) {
    frame.notes.push_back(
        {"W008",
         fmt::format("the case in line {} is read as of an empty word: the script does not set {}",
                     word.line, word.text)});
  } else {
    frame.subject = word.text;
  }
}

void ShellFlow::take_pattern(const ShellWord& word, bool plain) {
  if (plain && word.text == "esac") return frames_.pop_back();
  Frame& frame = frames_.back();
  frame.matched = frame.matched || matches(word.text, frame.subject);
}

bool ShellFlow::take_keyword(const ShellWord& word) {
  const std::string& text = word.text;
  if (text == "if") {
    open(Kind::kIf, Part::kTest, word.line);
  } else if (text == "case") {
    open(Kind::kCase, Part::kSubject, word.line);
  } else if (text == "{") {
    open(Kind::kGroup, Part::kBody, word.line);
    frames_.back().runs = leads_ = true;
  } else if (text == "do" || text == "done") {  // of a loop, which is read once
    leads_ = text == "do";
  } else if (text == "elif" && in_body_of(Kind::kIf)) {
    frames_.back().part = Part::kTest;
    frames_.back().runs = false;
    frames_.back().condition = {};
  } else if (text == "else" && in_body_of(Kind::kIf)) {
    frames_.back().runs = !std::exchange(frames_.back().done, true);
    leads_ = true;
  } else if ((text == "fi" && in_body_of(Kind::kIf)) ||
             (text == "esac" && in_body_of(Kind::kCase)) ||
             (text == "}" && in_body_of(Kind::kGroup))) {
    frames_.pop_back();
  } else {
    return false;
  }
  return true;
}

bool ShellFlow::take_list(const ShellWord& word, bool first) {
  if (first && begins_test(word)) list_.there = list_.testing = true;
  if (list_.testing) list_.condition.add(word);
  return list_.testing;
}

void ShellFlow::ends_command() { list_ = {}; }

void ShellFlow::goes_on(bool if_true) {
  if (in(Part::kTest)) return frames_.back().condition.join(if_true);
  if (!list_.there) return;
  list_.condition.join(if_true);
  if (list_.condition.is_open()) return;
  if (std::exchange(list_.testing, false)) add_note(list_.notes, list_.condition.note());
  list_.skips = list_.condition.holds() != if_true;
}

void ShellFlow::ends_pattern() {
  if (!in(Part::kPatterns)) return;
  Frame& frame = frames_.back();
  frame.runs = std::exchange(frame.matched, false) && !frame.done;
  frame.done = frame.done || frame.runs;
  frame.part = Part::kBody;
}

void ShellFlow::ends_branch() {
  ends_command();
  if (!in_body_of(Kind::kCase)) return;
  frames_.back().runs = false;
  frames_.back().part = Part::kPatterns;
}

Warnings ShellFlow::take_notes() {
  Warnings out;
  for (Frame& frame : frames_) append(out, std::exchange(frame.notes, {}));
  append(out, std::exchange(list_.notes, {}));
  return out;
}

void ShellFlow::refuse_open(const std::string& file) const {
  for (const Frame& frame : frames_) {
    if (frame.kind == Kind::kGroup) continue;
    const bool is_if = frame.kind == Kind::kIf;
    throw InputError({"D002",
                      fmt::format("{} is not closed", is_if ? "an if" : "a case"),
                      {file, frame.line, 0, ""},
                      is_if ? "then, and fi" : "in, and esac",
                      "close it, or remove it"});
  }
}

}  // namespace plait
