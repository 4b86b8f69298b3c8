"""cofferd ends at every moment between a run's start and the fact that it is over, and nothing is lost and nothing counts twice."""

import os
import signal
import uuid
from pathlib import Path

import pytest
from conftest import run
from moments import HALT, Stored, end, halt_at, start, until, until_halted, until_nothing_stands
from units import active, invocation, sub_state

PROVIDER = f"kills-{uuid.uuid4().hex[:8]}"
pytestmark = pytest.mark.deadline(200)


def known(unit):
    """Asked over the bus, where this comes after whatever cofferd sent before it ended."""
    return run("busctl", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "GetUnit", "s",
               f"{unit}.service", check=False).returncode == 0


class Trial:
    """One task during which cofferd ends again and again, always in the same way. A moment is (point, lap, word, command)."""

    def __init__(self, cofferd, how, id_):
        self.cofferd = cofferd
        self.how = how
        self.id = id_
        self.stored = Stored(id_)
        self.attempts = {}

    def step(self, lap, word):
        return f"coffer-{self.id}-{lap}-{word}-{self.attempts.get((lap, word), 1)}"

    @staticmethod
    def of_run(lap, word, command="", running=False):
        """Every moment of one run: a role's turn, or a command of the gate. What is stopped comes to its end where it next waits."""
        points = ["start", *["running"] * running, "end", "recorded"]
        return [(point, lap, word, command) for point in points] + [("stored", lap, word, "")]

    def of_step(self, lap, word):
        """The moments of a step without a run. What is stopped when it is done still stores that."""
        return [(point, lap, word, "") for point in (("done", "stored") if self.how == "kill" else ("stored",))]

    def through(self, moments, begin):
        """Ends cofferd at these moments, one after the other, and starts it again each time."""
        self._arm(moments[0])
        begin()
        for (point, lap, word, command), following in zip(moments, [*moments[1:], None]):
            step = self.step(lap, word)
            unit = step + command
            kept = None
            if point == "running":
                until(lambda: active(unit))
                kept = invocation(unit)
            else:
                until_halted(self.cofferd)
                self._look(point, step, unit)
            end(self.cofferd, self.how)
            # A unit that PID 1 was not asked for, or only by somebody who is gone, is told as interrupted and run again.
            if point == "start" and not known(unit):
                self.attempts[(lap, word)] = 2
            if following:
                self._arm(following)
            start(self.cofferd)
            if kept:
                assert invocation(unit) == kept and active(unit), "the agent goes on"

    def _arm(self, moment):
        point, lap, word, command = moment
        if point != "running":
            halt_at(point, self.step(lap, word) + command)

    def _look(self, point, step, unit):
        """It is that moment and no other."""
        if point == "start":
            assert self.stored.run_of(unit)[0] == 0 and sub_state(unit) == "dead"
        if point == "end":
            assert self.stored.run_of(unit)[0] == 0 and sub_state(unit) in ("exited", "failed")
        if point == "recorded":
            assert self.stored.run_of(unit)[0] > 0
        assert bool(self.stored.facts_of(step)) == (point == "stored")


@pytest.fixture
def halting(cofferd):
    """A cofferd that can be stopped at a moment, and that runs again whatever a test leaves half done."""
    assert b"/run/cofferdam/halt-at" in Path("/usr/libexec/cofferdam/cofferd").read_bytes(), "built without -Dhalt-points=true"
    yield
    HALT.unlink(missing_ok=True)
    if pid := cofferd.pid():
        os.kill(pid, signal.SIGCONT)


@pytest.fixture
def undisturbed(cofferd, scripted_model, make_repository, carol):
    """How the task ends when nothing happens to cofferd, and the provider that all of its kind use."""
    kind = "scripted-" + scripted_model.url.split(":")[2].split("/")[0]
    provider = carol.add_provider(PROVIDER, kind, scripted_model.url, scripted_model.key)
    try:
        task = create(carol, make_repository("carol"))
        task.until("plan-ready")
        task.accept_plan()
        task.until("ready")
        task.requests = len(asked(scripted_model))
        yield task
        task.cancel()
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))


def create(carol, repository):
    project = carol.add_project(repository, test=["grep -q '^finished' COFFERDAM.txt"],
                                agents={role: f"codex/held-file@{PROVIDER}" for role in ("planner", "writer", "reviewer")})
    task = carol.create_task(project, "Add a text file COFFERDAM.txt that says that a task was here.")
    task.repository = repository
    return task


def asked(model):
    """What agents asked of the model."""
    return [request for request in model.requests() if "kind" in request]


