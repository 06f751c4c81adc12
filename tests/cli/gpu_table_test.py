#!/usr/bin/env python3
"""What GPUs measured (reports/gpu) beside what this build predicts: the tables of
docs/calibrate-a-cluster.md and comparison.json say what there is now. PLAIT_UPDATE_DOCS=1 writes
them anew."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["PLAIT_SOURCE_DIR"])
PAGE = SOURCE / "docs/calibrate-a-cluster.md"


class GpuTable(unittest.TestCase):
    def expect_predictions_of_now(self, device, *others):
        measured = SOURCE / "reports/gpu" / device
        home = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, home)
        folder = home / device
        shutil.copytree(measured, folder)
        environment = {**os.environ, "PLAIT": os.environ["PLAIT"]}

        def output(*command):
            done = subprocess.run(command, cwd=SOURCE, env=environment, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        output("bash", "bench/gpu/predict.sh", str(folder))
        table = ["python3", "bench/gpu/table.py", str(folder), "--markdown"]
        tables = {device: output(*table, "--json", str(folder / "comparison.json"))}
        for other in others:
            tables[f"{device}-{other}"] = output(*table, f"--{other}")
        page = written = PAGE.read_text(encoding="utf-8")
        for name, text in tables.items():
            between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
            self.assertRegex(page, between)
            written = between.sub(lambda m: f"{m[1]}\n{text}\n{m[2]}", written)
        comparison = (folder / "comparison.json").read_text(encoding="utf-8")
        if os.environ.get("PLAIT_UPDATE_DOCS"):
            PAGE.write_text(written, encoding="utf-8")
            (measured / "comparison.json").write_text(comparison, encoding="utf-8")
        self.assertEqual(page, written)
        self.assertEqual((measured / "comparison.json").read_text(encoding="utf-8"), comparison)

    def test_h100(self):
        self.expect_predictions_of_now("h100", "served")

    def test_h200(self):
        self.expect_predictions_of_now("h200", "served", "trainer")


if __name__ == "__main__":
    unittest.main()
