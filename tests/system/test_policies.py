"""Where a person is asked, and where nobody is."""

import json
import sqlite3
import threading
from pathlib import Path

import pytest
from conftest import run
from people import CallError, Person, Task, variants
from test_tasks import AGENTS, until_done

pytestmark = pytest.mark.deadline(300)
AUTOMATIC = {"plan": "auto", "landing": "auto"}


def test_a_queue_without_people_lands_by_itself(carol, project, repository):
    task = carol.create_task(project, "Say more", policy=AUTOMATIC)
    until_done(task)
    assert repository.head() == task.Landed[0][0]


def test_risky_paths_wait_for_a_person_even_then(carol, project, repository):
    before = repository.head()
    task = carol.create_task(project, "Say more, risky", policy=AUTOMATIC)
    assert task.until("parked", seconds=180) == "risky"
    assert task.State == "ready" and ".github/workflows/instant.yml" in task.Waiting[1]
    assert repository.head() == before
    assert "accept-work" in task.Actions and task.Problem[0] == "risky"
    commit = task.accept_work()
    until_done(task)
    assert repository.head() == commit


def test_an_owner_can_let_them_land(carol, project, repository):
    task = carol.create_task(project, "Say more, risky", policy=AUTOMATIC | {"risky": "auto"})
    until_done(task)
    assert "instant.yml" in repository.git("show", "--stat", "HEAD")


def test_commands_of_agents_are_never_taken_by_themselves(carol, project):
    with pytest.raises(CallError) as refused:
        carol.create_task(project, "Say more", policy={"command": "auto"})
    assert refused.value.name == "Unsupported" and "coffer project set" in refused.value.message
    with pytest.raises(CallError) as refused:
        carol.call(project, "Project", "Set", "(a{sv})", (variants({"policy": {"command": "auto"}}),))
    assert refused.value.name == "Unsupported"


PLAN = """+++
kind = "other"
summary = "Note what I want"
+++

## Goal

Words: Say more

## Acceptance criteria

- [ ] `instant.txt` has a line.
"""


def test_a_plan_of_ones_own_is_accepted_and_written_without_a_planner(carol, project, repository, as_user, tmp_path):
    file = repository.directory / "my-plan.md"
    repository.write("my-plan.md", PLAN)
    name = carol.properties(project, "Project")["Name"]
    made = as_user("carol", "coffer", "new", "-p", name, "--plan", str(file), "--json", "Do what the plan says")
    task = Task(carol, json.loads(made.stdout)["Path"])
    task.until("plan-ready")
    text, digest = task.text("plan")
    assert text == PLAN and digest == task.PlanDigest
    task.accept_plan()
    task.until("ready", seconds=120)
    assert [run_ for run_ in task.runs() if run_["Role"] == "planner"] == []
    task.accept_work()
    until_done(task)
    assert repository.git("log", "-1", "--format=%s") == "Note what I want"


@pytest.mark.parametrize("plan", ["no header", "+++\nkind = [\n+++\n", "+++\n" * 20000, "+++\nkind = 'other'\nsummary = 'x'\n+++\n\nNo criteria\n"])
def test_a_plan_that_cannot_be_used_makes_no_task(carol, project, plan):
    before = len(carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 1000))[0])
    with pytest.raises(CallError) as refused:
        carol.create_task(project, "Do what the plan says", plan=plan)
    assert refused.value.name == "InvalidArgument" and "plan cannot be used" in refused.value.message
    assert len(carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 1000))[0]) == before


@pytest.fixture
def held_back():
    """held_back(UNIT) makes a worker wait in its unit until what comes back is called; with end, when it has done its work."""
    made = []

    def hold(unit, end=False):
        drop_in = Path(f"/run/systemd/system/{unit}.service.d/wait.conf")
        drop_in.parent.mkdir(parents=True)
        drop_in.write_text(f"[Service]\nExecStart{'Post' if end else 'Pre'}=/bin/sh -c 'until [ -e /in/go ]; do sleep 0.1; done'\n", encoding="utf-8")
        run("systemctl", "daemon-reload")
        made.append(drop_in)
        return lambda: Path(f"/run/cofferdam/in/{unit}/go").touch(mode=0o644)
    yield hold
    for drop_in in made:
        drop_in.unlink()
        drop_in.parent.rmdir()
    run("systemctl", "daemon-reload")


