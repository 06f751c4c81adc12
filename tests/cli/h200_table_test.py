#!/usr/bin/env python3
"""What an H200 measured (reports/gpu/h200) beside what this build predicts: the table of
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
MEASURED = SOURCE / "reports/gpu/h200"
BETWEEN = re.compile(r"(<!-- h200 -->\n).*?(<!-- /h200 -->)", re.DOTALL)


class H200Table(unittest.TestCase):
    def test_says_what_is_predicted_now(self):
        home = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, home)
        folder = home / "h200"
        shutil.copytree(MEASURED, folder)
        environment = {**os.environ, "PLAIT": os.environ["PLAIT"]}
        for command in (["bash", "bench/gpu/predict.sh", str(folder)],
                        ["python3", "bench/gpu/table.py", str(folder), "--markdown", "--json",
                         str(folder / "comparison.json")]):
            done = subprocess.run(command, cwd=SOURCE, env=environment, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        page = PAGE.read_text(encoding="utf-8")
        written = BETWEEN.sub(lambda m: f"{m[1]}\n{done.stdout}\n{m[2]}", page)
        comparison = (folder / "comparison.json").read_text(encoding="utf-8")
        if os.environ.get("PLAIT_UPDATE_DOCS"):
            PAGE.write_text(written, encoding="utf-8")
            (MEASURED / "comparison.json").write_text(comparison, encoding="utf-8")
        self.assertEqual(page, written)
        self.assertEqual((MEASURED / "comparison.json").read_text(encoding="utf-8"), comparison)


if __name__ == "__main__":
    unittest.main()
