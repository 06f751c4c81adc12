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
    def expect_predictions_of_now(self, device):
        measured = SOURCE / "reports/gpu" / device
        between = re.compile(rf"(<!-- {device} -->\n).*?(<!-- /{device} -->)", re.DOTALL)
        home = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, home)
        folder = home / device
        shutil.copytree(measured, folder)
        environment = {**os.environ, "PLAIT": os.environ["PLAIT"]}
        for command in (["bash", "bench/gpu/predict.sh", str(folder)],
                        ["python3", "bench/gpu/table.py", str(folder), "--markdown", "--json",
                         str(folder / "comparison.json")]):
            done = subprocess.run(command, cwd=SOURCE, env=environment, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        page = PAGE.read_text(encoding="utf-8")
        written = between.sub(lambda m: f"{m[1]}\n{done.stdout}\n{m[2]}", page)
        comparison = (folder / "comparison.json").read_text(encoding="utf-8")
        if os.environ.get("PLAIT_UPDATE_DOCS"):
            PAGE.write_text(written, encoding="utf-8")
            (measured / "comparison.json").write_text(comparison, encoding="utf-8")
        self.assertRegex(page, between)
        self.assertEqual(page, written)
        self.assertEqual((measured / "comparison.json").read_text(encoding="utf-8"), comparison)

    def test_h100(self):
        self.expect_predictions_of_now("h100")

    def test_h200(self):
        self.expect_predictions_of_now("h200")


if __name__ == "__main__":
    unittest.main()
