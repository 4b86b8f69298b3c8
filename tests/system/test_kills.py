"""cofferd ends at every moment between a run's start and the fact that it is over, and nothing is lost and nothing counts twice."""

import pytest
from conftest import run
from moments import Stored, end_and_start, halt_at, standing, until, until_halted
from people import Person

pytestmark = pytest.mark.deadline(200)


@pytest.fixture
def carol():
    person = Person("carol")
    yield person
    person.close()


def sub_state(unit):
    return run("systemctl", "show", "--property=SubState", "--value", f"{unit}.service").stdout.strip()


def active(unit):
    return run("systemctl", "is-active", f"{unit}.service", check=False).stdout.strip() == "active"


def invocation(unit):
    return run("systemctl", "show", "--property=InvocationID", "--value", f"{unit}.service").stdout.strip()


class Trial:
    """One task during which cofferd ends again and again, always in the same way."""

    def __init__(self, cofferd, how, id_):
        self.cofferd = cofferd
        self.how = how
        self.id = id_
        self.stored = Stored(id_)

    def step(self, lap, word, attempt=1):
        return f"coffer-{self.id}-{lap}-{word}-{attempt}"

    def run_moments(self, lap, word, part="", running=False):
        """Every moment of one run: a role's turn, or a command of the gate (part)."""
        first = self.step(lap, word)
        # What was killed before its start job is not known to PID 1: it is told and run again. What was stopped had asked for it.
        step = self.step(lap, word, 2) if self.how == "kill" else first
        moments = [("start", first + part)] + [("running", step + part)] * running
        return moments + [("end", step + part), ("recorded", step + part), ("stored", step)]

    def through(self, moments, begin):
        """Ends cofferd at these moments, one after the other, and starts it again each time."""
        self._arm(moments[0])
        begin()
        for (point, name), following in zip(moments, [*moments[1:], None]):
            kept = None
            if point == "running":
                until(lambda: active(name))
                kept = invocation(name)
            else:
                until_halted(self.cofferd)
                self._look(point, name)
            if following:
                self._arm(following)
            end_and_start(self.cofferd, self.how)
            if kept:
                assert invocation(name) == kept and active(name), "the agent goes on"

    def _arm(self, moment):
        if moment[0] != "running":
            halt_at(*moment)

    def _look(self, point, name):
        """It is that moment and no other."""
        step = name.rsplit("-c", 1)[0] if "-gate-" in name else name
        if point == "start":
            assert self.stored.run_of(name)[0] == 0 and sub_state(name) == "dead"
        if point == "end":
            assert self.stored.run_of(name)[0] == 0 and sub_state(name) in ("exited", "failed")
        if point == "recorded":
            assert self.stored.run_of(name)[0] > 0
        assert bool(self.stored.facts_of(step)) == (point == "stored")


@pytest.fixture
def undisturbed(cofferd, scripted_model, make_repository, carol):
    """How the task ends when nothing happens to cofferd, and the provider that all of its kind use."""
    kind = "scripted-" + scripted_model.url.split(":")[2].split("/")[0]
    provider = carol.add_provider("scripted", kind, scripted_model.url, scripted_model.key)
    try:
        task = create(carol, make_repository("carol"))
        task.until("plan-ready")
        task.accept_plan()
        task.until("ready")
        task.requests = len(scripted_model.requests())
        yield task
        task.cancel()
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))


def create(carol, repository):
    project = carol.add_project(repository, test=["grep -q '^finished' COFFERDAM.txt"],
                                agents={role: "codex/held-file" for role in ("planner", "writer", "reviewer")})
    task = carol.create_task(project, "Add a text file COFFERDAM.txt that says that a task was here.")
    task.repository = repository
    return task


def told(stored):
    """What was told of turns and rounds, without those that PID 1 did not know."""
    turns = [(each["role"], each["turn"], each["outcome"]) for each in stored.events("turn-ended") if each["outcome"] != "interrupted"]
    return turns, [each["tree"] for each in stored.events("imported")], [each["verdict"] for each in stored.events("gate-ended")]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_task_ends_the_same_at_whatever_moment_the_daemon_ends(cofferd, undisturbed, scripted_model, make_repository, carol, how):
    before = len(scripted_model.requests())
    trial = Trial(cofferd, how, undisturbed.id + 1)
    tasks = []

    def begin():
        tasks.append(create(carol, make_repository("carol")))
        assert tasks[0].id == trial.id
    trial.through([("done", trial.step(0, "snapshot")), ("stored", trial.step(0, "snapshot")), *trial.run_moments(0, "planner")], begin)
    task, = tasks

    def nothing_stands():
        return standing(task.id) == []
    until(nothing_stands)
    assert task.State == "plan-ready"

    trial.through([*trial.run_moments(0, "writer", running=True),
                   ("done", trial.step(0, "import")),
                   *trial.run_moments(0, "gate", part="-c1"),
                   *trial.run_moments(1, "reviewer"),
                   ("done", trial.step(1, "diff"))], task.accept_plan)
    task.until("ready")

    assert told(trial.stored) == told(Stored(undisturbed.id)), "the same turns, trees and verdicts"
    assert task.Round == undisturbed.Round == 1
    assert len(scripted_model.requests()) - before == undisturbed.requests, "no agent asked twice"
    assert {key: value for key, value in task.Usage.items() if key != "wall"} == \
        {key: value for key, value in undisturbed.Usage.items() if key != "wall"}
    assert trial.stored.usage_of_runs() == Stored(undisturbed.id).usage_of_runs()
    assert trial.stored.open_runs() == []

    commits = []
    trial.through([("done", trial.step(1, "land")), ("stored", trial.step(1, "land"))], lambda: commits.append(task.accept_work()))
    task.until("done")
    until(nothing_stands)
    assert task.repository.head() == commits[0]
    assert task.repository.git("rev-list", "--count", "HEAD") == "2"
    assert task.repository.git("rev-parse", "HEAD^{tree}") == trial.stored.events("imported")[-1]["tree"]
    assert task.repository.git("status", "--porcelain") == ""


def test_what_a_gate_was_refused_counts_once(cofferd, instant_agent, make_repository, carol):
    """Three connections and one name in each of two commands; cofferd is killed wherever they could be counted again."""
    tries = "for n in 1 2 3; do bash -c 'exec 3<>/dev/tcp/198.51.100.7/443'; done; getent hosts gate.example; true"
    project = carol.add_project(make_repository("carol"), build=[tries], test=[tries], agents={"writer": "instant"})
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    trial = Trial(cofferd, "kill", task.id)
    gate = trial.step(0, "gate")
    trial.through([("recorded", f"{gate}-c1"), ("end", f"{gate}-c2"), ("recorded", f"{gate}-c2"), ("done", gate), ("stored", gate)],
                  task.accept_plan)
    task.until("ready")
    refused = {(protocol, address or name): count for role, protocol, address, name, _port, _reason, count in task.Refusals if role == "gate"}
    task.cancel()
    assert refused == {("tcp", "198.51.100.7"): 6, ("dns", "gate.example"): refused[("dns", "gate.example")]}
    assert refused[("dns", "gate.example")] % 2 == 0 and refused[("dns", "gate.example")] <= 4, "asked for IPv4 and IPv6, in two commands"
