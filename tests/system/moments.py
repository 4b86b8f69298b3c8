"""Ending cofferd at a named moment (daemon/os/halt_point.hpp), and what its store says then.

cofferd stops itself at the moment; who waits here sees it stopped and then ends it in the way that is tried.
"""

import json
import sqlite3
import time
from pathlib import Path

from command import run

HALT = Path("/run/cofferdam/halt-at")


def until(condition, seconds=60):
    """For what sends no signal: asks again and again, with a deadline that fails the test."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"not so after {seconds} s: {condition.__name__}"
        time.sleep(0.02)
    return value


def halt_at(point, name):
    """From now on cofferd stops itself where it comes to that point of that unit or step, once."""
    fresh = HALT.with_suffix(".new")
    fresh.write_text(f"{point} {name}\n")
    fresh.rename(HALT)


def until_halted(cofferd):
    pid = cofferd.pid()

    def halted():
        if HALT.exists():
            assert cofferd.pid() == pid, "cofferd ended by itself"
            return False
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    until(halted)


def end(cofferd, how):
    """`systemctl stop` or `kill -9`."""
    if how == "stop":
        cofferd.stop()
    else:
        cofferd.kill()


def start(cofferd):
    """`systemctl start`, as often as a test wants."""
    run("systemctl", "reset-failed", cofferd.unit, check=False)
    cofferd.start()


class Stored:
    """What cofferd's store holds of one task, read beside it."""

    def __init__(self, task):
        self.task = task

    def _all(self, query, *values):
        connection = sqlite3.connect("file:/var/lib/cofferdam/cofferd.db?mode=ro", uri=True)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()

    def run_of(self, unit):
        """(ended, result) of the unit's run, or None."""
        rows = self._all("SELECT ended, result FROM runs WHERE unit = ?", unit)
        return rows[0] if rows else None

    def events(self, type_):
        return [json.loads(row[0]) for row in
                self._all("SELECT payload FROM events WHERE task = ? AND type = ? ORDER BY sequence", self.task, type_)]

    def facts_of(self, step):
        """Types of the events that name the step as the one that ended."""
        return [type_ for type_, payload in self._all("SELECT type, payload FROM events WHERE task = ?", self.task)
                if json.loads(payload).get("step") == step and not type_.endswith("-opened")]

    def usage_of_runs(self):
        return self._all("SELECT sum(input), sum(cached), sum(output), sum(requests) FROM runs WHERE task = ?", self.task)[0]

    def open_runs(self):
        return [row[0] for row in self._all("SELECT unit FROM runs WHERE task = ? AND ended = 0", self.task)]


def standing(task):
    """What of the task runs, is mounted or has a loop device, which the kernel frees some time after the unmount and tells nobody."""
    left = run("systemctl", "list-units", "--all", "--no-legend", "--plain", f"coffer-{task}-*").stdout.splitlines()
    left += [line for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
             if f"coffer-{task}-" in line or f"/t{task} " in line or f"/t{task}-out " in line]
    left += [file for file in run("losetup", "--noheadings", "--output", "BACK-FILE").stdout.split() if f"/tasks/{task}/" in file]
    return [line for line in left if line]


def until_nothing_stands(task):
    """What a step held is taken away when its end is stored, so after it can be seen."""
    def nothing_stands():
        return standing(task) == []
    until(nothing_stands)
