// Lists of words in launch scripts: whether a command uses them, and what no script says.

#include "scenarios/dialects/shell/shell_uses.h"

#include <gtest/gtest.h>

#include "tests/scenarios/dialects/imported.h"
#include "tests/scenarios/dialects/shell/script_words.h"

namespace plait::shell_uses_test {

TEST(ShellUses, AListThatNoCommandUsesIsNoPartOfIt) {
  EXPECT_EQ(script_words("A=(--a 1)\nB=(--b 2)\nrun ${A[@]} \\\n#  ${B[@]}\n"),
            " --a 1 run|W007: not read: B, which no command uses");
  EXPECT_EQ(script_words("A=\"--a 1\"\nB=\"--b 2\"\nrun $B"),
            " --b 2 run|W007: not read: A, which no command uses");
  EXPECT_EQ(script_words("HOSTS=(a b)\nA=(--a 1)\nrun ${A[@]}"), " --a 1 run");
}

TEST(ShellUses, AListMayBeUsedThroughOthers) {
  EXPECT_EQ(script_words("A=(--a 1)\nB=\"$A --b 2\"\nCMD=\"run $B\"\neval $CMD"),
            " --a 1 --b 2 run eval");
  EXPECT_EQ(script_words("A=(--a 1)\nA+=(--b 2)\nALL=(\"${A[@]}\")\nrun \"${ALL[@]}\""),
            " --a 1 --b 2 run");
}

TEST(ShellUses, ABranchThatDoesNotRunUsesNothing) {
  EXPECT_EQ(
      script_words("A=(--a 1)\nB=(--b 2)\nX=0\nif [ $X = 1 ]; then A+=(${B[@]}); fi\nrun ${A[@]}"),
      " --a 1 run|W007: not read: B, which no command uses");
}

TEST(ShellUses, APartOfAScriptIsAllRead) {
  EXPECT_EQ(script_words("A=(--a 1)\nB=(--b 2)"), " --a 1 --b 2");
}

TEST(ShellUses, AScriptThatItReadsIsNamed) {
  EXPECT_EQ(script_words("source ./sizes.sh\n. more.sh\n--a 1"),
            " source . --a 1|W007: not read: ./sizes.sh, which line 1 sources|W007: not read: "
            "more.sh, which line 2 sources");
}

TEST(ShellUses, DeclarationsAreAssignments) {
  EXPECT_EQ(script_words("declare -i A=4\nreadonly -a B=(--b 2)\nrun --a $A ${B[@]}"),
            " declare -i readonly -a --b 2 run --a 4");
}

TEST(ShellUses, WordsOfAVariableWithoutQuotesAreItsWords) {
  EXPECT_EQ(script_words("A='-ngl 99 -c 4096'\nrun $A --x"), " run -ngl 99 -c 4096 --x");
}

TEST(ShellUses, OtherFormsOfAVariableAreNotItsValue) {
  EXPECT_EQ(script_words("A=llama.json\nrun --a ${A%.json} ${A:+--b} ${B:+--c} ${A-x} ${B-y}"),
            " run --a ${A%.json} --b llama.json y");
}

/// What of a command may be options and is not known.
std::string nothing_in(const std::string& script) {
  const std::string all = import_test::warnings(Dialect::kMegatronCore, script);
  const std::size_t at = all.find("W008: read as nothing");
  return at == std::string::npos ? "" : all.substr(all.find(": ", at + 6) + 2);
}

TEST(ShellUses, OptionsThatNoScriptSaysAreNamed) {
  const std::string run = "run --bf16 --seq-length 64 ";
  EXPECT_EQ(nothing_in(run + "$MORE"), "$MORE (line 1)\n");
  EXPECT_EQ(nothing_in(run + "\"${MORE[@]}\" \\\n  $(cat more) `cat more`"),
            "$MORE (line 1), $(...) (line 2)\n");
  EXPECT_EQ(nothing_in("run --seq-length 64 --bf16 $MORE"), "$MORE (line 1)\n");
  EXPECT_EQ(nothing_in("run --seq-length 64 --log-throughput \\\n $MORE"), "$MORE (line 2)\n");
  EXPECT_EQ(nothing_in("A=(--seq-length 64 $MORE)\nrun $SCRIPT ${A[@]}"),
            "$SCRIPT (line 2), $MORE (line 1)\n");
  EXPECT_EQ(nothing_in(run + "$1 ${19}"), "$1 (line 1), $19 (line 1)\n");
}

TEST(ShellUses, WhatIsNoOptionIsNotNamed) {
  const std::string run = "run --seq-length 64 ";
  for (const char* more : {"--save $PATH", "--data-path \"$A\" \"$B\"", "\"$@\"", "> $LOG",
                           "\nmkdir -p $LOGS\ncd $HOME_OF_IT"}) {
    EXPECT_EQ(nothing_in(run + more), "") << more;
  }
}

TEST(ShellUses, WhatAShellIsToRunIsOfTheCommand) {
  EXPECT_EQ(script_words("A=\"--a 1\"\nB=\"--b 2\"\nsrun -n 2 bash -c 'run $A --c 3'"),
            " --a 1 srun -n 2 bash -c run --c 3|W007: not read: B, which no command uses");
  EXPECT_EQ(script_words("A=1\nsh -c \"run --a $A\" | tee log"), " sh -c run --a 1 tee log");
  EXPECT_EQ(script_words("bash -c 'it is \"open'"), " bash -c it is \"open");
}

TEST(ShellUses, ParametersMayBeSetInTheScript) {
  EXPECT_EQ(script_words("set -- a 8 $B\nTP=${2}\nrun --tp $TP --c $1 --d $4"),
            " set -- a 8 $B run --tp 8 --c a --d $4");
  EXPECT_EQ(script_words("set -- 4 8\nrun --tp $19 --c ${2}x"), " set -- 4 8 run --tp 49 --c 8x");
}

TEST(ShellUses, SlurmSetsWhatTheHeadSays) {
  const std::string head = "#SBATCH --nodes=4\n#SBATCH --gres=gpu:a100:8\n";
  EXPECT_EQ(script_words(head + "run --n $SLURM_NNODES --g $SLURM_GPUS_ON_NODE --t $SLURM_NTASKS"),
            " run --n 4 --g 8 --t $SLURM_NTASKS");
  EXPECT_EQ(script_words(head + "SLURM_NNODES=2\nrun --n ${SLURM_NNODES:-1}"), " run --n 2");
}

}  // namespace plait::shell_uses_test
