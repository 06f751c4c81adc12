// Branches of launch scripts: which of them their tests choose.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "scenarios/dialects/shell/shell_words.h"

namespace plait::shell_flow_test {

/// The words of a script, each behind a space.
std::string words_of(const std::string& script, Warnings* warnings = nullptr) {
  std::string out;
  for (const ShellWord& w : shell_words(script, "run.sh", warnings)) out += " " + w.text;
  return out;
}

TEST(ShellFlow, TheBranchOfACaseIsTheFirstThatMatches) {
  const auto layers = [](const std::string& size) {
    return words_of("SIZE=" + size + R"(
case "${SIZE}" in
    "800M")
        LAYERS=48
        ;;
    8B|9B) LAYERS=56 ;;
    1*) LAYERS=80 ;;
    *)
        LAYERS=1
esac
--num-layers $LAYERS)");
  };
  EXPECT_EQ(layers("800M"), " --num-layers 48");
  EXPECT_EQ(layers("9B"), " --num-layers 56");
  EXPECT_EQ(layers("13B"), " --num-layers 80");
  EXPECT_EQ(layers("70B"), " --num-layers 1");
}

TEST(ShellFlow, TheBranchOfAnIfIsTheFirstWhoseTestHolds) {
  const auto hidden = [](const std::string& size) {
    return words_of("SIZE=" + size + R"(
if [[ $SIZE -eq 8 ]]; then
  HIDDEN=4096
elif [ "$SIZE" -gt 30 ] && [ "$SIZE" != 100 ]
then
  HIDDEN=8192
else HIDDEN=1024
fi
--hidden-size $HIDDEN)");
  };
  EXPECT_EQ(hidden("8"), " --hidden-size 4096");
  EXPECT_EQ(hidden("70"), " --hidden-size 8192");
  EXPECT_EQ(hidden("100"), " --hidden-size 1024");
  EXPECT_EQ(hidden("many"), " --hidden-size 1024");
}

TEST(ShellFlow, TestsAreOfTextsNumbersAndTruth) {
  const auto is_true = [](const std::string& test) {
    return words_of("A=x E= T=true N=3\nif " + test + "; then --yes; else --no; fi") == " --yes";
  };
  for (const char* test :
       {"[ $A = x ]", "[[ $A == \"x\" ]]", "[ $A != y ]", "[[ $A == ?* ]]", "[ -n $A ]",
        "[ -z \"$E\" ]", "[ $A ]", "true", "$T", "! false", "[ ! $A = y ]", "test $N -eq 3",
        "[ $N -le 3 ]", "[ $N -ge 3 ]", "[ $N -lt 4 ]", "[[ $A == y || $N -ne 4 ]]",
        "[[ $A == x && $N == 3 && $T == true ]]"}) {
    EXPECT_TRUE(is_true(test)) << test;
    EXPECT_FALSE(is_true(std::string("! ") + test)) << test;
  }
}

TEST(ShellFlow, CommandsBehindATestRunAsItComesOut) {
  EXPECT_EQ(words_of("A=0 X=\n[ $A = 1 ] && X=--x\nrun $X --y"), " run --y");
  EXPECT_EQ(words_of("A=1\n[ $A = 1 ] && B=2 || B=3\nrun $B"), " run 2");
  EXPECT_EQ(words_of("A=0\n[ $A = 1 ] && B=2 || B=3\nrun $B"), " run 3");
  EXPECT_EQ(words_of("A=1\n[[ $A = 1 && $A != 2 ]] && B=2\nrun ${B:-5}"), " run 2");
  EXPECT_EQ(words_of("A=1\n[ $A = 1 ] || { B=2; C=3; }\nrun ${B:-5} ${C:-6}"), " run 5 6");
  EXPECT_EQ(words_of("if false; then ARGS+=(\n--a 1\n\"--b 2\"\n); fi\n--c"), " --c");
  EXPECT_EQ(words_of("F=false\nif $F; then E=\"$E --x\"; fi\nrun --y"), " run --y");
}

TEST(ShellFlow, WhatOnlyARunKnowsIsFalseAndSaidWhereItMatters) {
  const auto warned = [](const std::string& script) {
    Warnings warnings;
    const std::string words = words_of(script, &warnings);
    return fmt::format("{}|{}", words, warnings.empty() ? "" : printed(warnings.front()));
  };
  EXPECT_EQ(warned("if [ ! -f x ]; then\n echo none\n exit 1\nfi\n--y"), " --y|");
  EXPECT_EQ(warned("\nif [ -f x ]; then\n --x\nfi\n--y"),
            " --y|W008: the test in line 2 is read as false: only a run knows what it is");
  EXPECT_EQ(warned("if [ -z \"$N\" ]; then N=2; fi\n--y $N"),
            " --y 2|W008: the test in line 1 is read as true: the script does not set $N");
  EXPECT_EQ(
      warned("case $1 in\na) --x ;;\n*) --y ;;\nesac"),
      " --y|W008: the case in line 1 is read as of an empty word: the script does not set $1");
}

TEST(ShellFlow, WhatIsNotClosedIsRefused) {
  for (const char* script : {"if true\n--x", "if true; then\n--x", "case x in\nx) --x"}) {
    try {
      words_of(script);
      ADD_FAILURE() << "accepted " << script;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "D002");
    }
  }
}

TEST(ShellFlow, HowTheTestAroundShortOptionsIsReadIsTold) {
  const auto told = [](const std::string& command) {
    Warnings warnings;
    words_of("if [ -f x ]; then " + command + "; else\n:; fi", &warnings);
    return warnings.size();
  };
  EXPECT_EQ(told("vllm serve m -tp 8"), 1u);
  EXPECT_EQ(told("llama-server -c 4096"), 1u);
  EXPECT_EQ(told("mkdir -p x"), 0u);  // of no program that is read
}

}  // namespace plait::shell_flow_test
