"""One task from its request to a commit in its owner's repository, in every flow, with the agent that needs no model."""

import contextlib
import os
import sqlite3
from pathlib import Path

import pytest
from conftest import run
from people import CallError
from units import active

pytestmark = pytest.mark.deadline(400)
AGENTS = {"planner": "instant", "writer": "instant", "reviewer": "instant"}


def left_behind(task):
    """Everything of the task that is still in the machine, its history aside."""
    left = run("systemctl", "list-units", "--all", "--no-legend", "--plain", f"coffer-{task.id}-*", f"coffer-u*-{task.id}*").stdout.split("\n")
    left += [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"/t{task.id}" in line or f"coffer-{task.id}-" in line]
    for folder in ("ws", "img", "src", "netns", "in"):
        where = Path("/run/cofferdam") / folder
        left += [str(path) for path in where.glob(f"*coffer-{task.id}-*")] + [str(path) for path in where.glob(f"t{task.id}*")]
    left += [str(path) for path in Path("/var/lib/cofferdam/work").glob(f"coffer-{task.id}-*")]
    left += [str(path) for path in Path(f"/var/lib/cofferdam/tasks/{task.id}").glob("*image")]
    # A user is announced to the machine no longer than it is somebody's.
    with contextlib.closing(sqlite3.connect("file:/var/lib/cofferdam/cofferd.db?mode=ro", uri=True)) as store:
        held = {uid for (uid,) in store.execute("SELECT uid FROM uids WHERE task != ?", (int(task.id),))}
    left += [str(path) for path in Path("/run/userdb").glob("20*.user") if int(path.stem) not in held]
    return [line for line in left if line]


def turns(task):
    return [(run_["Role"], run_["Conversation"], run_["Round"]) for run_ in task.runs() if run_["Kind"] == "turn"]


def until_done(task):
    task.until("done")
    assert left_behind(task) == []


def test_a_projects_base_is_the_commit_that_was_taken_last(carol, project, repository):
    assert carol.properties(project, "Project")["Base"] == repository.head()
    repository.commit("More", **{"more.txt": "more\n"})
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    assert carol.properties(project, "Project")["Base"] == repository.head() == task.Base
    task.cancel()


def test_of_a_long_log_of_the_gate_the_end_is_shown(carol, cofferd, instant_agent, make_repository):
    lots = "head -c 2500000 /dev/zero | tr '\\0' x | fold -w 99"
    path = carol.add_project(make_repository("carol", name="talkative"), test=[f"{lots}; echo said {n}" for n in range(5)], agents=AGENTS)
    try:
        task = carol.create_task(path, "Say more")
        task.until("plan-ready")
        task.accept_plan()
        task.until("ready", seconds=180)
        log, _ = task.text("gate")
        assert 8_000_000 < len(log) <= 8 * 1024 * 1024
        assert "bytes before this are left out]\n" in log.splitlines(keepends=True)[0]
        assert log.endswith("said 4\n[ok]\n") and "said 1\n[ok]" in log
    finally:
        carol.end_project(path)


def test_default_flow_with_a_red_gate_and_a_blocking_review(carol, project, repository):
    before = repository.head()
    task = carol.create_task(project, "Say more, fail-build, block-once")
    task.until("plan-ready")
    plan, digest = task.text("plan")
    assert "## Acceptance criteria" in plan and task.PlanDigest == digest
    task.accept_plan()
    task.until("ready", seconds=180)
    assert task.Round == 2, "one fix round for the gate and one for the review"
    assert [finding["Severity"] for finding in task.findings()][:1] == ["error"]
    diff, _ = task.text("diff")
    assert diff.startswith("diff --git ")
    commit = task.accept_work()
    until_done(task)
    assert repository.head() == commit
    assert repository.git("rev-parse", "HEAD^") == before
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("log", "-1", "--format=%an <%ae>") == "Carol Example <carol@example.org>"
    message = repository.git("log", "-1", "--format=%B")
    assert f"Coffer-Task: {task.id}" in message and f"Coffer-Plan: {task.PlanDigest}" in message
    assert "Coffer-Agent: writer=instant" in message
    assert repository.run("make", "test", check=False).returncode == 0


@pytest.mark.parametrize("flow", ["single", "executor", "review", "supervisor"])
def test_each_flow_goes_to_a_commit_through_a_red_gate(carol, project, repository, flow):
    task = carol.create_task(project, "Say more, fail-build, block-once", flow=flow)
    task.until("plan-ready")
    task.accept_plan()
    task.until("ready", seconds=180)
    commit = task.accept_work()
    until_done(task)
    assert repository.head() == commit
    planner = {conversation for role, conversation, _ in turns(task) if role == "planner"}
    writer = {conversation for role, conversation, _ in turns(task) if role == "writer"}
    reviewer = [conversation for role, conversation, _ in turns(task) if role == "reviewer"]
    assert len(planner) == 1 and len(writer) == 1, "each continues its own conversation through the fix rounds"
    assert (planner == writer) == (flow == "single")
    if flow in ("single", "executor"):
        assert reviewer == []
    if flow == "review":
        assert len(reviewer) == 2 and len(set(reviewer)) == 2, "a separate reviewer is new each round"
        assert not set(reviewer) & (planner | writer)
    if flow == "supervisor":
        assert len(reviewer) == 2 and set(reviewer) == planner


