"""Runs the built command for the tests. Environment: PLAIT, its path; PLAIT_SOURCE_DIR."""

import dataclasses
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

PLAIT = os.environ["PLAIT"]
SOURCE = Path(os.environ["PLAIT_SOURCE_DIR"])
TIMEOUT_S = 120
SKIPPED = 77  # this build has no real runs


def without_comments(text):
    """JSON with // and /* */ comments outside of strings removed."""
    token = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.S)
    return token.sub(lambda m: m.group() if m.group().startswith('"') else "", text)


def read_scenario(path):
    return json.loads(without_comments(Path(path).read_text(encoding="utf-8")))


ALL = {path: read_scenario(path).keys()
       for path in sorted((SOURCE / "scenarios").glob("*/*.json"))}
# What trains, for every command; what serves, for `plait serve`.
SCENARIOS = [path for path, keys in ALL.items() if {"model", "cluster", "workload"} <= keys]
SERVING = [path for path, keys in ALL.items() if {"model", "cluster", "serving"} <= keys]

# The scenario that tests change: 8 GPUs as tp 2, pp 2, dp 2.
TINY = SOURCE / "tests" / "cli" / "tiny.json"


@dataclasses.dataclass
class Result:
    code: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)


def plait(*arguments, stdin="", cwd=SOURCE, env=None):
    done = subprocess.run([PLAIT, *map(str, arguments)], input=stdin, cwd=cwd, text=True,
                          encoding="utf-8", capture_output=True, timeout=TIMEOUT_S,
                          env={**os.environ, **(env or {})}, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def changed(base, path, value):
    """A copy of a scenario with another value at a path, "serving.slo"."""
    out = json.loads(json.dumps(base))
    *parents, last = path.split(".")
    place = out
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return out


class CommandTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def realrun_ok(self, *arguments):
        """The result of a real run that ends well; skips where this build has none."""
        result = plait("realrun", *arguments)
        if result.code == SKIPPED:
            self.skipTest(result.err)
        self.assertEqual(result.code, 0, result.out + result.err)
        return result

    def run_ok(self, *arguments, **options):
        """The result of a call that has an answer, yes or no."""
        result = plait(*arguments, **options)
        self.assertIn(result.code, (0, 1), f"plait {arguments}\n{result.err}")
        return result
