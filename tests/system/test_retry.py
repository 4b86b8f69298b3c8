"""A task that stands still, failed or was cancelled is taken up again, and goes on from what was kept of it."""

import contextlib
import sqlite3

import pytest
from gi.repository import GLib
from moments import until
from people import CallError, request, variants
from test_tasks import left_behind, until_done

pytestmark = pytest.mark.deadline(400)


def retry(task, **options):
    task.person.call(task.path, "Task", "Retry", "(a{sv})", (request() | variants(options),))


def to_ready(carol, project, prompt="Say more"):
    task = carol.create_task(project, prompt)
    task.until("plan-ready")
    task.accept_plan()
    task.until("ready", seconds=120)
    return task


def cancel(task, bus):
    task.cancel()
    bus.until(lambda: "delete" in task.Actions and left_behind(task) == [], seconds=60, sender="org.freedesktop.systemd1")


def test_parked_turn_is_run_again(carol, project, as_user):
    task = carol.create_task(project, "crash")
    task.until("plan-ready")
    task.accept_plan()
    assert task.until("parked", seconds=120) == "blocked"
    assert task.Waiting[0] == "turn-failed" and "retry" in task.Actions
    before = len(task.runs())
    assert "goes on" in as_user("carol", "coffer", "retry", str(task.id)).stdout
    sequence = 0
    while len(task.runs()) == before or task.Parked != "blocked":
        sequence, _, _ = carol.call(task.path, "Task", "Wait", "(tt)", (sequence, 60_000_000), timeout=70)
    assert [run_["Attempt"] for run_ in task.runs() if run_["Role"] == "writer"] == [1, 2]
    retry(task, **{"from": "plan"})
    task.until("plan-ready")
    assert "accept-plan" in task.Actions and task.Candidate == ""


def test_cancelled_work_comes_back_and_its_writer_goes_on_from_the_commits(carol, project, repository, bus):
    task = to_ready(carol, project)
    candidate = task.Candidate
    cancel(task, bus)
    assert set(task.Actions) == {"retry", "delete"}
    retry(task)
    task.until("ready", seconds=120)
    assert task.Candidate == candidate, "what was verified and reviewed is shown again as it was"
    writers = {run_["Conversation"] for run_ in task.runs() if run_["Role"] == "writer"}
    task.reply("And once more")
    task.until("ready", seconds=120)
    assert len({run_["Conversation"] for run_ in task.runs() if run_["Role"] == "writer"} - writers) == 1, "nobody remembers"
    commit = task.accept_work()
    until_done(task)
    assert repository.head() == commit
    lines = repository.git("show", "HEAD:instant.txt").splitlines()
    assert lines == ["turn write in round 0", "turn reply in round 0"], "the writer went on from the commits that were kept"
    assert repository.git("rev-list", "--count", "HEAD") == "2"


def test_cancelled_task_is_written_anew_from_its_plan(carol, project, repository, bus):
    task = to_ready(carol, project)
    cancel(task, bus)
    retry(task, **{"from": "write"})
    task.until("ready", seconds=120)
    commit = task.accept_work()
    until_done(task)
    assert repository.head() == commit
    assert repository.git("show", "HEAD:instant.txt") == "turn write in round 0"


def test_ready_work_is_verified_again_without_a_round(carol, project):
    task = to_ready(carol, project)
    gates = [run_["Id"] for run_ in task.runs() if run_["Kind"] == "gate"]
    digest = task.WorkDigest
    retry(task, **{"from": "gate"})
    task.until("ready", seconds=120)
    assert len([run_ for run_ in task.runs() if run_["Kind"] == "gate"]) == 2 * len(gates)
    assert task.WorkDigest != digest and task.Round == 0
    with pytest.raises(CallError) as refused:
        carol.call(task.path, "Task", "AcceptWork", "(sa{sv})", (digest, {}))
    assert refused.value.name == "Stale"


def test_a_gate_command_that_was_wrong_is_set_right_and_verified_again(carol, project, as_user):
    carol.call(project, "Project", "Set", "(a{sv})", (variants({"test": ["false"]}),))
    task = carol.create_task(project, "Say more", rounds=GLib.Variant("u", 0))
    task.until("plan-ready")
    task.accept_plan()
    assert task.until("parked", seconds=120) == "blocked" and task.Waiting[0] == "rounds-exhausted"
    name = carol.properties(project, "Project")["Name"]
    assert "is changed" in as_user("carol", "coffer", "project", "set", name, "--test", "make test").stdout
    retry(task)
    task.until("ready", seconds=120)


def test_a_wait_whose_end_cannot_be_stored_ends_when_it_can(carol, project, journal):
    """Another program holds the store when the wait for a provider is over."""
    task = carol.create_task(project, "Say more, error-529")
    task.until("plan-ready")
    task.accept_plan()
    assert task.until("parked", seconds=120)
    with contextlib.closing(sqlite3.connect("/var/lib/cofferdam/cofferd.db", isolation_level=None)) as store:
        store.execute("BEGIN IMMEDIATE")
        journal.wait("cannot go on now and is tried again", COFFER_TASK=task.id, seconds=120)
        store.execute("ROLLBACK")
    until(lambda: [row["Attempt"] for row in task.runs() if row["Role"] == "writer"][-1] > 1)
    task.cancel()


def test_a_gate_whose_commands_were_taken_away_is_not_green(carol, project):
    task = carol.create_task(project, "Say more", policy={"landing": "branch"})
    task.until("plan-ready")
    carol.call(project, "Project", "Set", "(a{sv})", (variants({"build": [], "test": []}),))
    task.accept_plan()
    assert task.until("parked", "done", seconds=120) == "blocked"
    assert task.Waiting[0] == "NoCommand" and "coffer project set" in task.Waiting[1]
    carol.call(project, "Project", "Set", "(a{sv})", (variants({"test": ["make test"]}),))
    retry(task)
    task.until("done", seconds=120)


def test_what_cannot_be_retried_says_why(carol, project, bus):
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    for point, name in (("gate", "WrongState"), ("nowhere", "InvalidArgument"), ("land", "InvalidArgument")):
        with pytest.raises(CallError) as refused:
            retry(task, **{"from": point})
        assert refused.value.name == name
    cancel(task, bus)
    carol.call(project, "Project", "Remove", "(a{sv})", ({},))
    with pytest.raises(CallError) as refused:
        retry(task)
    assert refused.value.name == "BaseGone"
