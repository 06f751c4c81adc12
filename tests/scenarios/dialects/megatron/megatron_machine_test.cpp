// How many devices a script starts on, and what becomes of a base that has others.

#include <gtest/gtest.h>

#include "tests/scenarios/dialects/imported.h"

namespace plait::megatron_machine_test {

using import_test::kBase;

constexpr const char* kArguments = " pretrain_gpt.py --bf16 --micro-batch-size 1";

std::pair<std::int64_t, std::int64_t> machine_of(const std::string& script) {
  const Scenario s = import_test::imported(Dialect::kMegatronCore, script);
  return {s.cluster.nodes, s.cluster.devices_per_node};
}
using Machine = std::pair<std::int64_t, std::int64_t>;

TEST(MegatronMachine, IsWhatALauncherIsTold) {
  EXPECT_EQ(machine_of(std::string("torchrun --nnodes 2 --nproc_per_node=4") + kArguments),
            Machine(2, 4));
  EXPECT_EQ(machine_of(std::string("deepspeed --num_nodes 2 --num_gpus 4") + kArguments),
            Machine(2, 4));
  EXPECT_EQ(machine_of(std::string("srun --nodes=4 --gpus-per-node=8 python") + kArguments),
            Machine(4, 8));
}

// torch/distributed/run.py; deepspeed/launcher/runner.py.
TEST(MegatronMachine, HasAllOfItsDevicesOrThoseThatAreListed) {
  const auto torchrun = [](const std::string& options) {
    return machine_of("torchrun " + options + kArguments);
  };
  for (const char* all : {"gpu", "auto"})
    EXPECT_EQ(torchrun("--nnodes 2 --nproc-per-node=" + std::string(all)), Machine(2, 8)) << all;
  EXPECT_EQ(torchrun("--nnodes 2:2 --nproc-per-node 4"), Machine(2, 4));
  EXPECT_EQ(import_test::refusal(Dialect::kMegatronCore,
                                 "torchrun --nnodes 1:4" + std::string(kArguments)),
            "D006 line 1");
  const auto included = [](const std::string& hosts) {
    return machine_of("deepspeed --include " + hosts + kArguments);
  };
  EXPECT_EQ(included("localhost:0,1,2,3"), Machine(1, 4));
  EXPECT_EQ(included("a:0,1@b:2,3"), Machine(2, 2));
  EXPECT_EQ(included("a@b"), Machine(2, 8));
  EXPECT_EQ(import_test::refusal(Dialect::kMegatronCore,
                                 "deepspeed --include a:0@b:0,1" + std::string(kArguments)),
            "D006 line 1");
}

TEST(MegatronMachine, IsWhatSbatchIsToldWhereALauncherIsTheVariable) {
  const std::string head = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=h100:4\n";
  EXPECT_EQ(machine_of(head + "srun python" + kArguments), Machine(2, 4));
  EXPECT_EQ(machine_of(head + "srun torchrun --nnodes $SLURM_NNODES" + kArguments), Machine(2, 4));
  EXPECT_EQ(machine_of("#SBATCH -N 4 --gres=gpu:8\nsrun python" + std::string(kArguments)),
            Machine(4, 8));
  // Of a range only a run knows.
  EXPECT_EQ(machine_of("#SBATCH --nodes=2-4\nsrun python" + std::string(kArguments)),
            Machine(1, 8));
}

TEST(MegatronMachine, AnotherThanTheBasesIsSaid) {
  const std::string script = std::string("torchrun --nnodes 2") + kArguments;
  const auto said = [&](const std::string& cluster) {
    const std::string base =
        R"({"model": "llama-3.1-8b", "workload": {"sequence_length": 64, "global_batch": 64},)"
        R"( "framework": "megatron-core", "cluster": )" +
        cluster + "}";
    Warnings warnings;
    scenario_json(read_settings(script, "run.sh", Dialect::kMegatronCore), "run.sh",
                  {base, "base.json"}, "", &warnings);
    return warnings.empty() ? "" : printed(warnings.front());
  };
  EXPECT_EQ(said(R"({"preset": "hgx-h100", "nodes": 4})"),
            "W008: cluster.nodes is 2 (line 1), not 4 as in the base");
  EXPECT_EQ(said(R"({"preset": "hgx-h100", "nodes": 2})"), "");
  EXPECT_EQ(said(R"("hgx-h100")"), "");
}

// 16 trays of 4 GPUs are one rack of 72, and 32 of them two of 64.
TEST(MegatronMachine, HostsOfANodeAreCountedAsOne) {
  const auto nodes = [](const char* hosts) {
    const std::string script = "torchrun --nnodes " + std::string(hosts) +
                               " --nproc_per_node 4 pretrain_gpt.py --bf16 --micro-batch-size 1";
    const Cluster c = import_test::imported(Dialect::kMegatronCore, script,
                                            R"({"model": "llama-3.1-8b", "cluster": "gb200-nvl72",
      "workload": {"sequence_length": 64, "global_batch": 128}})")
                          .cluster;
    return std::pair(c.nodes, c.devices_per_node);
  };
  EXPECT_EQ(nodes("16"), std::pair(std::int64_t{1}, std::int64_t{64}));
  EXPECT_EQ(nodes("32"), std::pair(std::int64_t{2}, std::int64_t{64}));
}

