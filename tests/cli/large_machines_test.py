"""What is asked of large machines from the command line takes what it takes from a file."""

import resource
import unittest

from plait_command import SOURCE, CommandTest, plait

FSDP = SOURCE / "scenarios/llama/llama-3.1-8b-8xh100-fsdp.json"

CPU_LIMIT_S = 3  # of which it takes a tenth; simulating what a --set replaces takes tens of seconds


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class LargeMachines(CommandTest):
    def test_the_machine_may_be_said_on_the_command_line(self):
        nodes = 60_000
        before = cpu_seconds()
        run = plait("run", FSDP, "--set", f"cluster.nodes={nodes}", "--set",
                    f"workload.global_batch={8 * nodes}")
        self.assertEqual(run.code, 0, run.err)
        self.assertLess(cpu_seconds() - before, CPU_LIMIT_S)


if __name__ == "__main__":
    unittest.main()
