"""Exit codes: 0 yes, 1 the answer is no, 2 usage or scenario error, 3 environment."""

import json
import re
import subprocess
import unittest

from plait_command import PLAIT, SOURCE, TINY, CommandTest, plait

USAGE_ERRORS = [
    ["fly"],
    ["run"],
    ["run", TINY, "--no-such-option"],
    ["run", TINY, TINY],
    ["run", TINY, "--format", "xml"],
    ["run", TINY, "--color", "blue"],
    ["run", TINY, "-o", "page.html"],
    ["run", TINY, "--trace", "-"],
    ["run", TINY, "--html", "-"],
    ["run", TINY, "--set"],
    ["run", TINY, "--set", "strategy.tp"],
    ["run", TINY, "--set", "=2"],
    ["run", TINY, "--set", "strategy.tq=2"],
    ["run", TINY, "--set", "strategy.tp=two"],
    ["run", TINY, "--set", "nothing.at.all=1"],
    ["compare"],
    ["compare", TINY, "-L", "strategy.tp"],
    ["compare", TINY, "-L", "strategy.tq=1,2"],
    ["list", "unicorns"],
    ["check"],
    ["profile", TINY],
    ["profile", TINY, "no-such-file.json"],
    ["profile", TINY, TINY],
    ["profile", TINY, TINY, "--steps", "0"],
    ["plan"],
]


