"""What goes wrong in a real run ends it: soon, with a message that names who and what, with exit
code 3 (the machine's) or 2 (the user's), with no process left and no truncated file."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import unittest
from pathlib import Path

from live_run import HANGS_S, Run, processes, until
from plait_command import PLAIT, CommandTest, plait

USAGE, ENVIRONMENT = 2, 3
RANKS = 4
SCENARIO = """{
  "name": "faults",
  "model": {"layers": 2, "hidden": 32, "heads": 4, "vocab": 64},
  "workload": {"sequence_length": 16, "global_batch": 4, "micro_batch": 1},
  "strategy": {"tp": 4},
  "cluster": {"preset": "hgx-h100", "nodes": 1, "devices_per_node": 4}
}"""
# Hours, if nobody ends it.
LONG = ["--repeats", "1000000"]

MPIRUN = shutil.which("mpirun")
BESIDE = Path(PLAIT).resolve().parent
HAS_MPI = any((folder / "libplait_mpi.so").exists()
              for folder in (BESIDE, BESIDE.parent, BESIDE.parent / "lib" / "plait"))


class FaultTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.scenario = self.file("faults.json", SCENARIO)
        self.results = self.folder / "results"
        self.results.mkdir()

    def start(self, *arguments, **options):
        run = Run(self.scenario, *arguments, **options)
        self.addCleanup(run.kill_all)
        self.addCleanup(lambda: (run.process.stdout.close(), run.process.stderr.close()))
        return run

    def outputs(self):
        return ["-o", self.results / "report.json", "--trace", self.results / "trace.json"]

    def expect_end(self, run, code=ENVIRONMENT, printed=False):
        """stderr of a run that ends with this code, with nothing written or left, and nothing printed."""
        got, out, err = run.end()
        self.assertEqual((got, out != ""), (code, printed), err)
        until(lambda: not run.left(), "processes to end")
        self.assertEqual(list(self.results.iterdir()), [])
        return err

    def need_mpi(self):
        if not HAS_MPI or MPIRUN is None:
            self.skipTest("this build has no MPI, or there is no mpirun")

    def transports(self, *names):
        for name in names:
            if name == "mpi" and (not HAS_MPI or MPIRUN is None):
                print("SKIPPED: mpi (this build has no MPI, or there is no mpirun)")
                continue
            yield name


class Killed(FaultTest):
    def test_a_killed_rank_is_named(self):
        run = self.start("--transport", "tcp", *LONG, *self.outputs())
        os.kill(run.wait_for_ranks(RANKS)[2], signal.SIGKILL)
        err = self.expect_end(run)
        self.assertTrue(err.startswith("error: rank 2 was killed by signal 9 (Killed)\n"), err)
        self.assertRegex(err, r"rank \d lost rank 2")

    def test_a_killed_rank_under_mpi(self):
        self.need_mpi()
        run = self.start("--transport", "mpi", *LONG, *self.outputs())
        os.kill(run.wait_for_ranks(RANKS)[2], signal.SIGKILL)
        err = self.expect_end(run)
        self.assertIn("killed by signal 9", err)
        self.assertIn("rank 2", err)

    def test_a_stopped_rank_is_waited_for_patiently_and_then_named(self):
        # Steps so long that hardly ever all ranks are between two of them.
        run = self.start("--transport", "tcp", "--patience", "2", *LONG, *self.outputs(),
                         "--kernels", "timed", "--set", "cluster.device.launch_overhead=2 ms")
        os.kill(run.wait_for_ranks(RANKS)[2], signal.SIGSTOP)
        err = self.expect_end(run)
        self.assertRegex(err, r"rank [013] (waited in vain at \w+ of .*: nothing came from|"
                              r"lost rank \d: the connection is closed, at .*: nothing came from|"
                              r"heard nothing from) .*rank 2")
        self.assertIn("for 2 s; --patience gives it longer", err)
        self.assertIn("rank 2 was stopped by signal 19", err)

    def test_ranks_die_with_the_process_that_started_them(self):
        for transport in self.transports("tcp", "mpi"):
            with self.subTest(transport=transport):
                run = self.start("--transport", transport, *LONG, *self.outputs())
                run.wait_for_ranks(RANKS)
                run.process.kill()
                self.expect_end(run, -signal.SIGKILL)

    def test_control_c_ends_all(self):
        for transport in self.transports("threads", "tcp", "mpi"):
            with self.subTest(transport=transport):
                run = self.start("--transport", transport, *LONG, *self.outputs())
                if transport == "threads":
                    until(lambda: processes()[run.process.pid][3] > RANKS, "threads")
                else:
                    run.wait_for_ranks(RANKS)
                os.killpg(run.process.pid, signal.SIGINT)
                self.expect_end(run, -signal.SIGINT)


class Disk(FaultTest):
    def test_a_full_disk(self):
        for transport in self.transports("threads", "tcp", "mpi"):
            for option in ("-o", "--trace"):
                with self.subTest(transport=transport, option=option):
                    err = self.expect_end(self.start("--transport", transport, "--repeats", "1",
                                                     option, "/dev/full"),
                                          printed=option == "--trace")  # the report comes first
                    self.assertIn("cannot write /dev/full: No space left on device", err)

    def test_a_full_disk_leaves_what_was_there(self):
        mine = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
        disk = self.folder / "disk"
        disk.mkdir()
        # A file system of one page, which the old report takes.
        mount = f"mount -t tmpfs -o size=4k none {disk} && printf old > {disk}/report.json"
        permitted = shutil.which("unshare") and subprocess.run(
            [*mine, mount], capture_output=True, check=False).returncode == 0
        if not permitted:
            self.skipTest("file systems cannot be mounted here")
        for transport in self.transports("threads", "tcp", "mpi"):
            call = (f"{PLAIT} realrun {self.scenario} --transport {transport} --repeats 1 "
                    f"-o {disk}/report.json; echo code $?; ls {disk}; cat {disk}/report.json")
            done = subprocess.run([*mine, f"{mount} && {call}"], capture_output=True, text=True,
                                  encoding="utf-8", timeout=HANGS_S, check=False)
            with self.subTest(transport=transport):
                self.assertEqual(done.stdout, f"code {ENVIRONMENT}\nreport.json\nold",
                                 done.stderr)
                self.assertIn("No space left on device", done.stderr)


    def test_a_folder_that_is_not_there_is_said_before_ranks_start(self):
        for option in ("-o", "--trace", "--html"):
            with self.subTest(option=option):
                result = plait("realrun", self.scenario, "--repeats", "100000", option,
                               self.folder / "none" / "x.json")
                self.assertEqual(result.code, ENVIRONMENT)
                self.assertIn("there is no folder", result.err)

    def test_an_environment_that_contradicts_itself_is_2(self):
        for rank, ranks, port in (("x", "2", "29500"), ("2", "2", "29500"), ("0", "2", "x")):
            env = {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_PORT": port}
            with self.subTest(env=env):
                result = plait("realrun", self.scenario, "--transport", "tcp", env=env)
                self.assertEqual(result.code, 2)
                self.assertIn("G013", result.err)


class Missing(FaultTest):
    def test_no_mpirun(self):
        self.need_mpi()
        err = self.expect_end(self.start("--transport", "mpi", env={"PATH": "/nonexistent"}))
        self.assertIn("mpirun was not found: install it (Debian: openmpi-bin), or use "
                      "--transport tcp", err)

    def test_an_mpirun_that_outlives_its_ranks(self):
        self.need_mpi()
        (self.folder / "bin").mkdir()
        lingers = self.file("bin/mpirun", f"""#!{sys.executable}