def held(bus, unit):
    bus.until(lambda: run("systemctl", "is-active", f"{unit}.service", check=False).stdout.strip() == "activating",
              sender="org.freedesktop.systemd1")


def test_a_project_that_is_removed_while_a_plan_is_read_gets_no_task(cofferd, instant_agent, carol, repository, bus, held_back):
    project = carol.add_project(repository, test=["make test"], agents=AGENTS)
    last = carol.create_task(project, "Say more")
    last.cancel()
    last.until("cancelled", seconds=60)
    unit = f"coffer-{last.id + 1}-0-planner-0-plan"
    go_on = held_back(unit)
    other, outcome = Person("carol"), []

    def create():
        try:
            outcome.append(other.create_task(project, "Do what the plan says", plan=PLAN))
        except CallError as error:
            outcome.append(error)
    creating = threading.Thread(target=create)
    try:
        creating.start()
        held(bus, unit)
        carol.call(project, "Project", "Remove", "(a{sv})", ({},))
        go_on()
        creating.join(60)
        assert isinstance(outcome[0], CallError) and outcome[0].name == "UnknownObject" and "removed" in outcome[0].message
        with pytest.raises(CallError) as refused:
            carol.create_task(project, "Say more")
        assert refused.value.name == "UnknownObject"
        assert [row["Id"] for row in carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 1000))[0] if row["Id"] > last.id] == []
        assert list(Path("/var/lib/cofferdam/tasks").glob(str(last.id + 1))) == []
    finally:
        other.close()


def test_a_project_that_is_removed_while_its_commits_are_taken_in_leaves_nothing(cofferd, instant_agent, carol, repository, bus, held_back):
    """What comes in for a task that was cancelled meanwhile would be nobody's, and count for nobody."""
    project = carol.add_project(repository, test=["make test"], agents=AGENTS)
    last = carol.create_task(project, "Say more")
    last.cancel()
    last.until("cancelled", seconds=60)
    repository.commit("Another commit", **{"another.txt": "to be taken in\n"})
    unit = f"coffer-{last.id + 1}-0-snapshot-1-import"
    go_on = held_back(unit, end=True)
    task = carol.create_task(project, "Say more")
    bus.until(lambda: run("systemctl", "show", f"{unit}.service", "--property=ExecMainCode", "--value").stdout.strip() == "1",
              sender="org.freedesktop.systemd1")
    task.cancel()
    number = project.rsplit("/", 1)[1]
    carol.call(project, "Project", "Remove", "(a{sv})", ({},))
    go_on()
    bus.until(lambda: "cleaned-up" in [event[3] for event in task.events()])
    assert not Path(f"/var/lib/cofferdam/projects/{number}").exists()
    with sqlite3.connect("/var/lib/cofferdam/cofferd.db") as store:
        assert store.execute("SELECT holder FROM uids WHERE holder LIKE ?", (f"project-{number}-%",)).fetchall() == []
    store.close()


def test_a_project_without_a_command_says_what_is_missing(cofferd, instant_agent, carol, repository, as_user):
    project = carol.add_project(repository, agents=AGENTS)
    try:
        with pytest.raises(CallError) as refused:
            carol.create_task(project, "Say more")
        assert refused.value.name == "NoCommand"
        command = refused.value.message.split("coffer ", 1)[1].replace("COMMAND", "true").split()
        as_user("carol", "coffer", *command)
        task = carol.create_task(project, "Say more")
        task.until("plan-ready")
        carol.call(task.path, "Task", "Cancel", "(a{sv})", ({},))
    finally:
        carol.call(project, "Project", "Remove", "(a{sv})", ({},))