// A tray has 4: eight GPUs of a host are no two trays without a word.
TEST(MegatronMachine, OtherHostsThanThoseThatNvlinkJoinsAreNamed) {
  const auto said = [](const std::string& each, const std::string& cluster) {
    const Imported settings = read_settings("torchrun --nnodes 8 --nproc_per_node " + each +
                                                " pretrain_gpt.py --bf16 --micro-batch-size 1",
                                            "run.sh", Dialect::kMegatronCore);
    const std::string base = R"({"model": "llama-3.1-8b", "workload": {"sequence_length": 64,
      "global_batch": 128}, "cluster": )" +
                             cluster + "}";
    Warnings warnings;
    scenario_json(settings, "run.sh", {base, "base.json"}, "", &warnings);
    std::erase_if(warnings, [](const Warning& w) { return w.code != "W008"; });
    return printed(warnings);
  };
  const std::vector<std::string> none, eight = said("8", R"("gb200-nvl72")");
  EXPECT_EQ(eight, std::vector<std::string>(
                       {"W008: hosts of 8 GPUs (line 1) are read as nodes that no NVLink joins, "
                        "since those of the base's machine, which it joins, have 4"}));
  EXPECT_EQ(said("4", R"("gb200-nvl72")"), none);
  EXPECT_EQ(said("8", R"("hgx-h100")"), none);
}

TEST(MegatronMachine, WhatIsWrongInTheBaseIsSaidOfTheBase) {
  const auto place = [](const std::string& base) {
    try {
      import_test::imported(Dialect::kMegatronCore, std::string("run") + kArguments, base);
    } catch (const InputError& e) {
      const Where& w = e.text().where;
      return w.file + ":" + std::to_string(w.line) + ":" + std::to_string(w.column);
    }
    return std::string("accepted");
  };
  EXPECT_EQ(place(R"({"model": "llama-3.1-8b", "workload": {"sequence_length": 64,)"
                  "\n"
                  R"("global_batch": 64}, "strategy": {}, "cluster": "h100"})"),
            "base.json:2:49");
  const std::string rest = R"( "cluster": "hgx-h100", "workload": {"sequence_length": 64}})";
  EXPECT_EQ(place(R"({"model": "llama-3.1-8",)" + rest), "base.json:1:11");
}

TEST(MegatronMachine, WhereItIsTooSmallTheLineIsNamed) {
  const std::string script =
      "torchrun --nnodes 1 pretrain_gpt.py --bf16 "
      "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4";
  const char* const base = R"({"model": "llama-3.1-8b", "cluster": {"preset": "hgx-h100",
    "nodes": 4}, "workload": {"sequence_length": 64, "global_batch": 64}})";
  try {
    import_test::imported(Dialect::kMegatronCore, script, base);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S002");
    EXPECT_TRUE(e.text().cure.starts_with("cluster.nodes is 1 (line 1), not 4 as in the base: "));
  }
}

TEST(MegatronMachine, IsWhatStartsAProcessForEachGpu) {
  const std::string python = std::string(" python") + kArguments;
  for (const char* launcher :
       {"srun -N 4 --ntasks-per-node=8", "srun -N4 -n32", "srun --nodes=4 --ntasks=32",
        "mpirun -np 32 --map-by ppr:8:node", "mpirun -np 32 -npernode 8", "mpiexec -n 32 -ppn 8",
        "mpirun -np 32", "jsrun -n 4 -r 1 -a 8 -g 8", "jsrun -n 16 -r 4 -a 2",
        "accelerate launch --num_processes 32 --num_machines 4"}) {
    EXPECT_EQ(machine_of(launcher + python), Machine(4, 8)) << launcher;
  }
  EXPECT_EQ(machine_of("mpirun -np 4" + python), Machine(1, 4));
  // What torchrun starts on a node, it says.
  EXPECT_EQ(machine_of("srun -N 2 --ntasks-per-node=1 torchrun --nproc_per_node 4" +
                       std::string(kArguments)),
            Machine(2, 4));
  EXPECT_EQ(import_test::refusal(Dialect::kMegatronCore, "mpirun -np 12" + python), "D004 line 1");
}

TEST(MegatronMachine, ProcessesFillTheHostsOfTheBase) {
  Warnings warnings;
  scenario_json(read_settings("mpirun -np 8 python" + std::string(kArguments), "run.sh",
                              Dialect::kMegatronCore),
                "run.sh",
                {R"({"model": "llama-3.1-8b", "workload": {"sequence_length": 64,
                     "global_batch": 64}, "cluster": {"preset": "hgx-h100",
                     "devices_per_node": 4, "nodes": 8}})",
                 "base.json"},
                "", &warnings);
  EXPECT_EQ(std::ranges::count(printed(warnings),
                               "W008: cluster.nodes is 2 (line 1), not 8 as in the base"),
            1);
}

// A large prime has no divisor to be found in a moment.
TEST(MegatronMachine, MoreHostsThanAScenarioHasNodesAreRefused) {
  EXPECT_EQ(import_test::refusal(
                Dialect::kMegatronCore,
                "torchrun --nnodes 999999937 --nproc_per_node 4" + std::string(kArguments),
                R"({"model": "llama-3.1-8b", "cluster": "gb200-nvl72",
      "workload": {"sequence_length": 64, "global_batch": 128}})"),
            "U004 line 1");
}

}  // namespace plait::megatron_machine_test