import signal, subprocess
for rank in [subprocess.Popen(["/bin/sleep", "0.5"]) for _ in range({RANKS})]: rank.wait()
signal.pause()
""")
        lingers.chmod(0o755)
        err = self.expect_end(self.start("--transport", "mpi", env={"PATH": lingers.parent}))
        self.assertIn("mpirun went on for 5 s after its ranks had ended, and was killed", err)

    def test_a_build_without_mpi(self):
        alone = self.folder / "bin" / "plait"
        alone.parent.mkdir()
        shutil.copy(PLAIT, alone)
        err = self.expect_end(self.start("--transport", "mpi", program=[alone]))
        self.assertIn("this build has no MPI: install an MPI (Debian: libopenmpi-dev)", err)


@contextlib.contextmanager
def port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def free_port():
    with port_in_use() as port:
        return port


def torchrun(rank, ranks, port):
    return {"RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port)}


class Launchers(FaultTest):
    def mpirun(self, ranks, *arguments):
        self.need_mpi()
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return self.start(*arguments, env=root,
                          program=[MPIRUN, "--oversubscribe", "-n", str(ranks), PLAIT])

    def test_mpirun_with_another_number_of_ranks_is_told_once(self):
        for ranks in (RANKS - 1, RANKS + 1):
            with self.subTest(ranks=ranks):
                err = self.expect_end(self.mpirun(ranks, "--transport", "mpi"), USAGE)
                self.assertEqual(err.count("error[G013]"), 1, err)
                self.assertIn(f"mpirun started {ranks} ranks, but the plan has {RANKS}", err)

    def test_threads_are_ranks_of_one_process(self):
        err = self.expect_end(self.mpirun(RANKS, "--transport", "threads"), USAGE)
        self.assertEqual(err.count("error[G013]"), 1, err)
        self.assertIn("add --transport mpi or --transport tcp", err)

    def test_torchrun_with_another_number_of_ranks_is_told_once(self):
        runs = [self.start("--transport", "tcp", env=torchrun(r, 3, free_port()))
                for r in range(3)]
        self.assertIn("torchrun started 3 ranks, but the plan has 4",
                      self.expect_end(runs[0], USAGE))
        for run in runs[1:]:
            self.assertEqual(self.expect_end(run, 0), "")

    def test_started_ranks_verify_and_rank_0_speaks(self):
        code, out, err = self.mpirun(RANKS, "--verify", "--transport", "mpi").end()
        # The MPI library may have words of its own, about a machine without /sys, say.
        ours = [line for line in err.splitlines() if not line.startswith("[hwloc/")]
        self.assertEqual((code, out.count("SAME"), ours), (0, 1, []))
        port = free_port()
        runs = [self.start("--verify", "--transport", "tcp", env=torchrun(r, RANKS, port))
                for r in range(RANKS)]
        for rank, run in enumerate(runs):
            code, out, err = run.end()
            self.assertEqual((code, out.count("SAME"), err), (0, 1 if rank == 0 else 0, ""))

    def test_a_port_in_use(self):
        with port_in_use() as port:
            err = self.expect_end(self.start("--transport", "tcp",
                                             env=torchrun(0, RANKS, port)))
        self.assertIn(f"cannot listen at 127.0.0.1:{port}: Address already in use", err)
        self.assertIn("choose a free port (MASTER_PORT", err)

    def test_ranks_that_never_come(self):
        pair = ["--set", "strategy.tp=2", "--set", "cluster.devices_per_node=2", "--transport",
                "tcp", "--patience", "0.5"]
        err = self.expect_end(self.start(*pair, env=torchrun(0, 2, free_port())))
        self.assertIn("waited in vain for the other ranks: 1 of 2 have come", err)
        port = free_port()
        err = self.expect_end(self.start(*pair, env=torchrun(1, 2, port)))
        self.assertIn("cannot reach rank 0 (MASTER_ADDR and MASTER_PORT) at "
                      f"127.0.0.1:{port}: Connection refused", err)


def setUpModule():
    if "no real runs" in plait("realrun", "-", "--verify", stdin=SCENARIO).err:
        raise unittest.SkipTest("this build has no real runs")


if __name__ == "__main__":
    unittest.main()
