#!/usr/bin/env python3
"""Measures Cofferdam in a booted machine and prints a table; see tests/bench/run."""

import argparse
import os
import re
import statistics
import sys
import time
import traceback
from pathlib import Path

from people_at_work import Work, install_agent, until_over

from conftest import run
import starts
from table import Table

# A person reads a plan before accepting it; the quickest does it in this many seconds.
READING_SECONDS = 2
MANY_FILES = 100_000


def pid_of(unit):
    return int(run("systemctl", "show", "--property=MainPID", "--value", unit).stdout)


def memory(pid):
    """MiB: resident, and the part that no other process shares."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    kib = {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    return kib["Rss"] / 1024, (kib["Private_Clean"] + kib["Private_Dirty"]) / 1024


def wake_ups(pid):
    """How often it slept so far, by each thread."""
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", status.read_text(encoding="ascii"), re.MULTILINE)[1])
    return total


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle(table, seconds):
    for unit in ("cofferd", "coffer-walls"):
        pid = pid_of(f"{unit}.service")
        time.sleep(5)  # what the last task left to be written is written
        before, spent = wake_ups(pid), processor_seconds(pid)
        time.sleep(seconds)
        woken = wake_ups(pid) - before
        # The watchdog is fed twice in its time, of three minutes for cofferd and of one for coffer-walls.
        table.add(f"idle: wake-ups of {unit} in {seconds} s", [woken], "", target=2 if unit == "cofferd" else 3)
        table.add(f"idle: processor time of {unit} in {seconds} s", [(processor_seconds(pid) - spent) * 1000], "ms")


def weigh(table, when):
    for unit in ("cofferd", "coffer-walls"):
        resident, private = memory(pid_of(f"{unit}.service"))
        table.add(f"memory: {unit}, {when}, resident", [resident], "MiB", target=20)
        table.add(f"memory: {unit}, {when}, its own", [private], "MiB")


def read_and_accept(work, task):
    """Accepts the plan as a person does who reads it; the time just before the call."""
    time.sleep(READING_SECONDS)
    digest = task.text("plan")[1]
    before = time.time()
    work.carol.call(task.path, "Task", "AcceptPlan", "(sa{sv})", (digest, {}))
    return before


def own_time(work, task):
    """Seconds in which an agent or a build command worked for itself."""
    sum_ = 0.0
    for row in task.runs():
        if row["Kind"] not in ("turn", "gate"):
            continue
        first, last = work.clock(task, Id=row["Id"])
        sum_ += last - first
    return sum_


def flow(table, tasks):
    """Tasks by the default flow, one after another."""
    work = Work("bench-flow")
    table.add("project added, with its first checkout", [work.adding], "s")
    starts_, planner, whole, landing, cleaning = [], [], [], [], []
    for _ in range(tasks + 1):
        before = time.time()
        task = work.task()
        task.until("plan-ready")
        planner.append(work.clock(task, Role="planner")[0] - before)
        planned = time.time() - before
        accepted = read_and_accept(work, task)
        task.until("ready")
        done = time.time()
        digest = task.text("diff")[1]
        again = time.time()
        work.carol.call(task.path, "Task", "AcceptWork", "(sa{sv})", (digest, {}))
        task.until("landed", "done")
        landed = time.time()
        until_over(task)
        cleaning.append(time.time() - landed)
        starts_.append((work.clock(task, Role="writer")[0] - accepted) * 1000)
        landing.append(landed - again)
        whole.append(planned + (done - accepted) + (landed - again) - own_time(work, task))
    work.close()
    # The first pays for what is made once.
    starts_, planner, whole, landing, cleaning = (values[1:] for values in (starts_, planner, whole, landing, cleaning))
    table.add("asked to the planner's first instruction", planner, "s")
    table.add("accepted to the writer's first instruction", starts_, "ms", target=250)
    table.add("the default flow, beyond agent and build", whole, "s", target=3)
    table.add("accepted to the commit in the checkout", landing, "s")
    table.add("clean-up after it", cleaning, "s")
    return statistics.median(starts_)


def compare(table, ours, times):
    """The same start by others. A writer that sleeps lends its properties and mounts."""
    work = Work("bench-compare")
    task = work.task("hang")
    task.until("plan-ready")
    read_and_accept(work, task)
    unit = None
    end = time.monotonic() + 60
    while unit is None and time.monotonic() < end:
        shown = run("systemctl", "list-units", "--no-legend", "--plain", "--state=running", f"coffer-{task.id}-*-writer-*.service").stdout
        names = [line.split()[0] for line in shown.splitlines() if re.search(r"-writer-\d+\.service", line)]
        unit = names[0] if names else None
    starts.others(table, starts.properties_of(unit) if unit else [], times, ours)
    work.close()


def fill(repository):
    """Many small files, as one commit, by the quickest way there is."""
    lines = ["commit refs/heads/main", "committer Carol Example <carol@example.org> 1700000000 +0000", "data 4", "many",
             "from refs/heads/main^0"]
    for number in range(MANY_FILES):
        text = f"file {number}\n" + "some words\n" * (number % 40)
        lines += [f"M 100644 inline d{number // 1000:03}/e{number // 50 % 20:02}/f{number:06}.txt", f"data {len(text)}", text]
    repository.run("git", "fast-import", "--quiet", "--force", input="\n".join(lines) + "\n")
    repository.run("git", "reset", "--quiet", "--hard")


def many_files(table, tasks):
    """The second task's workspace against a clone: the first task makes the checkout that all share."""
    work = Work("bench-many", fill)
    table.add(f"project of {MANY_FILES} files added", [work.adding], "s")
    clones = starts.clone_local(work.repository, 3)
    # The quickest counts: later ones wait for the disk to take what the earlier wrote.
    clone = min(clones)
    table.add(f"git clone --local of {MANY_FILES} files", clones, "s")
    planner, writer = [], []
    for _ in range(tasks + 1):
        before = time.time()
        task = work.task()
        task.until("plan-ready")
        planner.append(work.clock(task, Role="planner")[0] - before)
        accepted = read_and_accept(work, task)
        task.until("ready", seconds=300)
        writer.append(work.clock(task, Role="writer")[0] - accepted)
        task.cancel()
        until_over(task)
    work.close()
    planner, writer = planner[1:], writer[1:]
    table.add("its planner's first instruction, from being asked", planner, "s", ratio=statistics.median(planner) / clone)
    # From the decision to the first instruction: the workspace, and everything else around the writer.
    table.add("its writer's first instruction, from being accepted", writer, "s", target=round(0.05 * clone, 4),
              ratio=statistics.median(writer) / clone)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="idle,flow,compare,many", help="parts, separated by commas")
    parser.add_argument("--tasks", type=int, default=7)
    parser.add_argument("--idle-seconds", type=int, default=60)
    given = parser.parse_args()
    parts = given.only.split(",")
    table = Table()
    install_agent()
    ours = None

    def part(name, measure):
        nonlocal ours
        if name not in parts:
            return
        try:
            measured = measure()
            ours = measured if name == "flow" else ours
        except Exception:  # one part that fails must not hide what the others measured
            traceback.print_exc()
            table.not_measured(name, "it failed, see above")

    print(f"load {Path('/proc/loadavg').read_text().split()[0]}, {os.cpu_count()} cores, "
          f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / (1 << 30):.0f} GiB", flush=True)
    weigh(table, "started")
    part("flow", lambda: flow(table, given.tasks))
    part("idle", lambda: idle(table, given.idle_seconds))
    part("compare", lambda: compare(table, ours, given.tasks))
    part("many", lambda: many_files(table, min(given.tasks, 3)))
    weigh(table, "after tasks")
    table.show()
    print(f"load {Path('/proc/loadavg').read_text().split()[0]} at the end; ratio is ours to the other's, or to the quickest clone")
    sys.exit(1 if table.missing else 0)


if __name__ == "__main__":
    main()
