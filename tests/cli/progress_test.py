"""Progress of long commands: on a terminal one line that is gone at the end, in a pipe a line for
each tenth, and nothing at all from what is quick."""

import json
import math
import os
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from plait_command import PLAIT, SOURCE, TIMEOUT_S, TINY, CommandTest

LARGE = SOURCE / "scenarios/llama/llama-3.1-405b-16384xh100.json"
LONG_S = 2.5  # what takes so long shows its progress on any machine


def points(times):
    """42 points for each of `times`, one after the other, and break-evens."""
    batches = ",".join(str(8192 + 256 * k) for k in range(7 * times))
    return ["whatif", LARGE, "-L", f"workload.global_batch={batches}",
            "-L", "strategy.recompute=none,selective,full", "-L", "strategy.zero_stage=1,3"]


def ops(times):
    return ["run", LARGE, "--network", "flow", "--unfold", "--set", "cluster.nodes=128",
            "--set", "strategy.fsdp=8", "--set", f"workload.global_batch={256 * times}"]


def devices(times):  # each of which has routes to all others
    return ["topology", "show", LARGE, "--set", f"cluster.nodes={int(128 * times**0.5)}",
            "--set", 'cluster.faults=[{"at": "node 3: nic 1", "factor": 0.5}]']


def long_on_this_machine(command, run):
    """What run(command(times)) gives for some `times` that take long: from what one takes."""
    times = 1
    while True:
        begin = time.monotonic()
        seen = run(command(times))
        took = time.monotonic() - begin
        if took > LONG_S:
            return seen
        times = math.ceil(1.2 * times * LONG_S / took)


def on_terminal(*arguments):
    """Standard error as a terminal of 80 columns gets it."""
    leader, follower = pty.openpty()
    begin = time.monotonic()
    with subprocess.Popen([PLAIT, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=follower,
                          cwd=SOURCE, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(follower)
        seen = b""
        while time.monotonic() - begin < TIMEOUT_S:
            ready, _, _ = select.select([leader], [], [], 1)
            if not ready:
                continue
            try:
                part = os.read(leader, 4096)
            except OSError:  # the command has closed its end
                break
            if not part:
                break
            seen += part
        process.wait()
    os.close(leader)
    return seen.decode()


def errors_in_a_pipe(command):
    return subprocess.run([PLAIT, *map(str, command)], capture_output=True, text=True, cwd=SOURCE,
                          timeout=TIMEOUT_S, check=False).stderr


def screen(seen):
    """What stands on a line after it was written over."""
    line = ""
    for part in seen.split("\r"):
        line = part + line[len(part):]
    return line.rstrip()


class Progress(CommandTest):
    def test_quick_commands_say_nothing(self):
        for command in (["run", TINY], ["compare", TINY, TINY], ["whatif", TINY, "-L", "strategy.tp=1,2"]):
            with self.subTest(command[0]):
                self.assertEqual(on_terminal(*command), "")

    def test_a_long_command_counts_tells_what_is_left_and_erases_it(self):
        seen = long_on_this_machine(points, lambda command: on_terminal(*command))
        self.assertRegex(seen, r"\d+ of \d+  points, [\d.]+ (s|min \d\d s) left")
        self.assertEqual(screen(seen), "")
        for part in seen.split("\r"):
            self.assertLess(len(part), 80)

    def test_in_a_pipe_a_line_for_each_tenth_at_most(self):
        seen = long_on_this_machine(points, errors_in_a_pipe)
        lines = seen.splitlines()
        self.assertTrue(all(re.match(r" *\d+ of \d+  (points|break-evens)", l) for l in lines), lines)
        self.assertTrue(0 < sum("points" in l for l in lines) <= 10, lines)
        self.assertNotIn("\r", seen)

    def test_one_long_simulation_and_one_large_faulty_machine_count_too(self):
        for command, counted in ((ops, "ops"), (devices, "devices")):
            with self.subTest(counted):
                seen = long_on_this_machine(command, errors_in_a_pipe)
                self.assertRegex(seen, rf"\d+ of \d+  {counted}.*, .* left")


# Millions of layouts, which take seconds to bound on one thread.
MIXTURE = {
    "model": {"name": "moe", "layers": 60, "hidden": 6144, "ffn_hidden": 16384, "heads": 48,
              "kv_heads": 8, "vocab": 128256, "experts": 128, "experts_per_token": 8,
              "expert_ffn_hidden": 1408},
    "workload": {"sequence_length": 8192, "global_batch": 4096},
    "strategy": {"pp": 4, "ep": 16, "recompute": "full"},
    "cluster": {"preset": "hgx-h200", "nodes": 256},
}
REQUESTS = {
    "model": "llama-3.1-8b",
    "serving": {"slo": {"ttft": "300 ms"},
                "requests": {"count": 400000, "rate_per_s": 20,
                             "kinds": [{"prompt_tokens": 512, "output_tokens": 128}]}},
    "cluster": {"preset": "hgx-h100", "devices_per_node": 1},
}


class Interrupted(CommandTest):
    def interrupt(self, *command):
        """By Ctrl-C as soon as it says how far it is: that, the exit code, and both streams then."""
        run = subprocess.Popen([PLAIT, *map(str, command)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        first = run.stderr.readline()
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=TIMEOUT_S)
        return first, run.returncode, out, err

    def test_a_search_that_makes_its_bounds_answers_with_what_is_thought_to_be_good(self):
        path = self.file("mixture.json", json.dumps(MIXTURE))
        first, code, out, err = self.interrupt("search", path, "-j", "1", "--format", "json")
        self.assertRegex(first, r"^\d+ of \d+  layouts bounded", err)
        self.assertEqual(code, 0, err)
        answer = json.loads(out)
        self.assertTrue(answer["interrupted"])
        self.assertIsNone(answer["layouts"]["gap"])
        self.assertGreater(answer["layouts"]["undecided"], 0)
        for guess in ("as_written", "rule_of_thumb"):
            if answer[guess]["report"]["fits"]:
                self.assertLessEqual(answer["best"][0]["report"]["step_time_s"],
                                     answer[guess]["report"]["step_time_s"])

    def test_what_was_served_is_said(self):
        path = self.file("requests.json", json.dumps(REQUESTS))
        for more in ([], ["--max-rate"]):
            first, code, out, err = self.interrupt("serve", path, *more)
            self.assertEqual((code, out), (-signal.SIGINT, ""), first)
            self.assertRegex(err, r"interrupted: serving, \d+ of \d+ tokens.*: there is no result\n$")


if __name__ == "__main__":
    unittest.main()