class ExitCodes(CommandTest):
    def test_yes_is_0(self):
        for call in (["run", TINY], ["check", TINY], ["plan", TINY], ["list"], ["schema"],
                     ["version"], ["--help"], ["run", "--help"], ["compare", "--help"]):
            with self.subTest(call):
                result = plait(*call)
                self.assertEqual(result.code, 0, result.err)
                self.assertTrue(result.out)

    def test_a_value_that_is_none_of_the_names_is_likened_to_one(self):
        for call, meant in ((["export", TINY, "--to", "megatron"], "megatron-core"),
                            (["import", TINY, "--from", "deep-speed"], "deepspeed"),
                            (["run", TINY, "--format", "jsno"], "json")):
            with self.subTest(call):
                result = plait(*call)
                self.assertEqual(result.code, 2)
                self.assertIn(f"  cure: did you mean {meant}? See plait {call[0]} --help\n",
                              result.err)

    def test_the_scenario_may_stand_between_options(self):
        """Behind those that may be given several times too."""
        for call in (["run", "--set", "workload.micro_batch=1", TINY],
                     ["compare", "-L", "strategy.tp=1,2", TINY],
                     ["search", "--keep", "strategy.tp", TINY],
                     ["search", "--price", "h100-sxm=2", TINY]):
            with self.subTest(call):
                result = plait(*call, "--format", "json")
                self.assertEqual(result.code, 0, result.err)
                result.json()

    def test_what_is_read_is_not_written_over(self):
        text = TINY.read_text(encoding="utf-8")
        scenario, link = self.file("mine.json", text), self.folder / "link.json"
        link.symlink_to(scenario)
        for call in (["run", scenario, "-o", scenario], ["run", scenario, "-o", link],
                     ["run", scenario, "--html", scenario],
                     ["compare", TINY, scenario, "-o", scenario],
                     ["plan", scenario, "-o", f"{self.folder}/./mine.json"],
                     ["run", TINY, "-o", self.folder / "one.txt", "--html", self.folder / "one.txt"]):
            with self.subTest(call):
                result = plait(*call)
                self.assertEqual(result.code, 2, result.err)
                self.assertIn("G027", result.err)
                self.assertEqual(scenario.read_text(encoding="utf-8"), text)
        self.assertFalse((self.folder / "one.txt").exists())

    def test_help_that_cannot_be_written_is_3(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for call in (["--help"], ["run", "--help"], ["--version"]):
                with self.subTest(call):
                    self.assertEqual(subprocess.run([PLAIT, *call], stdout=full, check=False,
                                                    stderr=subprocess.DEVNULL).returncode, 3)

    def test_does_not_fit_is_1(self):
        for command in ("run", "check"):
            with self.subTest(command):
                result = plait(command, TINY, *DOES_NOT_FIT)
                self.assertEqual(result.code, 1, result.err)
                self.assertTrue(result.out, "a no is a result too")

    def test_check_refuses_a_machine_that_is_not_described_as_run_does(self):
        adam = ("--set", "strategy.zero_stage=1", "--set", "strategy.offload.optimizer=cpu",
                "--set", "cluster.preset=pcie-8")
        narrow = ("--set", "cluster.preset=hgx-h100", "--set", "workload.precision.matmul=nvfp4")
        drives = ("--set", "strategy.zero_stage=1", "--set", "strategy.offload.optimizer=nvme",
                  "--set", "cluster.processor=cpu-host")
        for settings, code in ((adam, "C014"), (drives, "C013"), (narrow, "C005")):
            said = {}
            for command in ("run", "check"):
                result = plait(command, TINY, *settings)
                self.assertEqual(result.code, 2, result.err)
                self.assertIn(f"error[{code}]", result.err)
                said[command] = result.err
            self.assertEqual(said["check"], said["run"])

    def test_usage_errors_are_2_and_explained(self):
        for call in USAGE_ERRORS:
            with self.subTest(call):
                result = plait(*call)
                self.assertEqual((result.code, result.out), (2, ""), result.err)
                self.assertTrue(result.err)

    def test_nothing_asked_for_shows_what_can_be(self):
        result = plait()
        self.assertEqual((result.code, result.out), (2, ""))
        self.assertIn("Subcommands:", result.err)

    def test_an_unknown_word_is_named_whatever_else_is_missing(self):
        for call, problem, cure in ((["rnu"], "no subcommand rnu", "did you mean run?"),
                                    (["run", "--hlep"], "no option --hlep", "did you mean --help?"),
                                    (["help", "serch"], "no subcommand serch", "did you mean search?"),
                                    (["run", TINY, TINY], "no further word", "plait run --help"),
                                    (["run", TINY, "-L", "strategy.tp=1,2"], "no option -L",
                                     "plait serve, compare, whatif, search take it"),
                                    (["compare", TINY, "--budget=2"], "no option --budget",
                                     "plait search takes it"),
                                    (["help", "run", "foo"], "plait run takes no further word, such as foo",
                                     "plait run --help"),
                                    (["check", TINY, "--json"], "no option --json",
                                     "plait check --format json"),
                                    (["run", TINY, "-o", ""], "--output names no file", "a variable of the shell"),
                                    (["run", TINY, "--html", ""], "--html names no file", "a variable of the shell"),
                                    (["mine.json"], "no subcommand mine.json", "plait run mine.json"),
                                    (["search", TINY, "--tokens", "1T"], "1T is no number from 1 to 1e+18",
                                     "plait search --help"),
                                    (["search", TINY, "--tokens=-2"], "-2 is no number from 1 to 1e+18",
                                     "plait search --help")):
            with self.subTest(call):
                told = plait(*call)
                self.assertEqual(told.code, 2)
                self.assertIn(problem, told.err)
                self.assertIn(cure, told.err)

    def test_a_message_shows_what_a_terminal_would_act_on(self):
        binary = self.folder / "binary"
        binary.write_bytes(b"--num-layers \x7fELF\x00\x1b[31m --hidden-size " + bytes(1000))
        told = plait("import", binary, "--from", "megatron-core")
        self.assertEqual(told.code, 2)
        self.assertIn("\\x7fELF\\x00", told.err)
        self.assertIn("cure:", told.err)
        self.assertNotIn("\x1b", told.err)

    def test_no_scenarios_here_is_said(self):
        told = plait("list", "scenarios", cwd=self.folder)
        self.assertEqual((told.code, told.out), (0, ""))
        self.assertIn("no scenarios/", told.err)
        self.assertEqual(plait("list", "scenarios").err, "")

    def test_a_usage_error_names_the_help_that_helps(self):
        for call, page in ((["fly"], "plait"), (["run"], "plait run"), (["topology", "show"], "plait topology show")):
            with self.subTest(call):
                self.assertIn(f"see {page} --help", plait(*call).err)

    def test_what_cannot_be_written_is_3(self):
        missing = self.folder / "missing" / "file"
        for call in (["run", TINY, "-o", missing], ["run", TINY, "--trace", missing]):
            with self.subTest(call):
                result = plait(*call)
                self.assertEqual(result.code, 3, result.err)
                self.assertIn(str(missing), result.err)

    def test_full_disk_is_3(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PLAIT, "run", TINY], stdout=full, stderr=subprocess.PIPE,
                                  cwd=SOURCE, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_version_is_the_one_of_the_project(self):
        text = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
        version = re.search(r"project\(plait VERSION (\S+)", text).group(1)
        self.assertIn(version, plait("version").out)

    def test_errors_name_the_option_that_said_it(self):
        served = SOURCE / "scenarios" / "systems" / "vllm-llama-3.1-70b.json"
        for call in (["compare", TINY], ["whatif", TINY], ["search", TINY], ["serve", served]):
            for field, value in (("strategy.tp", "two"), ("strategy.tq", "2"), ("nodes", "2")):
                with self.subTest(call, field=field):
                    said = plait(*call, "-L", f"{field}={value},4").err
                    self.assertIn(f"(-L {field}={value})", said)
                    self.assertIn(f"(--set {field}={value})",
                                  plait(*call, "-L", "cluster.nodes=1",
                                        "--set", f"{field}={value}").err)

    def test_sizes_that_do_not_multiply_point_at_the_one_of_the_command_line(self):
        file = SOURCE / "scenarios" / "llama" / "llama-3.1-70b-64xh100.json"
        for size in ("strategy.tp=5", "strategy.pp=3", "cluster.nodes=3", "strategy.dp=3"):
            with self.subTest(size):
                field = size.split("=")[0]
                self.assertIn(f"--> {field} (--set {size})",
                              plait("run", file, "--set", size).err)

    def test_checks_of_several_fields_name_the_option_that_gave_one(self):
        file = SOURCE / "scenarios" / "llama" / "llama-3.1-70b-64xh100.json"
        learned = ["--set", "model.positions=learned"]
        for code, path, given in (
                ("S043", "workload.global_batch", "workload.micro_batch=3"),
                ("S043", "workload.global_batch", "workload.global_batch=3"),
                ("S012", "workload.sequence_length", "workload.sequence_length=8191"),
                ("S010", "strategy.tp", "model=tiny"), ("S010", "strategy.tp", "model.kv_heads=4")):
            with self.subTest(given):
                said = plait("run", file, "--set", "name=other", "--set", given).err
                self.assertIn(f"error[{code}]", said)
                self.assertIn(f"--> {path} (--set {given})", said)
        for command in ("run", "search"):
            option = "--set" if command == "run" else "-L"
            said = plait(command, file, *learned, option, "model.max_positions=8").err
            self.assertIn("error[S004]", said)
            self.assertIn(f"--> workload.sequence_length ({option} model.max_positions=8)", said)

    def test_checks_of_what_the_file_says_point_at_the_file(self):
        text = (SOURCE / "scenarios" / "llama" / "llama-3.1-70b-64xh100.json").read_text("utf-8")
        scenario = json.loads(re.sub("//.*", "", text))
        scenario["workload"]["micro_batch"] = 3
        file = self.folder / "own.json"
        file.write_text(json.dumps(scenario, indent=1), "utf-8")
        line = 1 + [at for at, line in enumerate(file.read_text("utf-8").splitlines())
                    if '"global_batch"' in line][0]
        for apart in ([], ["--set", "name=other"], ["--set", "strategy.recompute=full"]):
            said = plait("run", file, *apart).err
            self.assertIn("error[S043]", said)
            self.assertIn(f"--> workload.global_batch ({file}:{line}:", said)


# A device with next to no memory.
DOES_NOT_FIT = ["--set", "cluster.device.memory=1 MB"]

if __name__ == "__main__":
    unittest.main()
