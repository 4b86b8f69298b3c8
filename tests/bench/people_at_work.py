"""One person's tasks with the instant agent, and when each thing of them happened."""

import re
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))

from conftest import TESTS, Repository, reload_cofferd, run  # noqa: E402
from people import NAME, Person, Task, variants  # noqa: E402

AGENT = "clocked"
AGENTS = {"planner": AGENT, "writer": AGENT, "reviewer": AGENT}
CLOCK = re.compile(r"first (\d+\.\d+) last (\d+\.\d+)")


def install_agent():
    run("install", "-D", "-m", "0755", TESTS / "agents" / "instant.sh", "/opt/agents/bin/cofferdam-instant")
    run("install", "-D", "-m", "0755", TESTS / "bench" / "agent.sh", "/opt/agents/bin/cofferdam-clocked")
    text = (TESTS / "agents" / "instant.toml").read_text(encoding="utf-8")
    text = text.replace("/opt/agents/bin/cofferdam-instant", "/opt/agents/bin/cofferdam-clocked").replace("Instant", "Clocked")
    description = Path(f"/etc/cofferdam/agents/{AGENT}.toml")
    description.parent.mkdir(parents=True, exist_ok=True)
    description.write_text(text, encoding="utf-8")
    reload_cofferd()


class Work:
    """A repository of carol's and the tasks on it."""

    # The commands tell their own time, as the agent does: what is left is ours.
    build = "bash -c 'f=$EPOCHREALTIME; make -s; r=$?; echo first $f last $EPOCHREALTIME; exit $r'"

    def __init__(self, name, fill=None):
        self.carol = Person("carol")
        directory = Path("/home/carol") / name
        shutil.rmtree(directory, ignore_errors=True)
        run("install", "-d", "-o", "carol", "-g", "carol", directory)
        self.repository = Repository("carol", directory)
        self.repository.git("init", "--quiet", "--initial-branch=main")
        self.repository.git("config", "user.name", "Carol Example")
        self.repository.git("config", "user.email", "carol@example.org")
        for file, text in self.repository.files.items():
            self.repository.write(file, text)
        self.repository.git("add", "--all")
        self.repository.git("commit", "--quiet", "--message", "Greet the world")
        if fill:
            fill(self.repository)
        began = time.time()
        self.project = self.carol.add_project(self.repository, build=[self.build], agents=AGENTS)
        self.adding = time.time() - began

    def task(self, request="Say more"):
        return self.carol.create_task(self.project, request)

    def clock(self, task, **of):
        """First and last instruction of the task's newest run whose columns are these."""
        for row in reversed(task.runs()):
            if all(row[key] == value for key, value in of.items()):
                what = "gate" if row["Kind"] == "gate" else "transcript"
                text = self.carol.call(task.path, "Task", "ReadText", "(stua{sv})", (what, 0, 65536, variants({"run": row["Id"]})))[0]
                first, last = CLOCK.findall(text)[-1]
                return float(first), float(last)
        raise LookupError(f"task {task.id} has no run with {of}")

    def close(self):
        for row in self.carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 1000))[0]:
            if row["State"] not in ("done", "failed", "cancelled"):
                path = f"/org/cofferdam/Cofferdam1/task/{row['Id']}"
                self.carol.call(path, "Task", "Cancel", "(a{sv})", ({},))
                until_over(Task(self.carol, path))
        self.carol.call(self.project, "Project", "Remove", "(a{sv})", ({},))
        self.carol.close()
        shutil.rmtree(self.repository.directory, ignore_errors=True)


def until_over(task, seconds=60):
    sequence, state = 0, ""
    end = time.monotonic() + seconds
    while state not in ("done", "failed", "cancelled"):
        if time.monotonic() > end:
            raise TimeoutError(f"task {task.id} is still {state} after {seconds} s")
        sequence, state, _ = task.person.call(task.path, "Task", "Wait", "(tt)", (sequence, seconds * 1_000_000), timeout=seconds + 10)


__all__ = ["AGENT", "NAME", "Work", "install_agent", "until_over"]