def counted(usage):
    return {name: number for name, number in usage.items() if name != "wall-us"}


def told(stored):
    """What was told of turns and rounds, without those that PID 1 did not know."""
    turns = [(each["role"], each["turn"], each["outcome"]) for each in stored.events("turn-ended") if each["outcome"] != "interrupted"]
    return turns, [each["tree"] for each in stored.events("imported")], [each["verdict"] for each in stored.events("gate-ended")]


@pytest.mark.deadline(400)
def test_task_ends_the_same_at_whatever_moment_the_daemon_ends(cofferd, undisturbed, halting, scripted_model, make_repository, carol):
    for number, how in enumerate(("stop", "kill")):
        one_task_through_all_moments(Trial(cofferd, how, undisturbed.id + 1 + number), undisturbed, scripted_model, make_repository("carol"), carol)


def one_task_through_all_moments(trial, undisturbed, scripted_model, repository, carol):
    before = len(asked(scripted_model))
    tasks = []

    def begin():
        tasks.append(create(carol, repository))
        assert tasks[0].id == trial.id
    trial.through([*trial.of_step(0, "snapshot"), *trial.of_run(0, "planner")], begin)
    task, = tasks

    until_nothing_stands(task.id)
    assert task.State == "plan-ready"

    trial.through([*trial.of_run(0, "writer", running=True), *trial.of_step(0, "import"), *trial.of_run(0, "gate", command="-c1"),
                   *trial.of_run(1, "reviewer"), *trial.of_step(1, "diff")], task.accept_plan)
    task.until("ready")

    assert told(trial.stored) == told(Stored(undisturbed.id)), "the same turns, trees and verdicts"
    assert task.Round == undisturbed.Round == 1
    assert len(asked(scripted_model)) - before == undisturbed.requests, "no agent asked twice"
    assert counted(task.Usage) == counted(undisturbed.Usage)
    assert trial.stored.usage_of_runs() == Stored(undisturbed.id).usage_of_runs()
    assert trial.stored.open_runs() == []

    commits = []
    trial.through(trial.of_step(1, "land"), lambda: commits.append(task.accept_work()))
    task.until("done")
    until_nothing_stands(task.id)
    git = task.repository.git
    assert task.repository.head() == commits[0]
    assert git("rev-list", "--count", "HEAD") == "2"
    assert git("rev-parse", "HEAD^{tree}") == trial.stored.events("imported")[-1]["tree"]
    assert git("status", "--porcelain") == ""


def test_a_command_of_the_gate_goes_on_while_the_daemon_ends(cofferd, halting, instant_agent, make_repository, carol, hold):
    """Twice in one command; its record is the same command's."""
    project = carol.add_project(make_repository("carol"), test=[f"{hold.command}; echo went through"], agents={"writer": "instant"})
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    for how in ("kill", "stop"):
        trial = Trial(cofferd, how, task.id)
        trial.through([("running", 0, "gate", "-c1")], task.accept_plan if how == "kill" else lambda: None)
    hold.let_go()
    task.until("ready")
    assert [verdict["verdict"] for verdict in trial.stored.events("gate-ended")] == ["green"]
    assert trial.stored.open_runs() == []
    task.cancel()


def test_what_a_gate_was_refused_counts_once(cofferd, halting, instant_agent, make_repository, carol):
    """Three connections and one name in each of two commands; cofferd is killed wherever they could be counted again."""
    tries = "for n in 1 2 3; do bash -c 'exec 3<>/dev/tcp/198.51.100.7/443'; done; getent hosts gate.example; true"
    project = carol.add_project(make_repository("carol"), build=[tries], test=[tries], agents={"writer": "instant"})
    refused = []
    for disturbed in (False, True):
        task = carol.create_task(project, "Say more")
        task.until("plan-ready")
        if disturbed:
            trial = Trial(cofferd, "kill", task.id)
            trial.through([("recorded", 0, "gate", "-c1"), ("end", 0, "gate", "-c2"), ("recorded", 0, "gate", "-c2"), *trial.of_step(0, "gate")],
                          task.accept_plan)
        else:
            task.accept_plan()
        task.until("ready")
        refused.append({(protocol, address or name): count for role, protocol, address, name, _port, _reason, count in task.Refusals
                        if role == "gate"})
        task.cancel()
    assert refused[0] == refused[1]
    assert set(refused[0]) == {("tcp", "198.51.100.7"), ("dns", "gate.example")} and refused[0][("tcp", "198.51.100.7")] == 6
