"""A real run that tests watch and disturb while it runs, and the processes that belong to it."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from plait_command import PLAIT

# Nothing may take longer, however loaded the machine is. A run that waits for its watchdog instead
# of noticing would take `--patience`, 60 s.
HANGS_S = 40


def until(condition, what):
    """The first true value of the condition."""
    end = time.monotonic() + HANGS_S
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.02)
    return value


def processes():
    """pid -> (parent, name, state, threads, when it began) of all processes."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, _, rest = stat.read_text(encoding="utf-8").partition(" (")
            name, _, rest = rest.rpartition(") ")
            fields = rest.split()
            found[int(pid)] = (int(fields[1]), name, fields[0], int(fields[17]), fields[19])
    return found


def family(pid):
    """The descendants of a process: pid -> (name, threads, when it began)."""
    everybody, found, parents = processes(), {}, {pid}
    while parents:
        children = {p: e for p, e in everybody.items() if e[0] in parents and p not in found}
        found.update({p: (e[1], e[3], e[4]) for p, e in children.items()})
        parents = set(children)
    return found


class Run:
    """plait realrun in a process group of its own."""

    def __init__(self, *arguments, env=None, program=(PLAIT,)):
        self.process = subprocess.Popen(
            [*program, "realrun", *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
            env={**os.environ, **(env or {})}, start_new_session=True)
        self.family = {}

    def wait_for_ranks(self, ranks):
        """rank -> pid, when all of them run steps (each has its communication thread)."""
        def all_there():
            self.family = family(self.process.pid)
            there = {int(name.split()[-1]): pid for pid, (name, threads, _) in self.family.items()
                     if name.startswith("plait rank") and threads > 1}
            if self.process.poll() is not None:
                raise AssertionError(self.process.stderr.read())
            return len(there) == ranks and there
        pids = until(all_there, "the ranks to start")
        time.sleep(0.2)
        self.family = family(self.process.pid)
        return pids

    def end(self):
        """Exit code, stdout and stderr; a hang is an error."""
        try:
            out, err = self.process.communicate(timeout=HANGS_S)
        except subprocess.TimeoutExpired:
            self.kill_all()
            raise AssertionError("it hangs") from None
        return self.process.returncode, out, err

    def left(self):
        """What still runs of those that it had started."""
        now = processes()
        return [pid for pid, (_, _, began) in self.family.items()
                if pid in now and now[pid][4] == began and now[pid][2] != "Z"]

    def kill_all(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
