"""Where a person is asked, and where nobody is."""

import json

import pytest
from people import CallError, Task, variants
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