def test_question_of_the_writer_waits_for_the_person_and_goes_on_with_the_answer(carol, project, repository):
    task = carol.create_task(project, "ask-write")
    task.until("plan-ready")
    task.accept_plan()
    assert task.until("parked") == "question"
    assert task.Question and "reply" in task.Actions
    task.reply("The first.")
    task.until("ready", seconds=180)
    assert len({row["Conversation"] for row in task.runs() if row["Role"] == "writer"}) == 1, "it remembers what it asked"


def test_question_of_the_planner_is_answered_before_there_is_a_plan(carol, project):
    task = carol.create_task(project, "ask")
    assert task.until("parked", "plan-ready") in ("question", "plan-ready")
    assert task.Question and "accept-plan" not in task.Actions
    task.reply("The second.")
    task.until("plan-ready", seconds=120)
    assert "accept-plan" in task.Actions


def test_writer_that_changes_nothing_is_asked_once_and_then_parks(carol, project):
    task = carol.create_task(project, "nothing")
    task.until("plan-ready")
    task.accept_plan()
    assert task.until("parked", seconds=120) == "blocked"
    assert task.Waiting[0] == "no-change"
    assert [run_ for run_ in task.runs() if run_["Kind"] == "gate"] == [], "a gate of nothing says nothing"


def test_accepting_twice_is_accepting_once_and_another_digest_is_stale(carol, project, repository):
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    with pytest.raises(CallError) as refused:
        carol.call(task.path, "Task", "AcceptPlan", "(sa{sv})", ("sha256:" + "0" * 64, {}))
    assert refused.value.name == "Stale"
    task.accept_plan()
    task.until("ready", seconds=120)
    digest = task.WorkDigest
    with pytest.raises(CallError) as refused:
        carol.call(task.path, "Task", "AcceptWork", "(sa{sv})", (task.PlanDigest, {}))
    assert refused.value.name == "Stale"
    first = carol.call(task.path, "Task", "AcceptWork", "(sa{sv})", (digest, {}))[0]
    second = carol.call(task.path, "Task", "AcceptWork", "(sa{sv})", (digest, {}))[0]
    assert first == second == task.Candidate
    until_done(task)
    assert repository.git("rev-list", "--count", "HEAD") == "2"


def test_cancelling_takes_everything_away_but_the_history(carol, project, bus):
    task = carol.create_task(project, "hang")
    task.until("plan-ready")
    task.accept_plan()
    bus.until(lambda: active(f"coffer-{task.id}-0-writer-1"), sender="org.freedesktop.systemd1")
    # As a step leaves it that fails in the middle.
    for folder in ("/run/cofferdam/in", "/var/lib/cofferdam/work"):
        left = Path(folder, f"coffer-{task.id}-0-planner-1-collect")
        left.mkdir()
        (left / "request").write_text("what it was given\n", encoding="utf-8")
    for folder in ("ws", "src"):
        left = Path("/run/cofferdam", folder, f"coffer-{task.id}-0-planner-1")
        left.mkdir()
        run("mount", "-t", "tmpfs", "left", left)
    task.cancel()
    bus.until(lambda: left_behind(task) == [], seconds=60, sender="org.freedesktop.systemd1")
    assert task.State == "cancelled"
    assert task.events()


def test_a_clean_up_that_something_is_in_the_way_of_is_tried_until_it_succeeds(carol, project, bus, journal):
    task = carol.create_task(project, "hang")
    task.until("plan-ready")
    task.accept_plan()
    bus.until(lambda: active(f"coffer-{task.id}-0-writer-1"), sender="org.freedesktop.systemd1")
    held = os.open(f"/run/cofferdam/img/t{task.id}", os.O_RDONLY | os.O_DIRECTORY)
    try:
        task.cancel()
        said = journal.wait(f"step coffer-{task.id}-", COFFER_TASK=task.id)["MESSAGE"]
        assert "which something still uses" in said
        assert "cleaned-up" not in [event[3] for event in task.events()] and left_behind(task) != []
    finally:
        os.close(held)
    bus.until(lambda: left_behind(task) == [] and "cleaned-up" in [event[3] for event in task.events()], seconds=90)


def test_dirty_paths_are_told_and_left_alone(carol, project, repository):
    repository.write("notes.txt", "mine\n")
    repository.write("greet.h", "int greet(const char* name);  /* mine */\n")
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    task.accept_plan()
    task.until("ready", seconds=120)
    task.accept_work()
    until_done(task)
    assert repository.run("cat", "notes.txt").stdout == "mine\n"
    assert "mine" in repository.run("cat", "greet.h").stdout
    assert repository.run("git", "status", "--porcelain").stdout == " M greet.h\n?? notes.txt\n"
    assert repository.git("show", "--format=", "--name-only", "HEAD") == "instant.txt"
