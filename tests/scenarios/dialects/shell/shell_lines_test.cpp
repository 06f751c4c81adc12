// Where commands of a script end, what loops go over, and words that a list is changed into.

#include <gtest/gtest.h>

#include "scenarios/dialects/shell/shell_loops.h"
#include "tests/scenarios/dialects/shell/script_words.h"

namespace plait::shell_lines_test {

TEST(ShellLines, ABlankBehindTheBackslashEndsTheCommand) {
  EXPECT_EQ(script_words("run --a 1 \\\n  --b 2"), " run --a 1 --b 2");
  EXPECT_EQ(script_words("run --a 1 \\\r\n  --b 2"), " run --a 1 --b 2");
  EXPECT_EQ(script_words("run --a 1 \\ \n  --b 2 \\\n --c\nnext --d"),
            " run --a 1 next --d|W007: not read: --b and what follows it (line 2), which are no "
            "part of the command, as a blank follows the backslash in line 1");
  EXPECT_EQ(script_words("run --a 1 \\\t\nnext --b"), " run --a 1 next --b");
}

TEST(ShellLines, ACommentBetweenLinesEndsTheCommand) {
  EXPECT_EQ(script_words("run --a 1 \\\n  # --x 3 \\\n  --b 2 \\\n  # --y\n  --c"),
            " run --a 1|W007: not read: --b and what follows it (line 3), which are no part of the "
            "command, as line 2 is a comment|W007: not read: --c and what follows it (line 5), "
            "which are no part of the command, as line 4 is a comment");
  EXPECT_EQ(script_words("run --a 1 \\\n# x\nnext --b"), " run --a 1 next --b");
  EXPECT_EQ(script_words("A=(--a 1 \\\n # x\n --b 2 \\ \n --c)\nrun ${A[@]}"),
            " --a 1 --b 2 --c run");
}

/// Options without a command are no script, and a quoted list has words whatever is between them.
TEST(ShellLines, ListsOfOptionsGoOn) {
  EXPECT_EQ(script_words("--a 1 \\ \n--b 2"), " --a 1 --b 2");
  EXPECT_EQ(script_words("A='--a 1 \\ \n --b 2'\nrun $A"), " --a 1 --b 2 run");
}

TEST(ShellLoops, AreReadOnceWithTheFirstWord) {
  const std::string others = "|W008: the loop in line 1 is read once, with A = 1; not read: 2, 4";
  EXPECT_EQ(script_words("for A in 1 2 4; do\n  run --a $A\ndone"), " run --a 1" + others);
  EXPECT_EQ(script_words("for A in {1,2,4}\ndo run --a $A --b $((A * 2)); done"),
            " run --a 1 --b 2" + others);
  EXPECT_EQ(script_words("for A in 1 2 4; do echo; done"), " echo");
  EXPECT_EQ(script_words("for A in 8; do run --a $A; done"), " run --a 8");
  EXPECT_EQ(script_words("L='3 5'\nfor A in $L; do run --a $A; done"),
            " run --a 3|W008: the loop in line 2 is read once, with A = 3; not read: 5");
  EXPECT_EQ(script_words("L=(3 5)\nfor A in \"${L[@]}\"; do run --a $A; done"),
            " 3 5 run --a 3|W008: the loop in line 2 is read once, with A = 3; not read: 5");
  EXPECT_EQ(script_words("A=1\nfor A in $(cat f); do run --a $A; done"), " run --a $A");
}

TEST(ShellLoops, MayCount) {
  const std::string others = "|W008: the loop in line 1 is read once, with A = 1; not read: 2, 4";
  EXPECT_EQ(script_words("for ((A=1; A<=4; A*=2)); do run --a $A; done"), " run --a 1" + others);
  EXPECT_EQ(script_words("for (( A = 1 ; A < 5 ; A = A * 2 ))\ndo\n run --a $((A)); done"),
            " run --a 1" + others);
  EXPECT_EQ(script_words("for ((A=2;A<4;A++)); do run --a $A; done; run --b"),
            " run --a 2 run --b|W008: the loop in line 1 is read once, with A = 2; not read: 3");
  EXPECT_EQ(script_words("for ((A=2;A>0;A-=2)); do run --a $A; done"), " run --a 2");
  for (const char* unknown : {"A=0;A<N;A++", "A=0;A<2;A=f", "A=0;A<1;A+=0", ";;", "A=0"}) {
    EXPECT_EQ(script_words(std::string("for ((") + unknown + ")); do run --a $A; done"),
              " run --a $A")
        << unknown;
  }
}

TEST(ShellLoops, MayGoOverASequence) {
  const std::string others = "|W008: the loop in line 1 is read once, with A = 1; not read: 3, 5";
  EXPECT_EQ(script_words("for A in $(seq 1 2 6); do run --a $A; done"), " run --a 1" + others);
  EXPECT_EQ(script_words("N=2\nfor A in $(seq $N $((N + 1))); do run --a $A; done"),
            " run --a 2|W008: the loop in line 2 is read once, with A = 2; not read: 3");
  EXPECT_EQ(script_words("for A in $(seq 0 $((1-1))); do run --a $A; done"), " run --a 0");
  EXPECT_EQ(script_words("for A in `seq 1 1`; do run --a $A; done"), " run --a 1");
  for (const char* unknown : {"seq -w 4", "seq $N", "seq 4 | tac", "seq", "seq 1 0 4"}) {
    EXPECT_EQ(script_words(std::string("for A in $(") + unknown + "); do run --a $A; done"),
              " run --a $A")
        << unknown;
  }
}

TEST(ShellLoops, BracesStandForTheirWords) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(expanded_braces("{1..3}"), Words({"1", "2", "3"}));
  EXPECT_EQ(expanded_braces("{3..2}"), Words({"3", "2"}));
  EXPECT_EQ(expanded_braces("{a,,b}"), Words({"a", "", "b"}));
  for (const char* word : {"{a}", "a,b", "{}", "{1..999999999}", "{1..x}", "{1..2..3}"}) {
    EXPECT_EQ(expanded_braces(word), Words({word}));
  }
}

TEST(ShellLists, WordsMayGetAPrefixWhereTheyAreUsed) {
  EXPECT_EQ(script_words("A=(a=1 b)\nrun \"${A[@]/#/--}\" --c"), " a=1 b run --a=1 --b --c");
  EXPECT_EQ(script_words("A=(--a 1)\nrun ${A[@]/1/2}"),
            " --a 1 run|W007: not read: what ${A[@]/1/2} makes of its words");
}

TEST(ShellLines, WhereOutputGoesIsNoWordOfTheCommand) {
  EXPECT_EQ(script_words("run --a 1 2>&1 --b 2 | tee log"), " run --a 1 --b 2 tee log");
  for (const char* redirection : {"> log", ">>log", "2> log", "&> log", "&>> log", ">& log",
                                  ">| log", "< in", "2>/dev/null", "1>&2", "<<< word"}) {
    EXPECT_EQ(script_words(std::string("run --a 1 ") + redirection + " --b 2"), " run --a 1 --b 2")
        << redirection;
  }
  EXPECT_EQ(script_words("run --a 1 & next --b 2"), " run --a 1 next --b 2");
  EXPECT_EQ(script_words("exec > >(tee log)\nrun --a 2"), " exec tee log run --a 2");
}

}  // namespace plait::shell_lines_test
