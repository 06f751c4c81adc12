#pragma once
// Which parts of a shell script run: branches of if and case, and commands behind && and ||, as the
// tests before them come out. What only a run knows is taken as false, and said where it matters.

#include <cstdint>
#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/dialects/shell/shell_tests.h"

namespace plait {

class ShellFlow {
 public:
  /// What stands here is run.
  bool runs() const;
  /// True where the word is the shell's own, or one of a test or a pattern. `plain`: without quotes
  /// and variables; `first`: of a command.
  bool takes(const ShellWord& word, bool plain, bool first);
  /// A test stands here.
  bool tests() const { return in(Part::kTest); }
  /// Behind the word that it just took a command begins.
  bool leads() const { return leads_; }
  void ends_command();         // a new line, or ;
  void goes_on(bool if_true);  // &&, or else ||
  void ends_pattern();         // )
  void ends_branch();          // ;;

  /// How the tests around were read, where a run may differ; each once.
  Warnings take_notes();
  /// Throws InputError D002 for an if or a case that is not closed.
  void refuse_open(const std::string& file) const;

 private:
  enum class Kind : std::uint8_t { kIf, kCase, kGroup };
  enum class Part : std::uint8_t { kTest, kSubject, kPatterns, kBody };
  struct Frame {
    Kind kind;
    Part part;
    int line;
    bool outer;         // what is around it runs
    bool runs = false;  // this branch does
    bool done = false;  // one of its branches does or did
    Condition condition = {};
    std::string subject = {};  // of a case
    bool matched = false;      // by a pattern of the branch
    Warnings notes = {};
  };
  /// Commands of which the first is a test.
  struct List {
    Condition condition;
    bool there = false, testing = false, skips = false;
    Warnings notes;
  };

  bool in(Part part) const { return !frames_.empty() && frames_.back().part == part; }
  bool in_body_of(Kind kind) const { return in(Part::kBody) && frames_.back().kind == kind; }
  void open(Kind kind, Part part, int line);
  void take_test(const ShellWord& word, bool plain);
  void take_subject(const ShellWord& word, bool plain);
  void take_pattern(const ShellWord& word, bool plain);
  bool take_keyword(const ShellWord& word);
  bool take_list(const ShellWord& word, bool first);

  std::vector<Frame> frames_;
  List list_;
  bool leads_ = false;
};

}  // namespace plait
