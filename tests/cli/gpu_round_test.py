#!/usr/bin/env python3
"""The round on a GPU (bench/gpu/round.sh), its programs played by a script: what is worth most comes
first, what is done is not done again, and what is left when the time is over is said."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["PLAIT_SOURCE_DIR"])

# Plays every program: writes what `-o FILE` is to hold.
KERNEL = {"kind": "kernel", "op": {"op": "add", "pass": "forward", "dtype": "bf16"},
          "traffic_bytes": 3 << 30, "wall_s": {"median": 1e-3}}
COPY = {"kind": "copy", "what": "copy", "bytes": 1 << 30, "bandwidth_bytes_per_s": 4e12}
STEP = {"step_time_s": 0.2}
PREDICTED = {"step_time_s": 0.19, "peak_memory_bytes": 1 << 30}
PROGRAM = f"""#!/bin/sh
content='{json.dumps(STEP)}'
case "$*" in
  *"bench compute"*) content='{json.dumps(KERNEL)}' ;;
  *"bench copy"*) content='{json.dumps(COPY)}' ;;
  "run "*) content='{json.dumps(PREDICTED)}' ;;
esac
while [ $# -gt 1 ]; do
  [ "$1" = -o ] && echo "$content" >"$2"
  shift
done
exit 0
"""
PROGRAMS = ["build/plait", "build/tests/kernels/cuda/cuda_kernels_gpu_test",
            "build/tests/realrun/cuda/cuda_realrun_gpu_test", "bin/nvidia-smi",
            "bin/compute-sanitizer"]


class GpuRound(unittest.TestCase):
    def setUp(self):
        self.home = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.home)
        for program in PROGRAMS:
            path = self.home / program
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(PROGRAM, encoding="utf-8")
            path.chmod(0o755)
        for folder in ("bench/gpu", "scenarios/gpu-round"):
            shutil.copytree(SOURCE / folder, self.home / folder)
        (self.home / "out").mkdir()

    def round(self, seconds=500):
        path = f"{self.home / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PLAIT": "build/plait"}
        return subprocess.run(["bash", "bench/gpu/round.sh", "out", str(seconds)], cwd=self.home,
                              env=environment, text=True, capture_output=True, check=False)

    def test_what_is_worth_most_comes_first(self):
        done = self.round()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        names = [line.split(": ")[1] for line in done.stdout.splitlines()
                 if line.startswith("done: ")]
        scenarios = sorted(path.stem for path in (SOURCE / "scenarios/gpu-round").glob("*.json"))
        self.assertGreaterEqual(len(scenarios), 6)
        order = ["kernels", "bench-compute", "bench-copy", "bench-overlap", "calibrate",
                 scenarios[0],
                 scenarios[-1], "verify-fsdp-2", "plans", "memcheck-attention", "matrix-fp32-0",
                 "matrix-bf16-15"]
        places = [names.index(name) for name in order]
        self.assertEqual(places, sorted(places))

    def test_several_gpus_are_measured_together(self):
        self.assertNotIn("bench-comm", self.round().stdout)
        several = self.home / "bin/nvidia-smi"
        several.write_text("#!/bin/sh\necho 'GPU 0: x'\necho 'GPU 1: x'\n", encoding="utf-8")
        done = self.round().stdout
        self.assertIn("done: bench-comm", done)
        self.assertIn("done: bench-overlap-nccl", done)

    def test_what_is_done_is_not_done_again(self):
        self.round()
        log = self.home / "out" / "kernels.log"
        log.write_text("kept", encoding="utf-8")
        (self.home / "out" / "plans.done").unlink()
        again = self.round()
        self.assertEqual([line for line in again.stdout.splitlines() if line.startswith("done")],
                         ["done: plans"])
        self.assertEqual(log.read_text(encoding="utf-8"), "kept")

    def test_what_is_left_is_said(self):
        left = self.round(seconds=0)
        self.assertEqual(left.returncode, 0)
        self.assertIn("left for the next call: kernels", left.stdout)
        self.assertFalse(list((self.home / "out").glob("*.done")))

    def test_a_part_that_fails_is_named(self):
        broken = self.home / "build/tests/kernels/cuda/cuda_kernels_gpu_test"
        broken.write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
        failed = self.round()
        self.assertEqual(failed.returncode, 1)
        self.assertIn("FAILED (exit code 7): kernels", failed.stdout)
        self.assertIn("done: calibrate", failed.stdout)

    def test_kernels_stand_beside_the_roof_and_steps_beside_their_predictions(self):
        table = self.round().stdout
        # 3 GiB in 1 ms are 3221 GB/s, 80.5 % of the copy's 4000 GB/s.
        self.assertRegex(table, r"add forward bf16 +3221 +80\.5 %")
        self.assertIn("1 of 1 are below 85 %", table)
        self.assertRegex(table, r"gpt2-124m-unfused +200\.0 +190\.0 +-5\.0 % +190\.0 +-5\.0 %")
        comparison = json.loads((self.home / "out/comparison.json").read_text(encoding="utf-8"))
        self.assertEqual(comparison["copy_bandwidth_bytes_per_s"], 4e12)
        step = next(row for row in comparison["steps"] if row["scenario"] == "gpt2-124m-unfused")
        self.assertAlmostEqual(step["plait_predicted_by_calibration_error"], -0.05)

    def test_the_machine_of_the_gpu_is_predicted(self):
        gpu = self.home / "bin/nvidia-smi"
        gpu.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3'\n", encoding="utf-8")
        self.round()
        self.assertEqual((self.home / "out/cluster").read_text(encoding="utf-8"), "hgx-h100\n")

    def test_what_does_not_fit_is_left_out(self):
        plait = self.home / "build/plait"
        plait.write_text('#!/bin/sh\n[ "$1 $2" = "check scenarios/gpu-round/llama-2-7b-full.json" ] && exit 1\n'
                         + PROGRAM.split("\n", 1)[1], encoding="utf-8")
        done = self.round().stdout
        self.assertIn("left out: llama-2-7b-full, which does not fit", done)
        self.assertNotIn("done: llama-2-7b-full", done)


if __name__ == "__main__":
    unittest.main()
