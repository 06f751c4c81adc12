"""plait search on several ranks, and the files that it keeps while it runs: with a launcher or
without, killed or not, the answer is the same."""

import csv
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import unittest
from pathlib import Path

from live_run import HANGS_S, until
from plait_command import PLAIT, SOURCE, CommandTest, plait

HYBRID = SOURCE / "scenarios" / "llama" / "llama-3.1-8b-16xh100-hybrid.json"
# Long enough to be killed in the middle: every layout that fits is wanted.
LONG = ["search", HYBRID, "--best", "1000", "-j", "1", "--format", "csv"]
MPIRUN = shutil.which("mpirun")
HAS_MPI = (Path(PLAIT).parent / "libplait_mpi.so").exists()
HAS_RANKS = "realrun" in plait("--help").out


def lines_of(path):
    return path.read_text(encoding="utf-8").count("\n") if path.exists() else 0


class Ranks(CommandTest):
    def test_mpi_changes_nothing(self):
        if not HAS_MPI or MPIRUN is None:
            self.skipTest("SKIPPED: this build has no MPI, or there is no mpirun")
        command = [PLAIT, "search", HYBRID, "--format", "json"]
        alone = subprocess.run(command, capture_output=True, timeout=HANGS_S, check=True)
        ranks = subprocess.run(
            [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", "2", *command],
            capture_output=True, timeout=HANGS_S, check=True,
            env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.assertEqual(ranks.stdout, alone.stdout)

    def launched(self, *arguments, ranks=3):
        """Results of ranks that meet over TCP, as torchrun starts them."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        started = [subprocess.Popen([PLAIT, *map(str, arguments)], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True,
                                    env={**os.environ, "RANK": str(r), "WORLD_SIZE": str(ranks),
                                         "MASTER_PORT": str(port)}) for r in range(ranks)]
        return [(*p.communicate(timeout=HANGS_S), p.returncode) for p in started]

    def test_ranks_over_tcp_change_nothing_and_only_the_first_speaks(self):
        arguments = ["search", HYBRID, "-L", "cluster.nodes=1,2", "--best", "40", "--front"]
        alone = plait(*arguments)
        out, *others = self.launched(*arguments)
        self.assertEqual(out[0], alone.out, out[1])
        self.assertEqual(others, [("", "", 0)] * 2)

    def test_a_wrong_scenario_is_told_once(self):
        results = self.launched("search", HYBRID, "--set", "strategy.tp=two")
        self.assertEqual([code for _, _, code in results], [2, 2, 2])
        self.assertIn("error[", results[0][1])
        self.assertEqual([err for _, err, _ in results[1:]], ["", ""])

    def test_ranks_do_not_share_standard_input(self):
        for out, err, code in self.launched("search", "-"):
            self.assertEqual((out, code), ("", 2))
            self.assertIn("name a file", err)


class Resume(CommandTest):
    def setUp(self):
        super().setUp()
        self.journal = self.folder / "search.journal"

    def kill_in_the_middle(self, signal_number, *arguments, at=60):
        run = subprocess.Popen([PLAIT, *map(str, arguments)], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        until(lambda: lines_of(self.journal) > at or run.poll() is not None, "layouts to come")
        run.send_signal(signal_number)
        out, _ = run.communicate(timeout=HANGS_S)
        return run.returncode, out

    def test_a_killed_search_goes_on_and_simulates_nothing_twice(self):
        command = [*LONG, "--resume", self.journal]
        code, _ = self.kill_in_the_middle(signal.SIGKILL, *command)
        self.assertEqual(code, -signal.SIGKILL)
        before = self.journal.read_text(encoding="utf-8").splitlines()
        torn = self.journal.read_bytes() + b"0 99 49700"
        self.journal.write_bytes(torn)
        resumed = plait(*command)
        after = self.journal.read_text(encoding="utf-8").splitlines()
        self.assertEqual(after[:len(before)], before)
        layouts = [line.split()[:2] for line in after[1:]]
        self.assertEqual(len({tuple(l) for l in layouts}), len(layouts))
        self.assertGreater(len(after), len(before))
        whole = plait(*LONG)
        self.assertEqual(resumed.out, whole.out)
        again = plait(*command)
        self.assertEqual(again.out, whole.out)
        self.assertEqual(self.journal.read_text(encoding="utf-8").splitlines(), after)

    def test_a_journal_of_another_search_is_refused(self):
        plait("search", HYBRID, "--resume", self.journal)
        for other in (["--set", "workload.global_batch=64"], ["--keep", "strategy.tp"]):
            wrong = plait("search", HYBRID, *other, "--resume", self.journal)
            self.assertEqual((wrong.code, wrong.out), (2, ""))
            self.assertIn("error[G020]", wrong.err)
            self.assertIn("another search", wrong.err)

    def test_ctrl_c_prints_the_best_so_far(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            self.journal.unlink(missing_ok=True)
            arguments = [*LONG[:-1], "json", "--resume", self.journal]
            code, out = self.kill_in_the_middle(signal_number, *arguments, at=10)
            self.assertEqual(code, 0)
            answer = json.loads(out)
            self.assertTrue(answer["interrupted"])
            self.assertGreater(answer["layouts"]["undecided"], 0)
            self.assertTrue(answer["best"])


    def test_a_front_that_is_cut_off_is_said_to_be(self):
        database = self.folder / "all.db"
        front = ["search", HYBRID, "--best", "1", "--front", "-j", "1", "--resume", self.journal]
        # 5 layouts prove the best; more are of the front.
        code, out = self.kill_in_the_middle(signal.SIGINT, *front, at=40)
        self.assertEqual(code, 0)
        self.assertIn("; none is faster", out)
        self.assertIn("INTERRUPTED: the front lacks layouts", out)
        self.journal.unlink()
        extra = ["--format", "json"]
        if plait("search", HYBRID, "--best", "1", "--sqlite", database).code == 0:
            extra += ["--sqlite", database]
        code, out = self.kill_in_the_middle(signal.SIGINT, *front, *extra, at=40)
        answer = json.loads(out)
        self.assertEqual((answer["interrupted"], answer["front_complete"]), (True, False))
        self.assertEqual(answer["layouts"]["undecided"], 0)
        if database not in extra:
            return print("SKIPPED: sqlite (this build has none)")
        with sqlite3.connect(database) as db:
            found = list(db.execute("SELECT finished FROM searches ORDER BY id"))
        self.assertEqual(found, [(1,), (0,)])


class Streams(CommandTest):
    def simulated(self, *arguments):
        return self.run_ok("search", HYBRID, "--format", "json", *arguments).json()

    def test_every_simulated_layout_is_in_the_table(self):
        table, database = self.folder / "all.csv", self.folder / "all.db"
        extra = ["--csv", table]
        try:
            answer = self.simulated(*extra, "--sqlite", database)
        except AssertionError:
            print("SKIPPED: sqlite (this build has none)")
            answer, database = self.simulated(*extra), None
        counts = answer["layouts"]
        with table.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows),
                         counts["simulated"] + counts["refused"])
        self.assertLessEqual(counts["does_not_fit"],
                             sum(r["outcome"] == "does not fit" for r in rows))
        for row in rows:
            self.assertLessEqual(float(row["bound_s"]), float(row["step_time_s"]))
            self.assertEqual(row["outcome"] == "fits", int(row["room_bytes"]) >= 0)
        best = min((r for r in rows if r["outcome"] == "fits"),
                   key=lambda r: float(r["step_time_s"]))
        first = answer["best"][0]["report"]
        self.assertEqual((float(best["step_time_s"]), int(best["memory_bytes"])),
                         (first["step_time_s"], first["peak_memory_bytes"]))
        if database is None:
            return
        with sqlite3.connect(database) as db:
            same = db.execute("SELECT tp, step_time_s, outcome FROM layouts ORDER BY rowid")
            self.assertEqual(list(same), [(int(r["tp"]), float(r["step_time_s"]), r["outcome"])
                                          for r in rows])
            self.assertEqual(list(db.execute("SELECT finished FROM searches")), [(1,)])

    def test_the_table_does_not_depend_on_threads_or_a_journal(self):
        tables = []
        for extra in (["-j", "1"], ["-j", "3"], ["--resume", self.folder / "journal"],
                      ["--resume", self.folder / "journal"]):
            table = self.folder / f"{len(tables)}.csv"
            self.simulated("--csv", table, *extra)
            tables.append(table.read_bytes())
        self.assertEqual(len(set(tables)), 1)


if __name__ == "__main__":
    unittest.main()
