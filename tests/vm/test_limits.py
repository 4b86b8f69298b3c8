"""A whole task whose agent takes more than it may: the box ends it, and what serves it goes on."""

import pwd
from pathlib import Path

import pytest
from conftest import run

pytestmark = pytest.mark.deadline(600)


@pytest.fixture
def served_agent(instant_agent, scripted_model, carol):
    """The instant agent, with a provider: each of its turns has a gateway beside it, which answers on the turn's loopback."""
    description = Path("/etc/cofferdam/agents/served.toml")
    text = Path("/etc/cofferdam/agents/instant.toml").read_text(encoding="utf-8")
    assert 'providers = ["none"]' in text
    description.write_text(text.replace('providers = ["none"]', 'providers = ["openai-chat"]'), encoding="utf-8")
    run("systemctl", "reload", "cofferd.service")
    kind = f"scripted-{scripted_model.url.split(':')[2].split('/')[0]}"
    provider = carol.add_provider("scripted", kind, scripted_model.url, scripted_model.key)
    yield "served"
    carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))
    description.unlink()
    run("systemctl", "reload", "cofferd.service")


@pytest.fixture
def project(cofferd, served_agent, make_repository, carol):
    agents = {"planner": "instant", "writer": f"{served_agent}/none", "reviewer": "instant"}
    path = carol.add_project(make_repository("carol"), test=["make test"], agents=agents)
    yield path
    for row in carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 100))[0]:
        if row["State"] not in ("done", "failed", "cancelled"):
            carol.call(f"/org/cofferdam/Cofferdam1/task/{row['Id']}", "Task", "Cancel", "(a{sv})", ({},))
    carol.call(path, "Project", "Remove", "(a{sv})", ({},))


def ended_well(journal, unit):
    """Whether PID 1 ended the unit because it was asked to, and not for what it did or what was done to it."""
    said = [entry["MESSAGE"] for entry in journal.entries(_PID="1", UNIT=unit)]
    assert said, f"{unit} was never there"
    return any("Deactivated successfully" in line for line in said) and not any("Failed with result" in line for line in said)


def test_an_agent_that_takes_all_memory_is_ended_and_its_gateway_is_not(carol, project, journal):
    task = carol.create_task(project, "ask-endpoint, eat-memory")
    task.until("plan-ready", seconds=300)
    task.accept_plan()
    assert task.until("parked", seconds=400) == "blocked"
    code, words, _ = task.Waiting
    assert code == "out-of-memory" and "more memory than the task" in words
    turn = next(row for row in task.runs() if row["Role"] == "writer")
    assert turn["Result"] == "oom-kill"
    assert ended_well(journal, f"coffer-{task.id}-0-writer-1-gateway.service")
    assert ended_well(journal, f"coffer-{task.id}-0-writer-1-resolver.service")


def test_an_agent_that_forks_without_end_meets_its_limit_and_still_reaches_its_gateway(carol, project, journal):
    task = carol.create_task(project, "fork-and-ask")
    task.until("plan-ready", seconds=300)
    box = f"coffer-u{pwd.getpwnam('carol').pw_uid}-{task.id}-box.slice"
    assert run("systemctl", "show", box, "--property=TasksMax", "--value").stdout.strip() == "1024"
    task.accept_plan()
    task.until("parked", "ready", seconds=500)
    turn = next(row for row in task.runs() if row["Role"] == "writer")
    said, _ = task.text("transcript", run=turn["Id"])
    assert "more tasks than that: no" in said and "the endpoint says 401" in said
    assert ended_well(journal, f"coffer-{task.id}-0-writer-1-gateway.service")
