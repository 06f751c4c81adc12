"""Malformed input: every row of the tables gives exit code 2, nothing on standard output, and a
message that names the place; nothing crashes or hangs."""

import copy
import json
import os
import unittest

from plait_command import TINY, CommandTest, plait, read_scenario

DELETE = object()

# What is in the file -> what the message must contain (besides the file).
BAD_TEXTS = {
    "empty file": ("", ":1:1"),
    "only space": (" \n\t\n", ""),
    "cut off": ("{", ":1:"),
    "cut off in a string": ('{"name": "tin', ":1:"),
    "cut off in a number": ('{"name": 1e', ":1:"),
    "a list": ("[]", ""),
    "null": ("null", ""),
    "a number": ("42", ""),
    "a string": ('"scenario"', ""),
    "two documents": ("{} {}", ":1:4"),
    "text after the end": ('{"model": {}}\nmodel', ":2:1"),
    "trailing comma": ('{\n  "name": "x",\n}', ":3:1"),
    "missing comma": ('{"name": "x"\n "comment": "y"}', ":2:2"),
    "missing colon": ('{"name" "x"}', ":1:"),
    "single quotes": ("{'name': 'x'}", ":1:2"),
    "key without quotes": ('{name: "x"}', ":1:"),
    "bad escape": ('{"name": "\\q"}', ":1:"),
    "half a surrogate pair": ('{"name": "\\ud800"}', ":1:"),
    "control character": ('{"name": "a\x01b"}', ":1:"),
    "zero byte": ('{"name": \x00 "x"}', ":1:"),
    "NaN": ('{"name": NaN}', ":1:"),
    "infinity": ('{"name": Infinity}', ":1:"),
    "hexadecimal": ('{"name": 0x10}', ":1:"),
    "leading zero": ('{"name": 007}', ":1:"),
    "plus sign": ('{"name": +7}', ":1:"),
    "number too large": ('{"workload": {"global_batch": 1e999}}', ":1:"),
    "same key twice": ('{"name": "x",\n "name": "y"}', ":2:"),
    "unclosed comment": ("{ /* comment }", ":1:"),
    "a web page": ("<!DOCTYPE html><html></html>", ":1:1"),
}

# Path in the tiny scenario, its new value -> all that must be in the message.
BAD_FIELDS = [
    ("strategi", {}, ["strategi", "strategy"]),
    ("strategy.ttp", 2, ["ttp"]),
    ("workload.sequence_lenght", 128, ["sequence_lenght", "sequence_length"]),
    ("model", DELETE, ["model"]),
    ("workload", DELETE, ["workload"]),
    ("cluster", DELETE, ["cluster"]),
    ("model", [], ["model"]),
    ("workload", "big", ["workload"]),
    ("strategy", 8, ["strategy"]),
    ("cluster", None, ["cluster"]),
    ("model", "gpt-9000", ["model", "gpt-9000"]),
    ("cluster", "abacus", ["cluster", "abacus"]),
    ("strategy.tp", 0, ["strategy.tp"]),
    ("strategy.tp", -2, ["strategy.tp"]),
    ("strategy.tp", 1.5, ["strategy.tp"]),
    ("strategy.tp", "2", ["strategy.tp"]),
    ("strategy.tp", True, ["strategy.tp"]),
    ("strategy.tp", None, ["strategy.tp"]),
    ("strategy.tp", [2], ["strategy.tp"]),
    ("strategy.tp", {}, ["strategy.tp"]),
    ("strategy.tp", 10**12, ["strategy.tp"]),
    ("strategy.tp", 10**30, ["strategy.tp"]),
    ("strategy.tp", 3, ["strategy.dp", "tp 3"]),
    ("strategy.pp", 0, ["strategy.pp"]),
    ("strategy.pp", 7, ["strategy.dp", "pp 7"]),
    ("strategy.dp", -1, ["strategy.dp"]),
    ("strategy.dp", 1000, ["strategy"]),
    ("strategy.fsdp", 0, ["strategy.fsdp"]),
    ("strategy.zero_stage", 4, ["strategy.zero_stage"]),
    ("strategy.sequence_parallel", "yes", ["strategy.sequence_parallel"]),
    ("strategy.recompute", "some", ["strategy.recompute"]),
    ("strategy.pipeline", "2f2b", ["strategy.pipeline"]),
    ("workload.sequence_length", 0, ["workload.sequence_length"]),
    ("workload.sequence_length", -128, ["workload.sequence_length"]),
    ("workload.sequence_length", "long", ["workload.sequence_length"]),
    ("workload.sequence_length", 10**15, ["workload.sequence_length"]),
    ("workload.sequence_length", DELETE, ["sequence_length"]),
    ("workload.global_batch", 0, ["workload.global_batch"]),
    ("workload.global_batch", 0.5, ["workload.global_batch"]),
    ("workload.micro_batch", 0, ["workload.micro_batch"]),
    ("workload.micro_batch", 7, ["micro_batch"]),
    ("workload.precision", "fp3", ["workload.precision"]),
    ("model.layers", 0, ["model.layers"]),
    ("model.layers", "many", ["model.layers"]),
    ("model.hidden", -1, ["model.hidden"]),
    ("model.heads", 0, ["model.heads"]),
    ("model.heads", 7, ["heads"]),
    ("model.vocab", 0, ["model.vocab"]),
    ("model.norm", "batchnorm", ["model.norm"]),
    ("cluster.nodes", 0, ["cluster.nodes"]),
    ("cluster.nodes", "two", ["cluster.nodes"]),
    ("cluster.nodes", 10**9, ["cluster.nodes"]),
    ("cluster.device.memory", 80, ["cluster.device.memory"]),
    ("cluster.device.memory", "80", ["cluster.device.memory"]),
    ("cluster.device.memory", "80 parsecs", ["cluster.device.memory"]),
    ("cluster.device.memory", "-80 GB", ["cluster.device.memory"]),
    ("cluster.device.memory", "0 GB", ["cluster.device.memory"]),
    ("cluster.device.memory", "1e400 GB", ["cluster.device.memory"]),
    ("cluster.device.memory", "nan GB", ["cluster.device.memory"]),
    ("cluster.device.memory_bandwidth", "2 GB", ["cluster.device.memory_bandwidth"]),
    ("cluster.jitter", -0.5, ["cluster.jitter"]),
    ("strategy.placement", ["pp", "pp"], ["strategy.placement"]),
    ("strategy.placement", "random", ["strategy.placement"]),
    ("cluster.slowdowns", [{"device": 0}], ["cluster.slowdowns", "factor"]),
]


