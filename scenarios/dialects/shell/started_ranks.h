#pragma once
// How many processes a launcher in front of a program starts, one for each GPU: srun, mpirun and
// mpiexec, jsrun, accelerate launch.

#include <vector>

#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/shell/shell_words.h"
#include "scenarios/dialects/shell/slurm_head.h"

namespace plait {

struct StartedRanks {
  SlurmCount nodes, each, all;  // `each`: on a node
};

/// What the words in front of a script "....py" say; where torchrun or deepspeed stands behind the
/// launcher and starts the processes of a node, its nodes alone. The launcher's options count as
/// read in `arguments`.
StartedRanks started_ranks(const std::vector<ShellWord>& words, Arguments& arguments);

}  // namespace plait