def changed(scenario, path, value):
    """A copy of the scenario with `path` set to `value`, or deleted."""
    scenario = copy.deepcopy(scenario)
    *parents, key = path.split(".")
    at = scenario
    for parent in parents:
        if not isinstance(at.get(parent), dict):
            at[parent] = {}
        at = at[parent]
    if value is DELETE:
        at.pop(key, None)
    else:
        at[key] = value
    return scenario


class Malformed(CommandTest):
    def check_refused(self, path, words, **options):
        for command in ("check", "run"):
            result = plait(command, path, **options)
            message = f"plait {command}: exit code {result.code}\n{result.out}{result.err}"
            self.assertEqual(result.code, 2, message)
            self.assertEqual(result.out, "", message)
            self.assertRegex(result.err, r"^error\[[A-Z]\d{3}\]: ", message)
            for word in words:
                self.assertIn(word, result.err, message)
            self.assertLess(len(result.err), 4000, "a message fits on a screen")

    def test_tables_are_large_enough(self):
        self.assertGreaterEqual(len(BAD_TEXTS) + len(BAD_FIELDS), 60)

    def test_the_scenario_that_is_changed_is_good(self):
        self.assertEqual(plait("check", TINY).code, 0)

    def test_bad_texts(self):
        for name, (text, place) in BAD_TEXTS.items():
            with self.subTest(name):
                self.check_refused(self.file("bad.json", text), ["bad.json" + place])

    def test_bad_fields(self):
        tiny = read_scenario(TINY)
        for path, value, words in BAD_FIELDS:
            with self.subTest(path, value="absent" if value is DELETE else value):
                text = json.dumps(changed(tiny, path, value), indent=2)
                self.check_refused(self.file("bad.json", text), ["bad.json", *words])

    def test_unknown_bytes(self):
        path = self.folder / "bad.json"
        for name, data in (("no UTF-8", b'{"name": "\xff\xfe"}'),
                           ("UTF-16", '{"name": 1}'.encode("utf-16")),
                           ("compiled", bytes(range(256)))):
            with self.subTest(name):
                path.write_bytes(data)
                self.check_refused(path, ["bad.json"])

    def test_hundred_megabytes_of_brackets(self):
        path = self.folder / "deep.json"
        for name, piece in (("lists", "["), ("objects", '{"model":')):
            with self.subTest(name):
                path.write_text(piece * (100_000_000 // len(piece)), encoding="utf-8")
                self.check_refused(path, ["deep.json"])

    def test_a_million_digits(self):
        text = '{"workload": {"global_batch": ' + "9" * 1_000_000 + "}}"
        self.check_refused(self.file("bad.json", text), ["bad.json"])

    def test_no_such_file(self):
        self.check_refused(self.folder / "missing.json", ["missing.json"])

    def test_a_directory(self):
        self.check_refused(self.folder, [str(self.folder)])

    def test_an_endless_device(self):
        self.check_refused("/dev/zero", ["/dev/zero"])

    def test_empty_standard_input(self):
        self.check_refused("-", [], stdin="")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_a_file_that_may_not_be_read(self):
        path = self.file("secret.json", "{}")
        path.chmod(0)
        self.assertEqual(plait("run", path).code, 3)


if __name__ == "__main__":
    unittest.main()
