"""A whole task with each real agent in every role, through gateway and resolver, against the scripted model on loopback."""

import json
import os
from pathlib import Path

import pytest
from conftest import TESTS, reload_cofferd, run
from people import CallError
from units import active

pytestmark = pytest.mark.deadline(500)


@pytest.mark.parametrize("agent", ["codex", "claude", "opencode"])
def test_agent_takes_a_task_from_request_to_commit(cofferd, scripted_model, make_repository, carol, agent):
    description = Path("/etc/cofferdam/providers/scripted.toml")
    address = scripted_model.url.removeprefix("http://").removesuffix("/v1")
    description.parent.mkdir(parents=True, exist_ok=True)
    description.write_text('title = "Scripted"\nkinds = ["openai-responses", "openai-chat", "anthropic"]\n'
                           f'base-url = "{scripted_model.url}"\nallow-addresses = ["{address}"]\n', encoding="utf-8")
    run("systemctl", "reload", "cofferd.service")
    repository = make_repository("carol")
    provider = carol.add_provider("scripted", "scripted", scripted_model.url, scripted_model.key)
    try:
        project = carol.add_project(repository, test=["grep -q '^finished' COFFERDAM.txt"],
                                    agents={role: f"{agent}/text-file" for role in ("planner", "writer", "reviewer")})
        task = carol.create_task(project, "Add a text file COFFERDAM.txt that says that a task was here.")
        task.until("plan-ready", seconds=200)
        task.accept_plan()
        task.until("ready", seconds=400)
        assert task.Round == 1, "the first commit does not pass the gate, the fix does"
        assert task.Usage["requests"] > 0 and task.Usage["output"] > 0, "the gateway counted what the wire said"
        commit = task.accept_work()
        task.until("done", seconds=60)
        assert repository.head() == commit
        assert f"Coffer-Agent: writer={agent}/text-file" in repository.git("log", "-1", "--format=%B")
        assert scripted_model.unexpected() == []
        # The real key is the gateway's alone: nothing of the task holds it.
        assert scripted_model.key not in task.text("transcript")[0]
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))
        description.unlink()


@pytest.mark.parametrize("agent", ["codex", "claude", "opencode"])
def test_agent_is_tried_with_the_callers_provider_and_leaves_nothing(cofferd, scripted_model, carol, as_user, agent):
    kind = "scripted-" + scripted_model.url.removeprefix("http://127.0.0.1:").removesuffix("/v1")
    provider = carol.add_provider("trial", kind, scripted_model.url, scripted_model.key)
    try:
        result = as_user("carol", "coffer", "agent", "test", agent, "--model", "agent-test", "--provider", "trial", "--json", timeout=300)
        told = json.loads(result.stdout)
        assert told["Answered"] and told["Answer"].strip() == "ready", told
        assert told["Resumed"] and told["ResumedAnswer"].strip() == "cobalt" and told["Session"]
        assert told["Usage"]["requests"] >= 2 and told["Usage"]["output"] > 0
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))
    assert [name for name in os.listdir("/run/cofferdam/in") if name.startswith("coffer-")] == []
    assert [path for path in Path("/var/lib/cofferdam/tasks").glob("*/image")
            if path.parent.name not in {str(row["Id"]) for row in carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 1000))[0]}] == []


def test_agent_that_is_refused_by_its_provider_says_so(cofferd, scripted_model, carol, as_user):
    kind = "scripted-" + scripted_model.url.removeprefix("http://127.0.0.1:").removesuffix("/v1")
    provider = carol.add_provider("refusing", kind, scripted_model.url, scripted_model.key)
    try:
        result = as_user("carol", "coffer", "agent", "test", "claude", "--model", "agent-test-401", "--json", check=False, timeout=300)
        told = json.loads(result.stdout)
        assert result.returncode == 1 and not told["Answered"] and told["Outcome"] == "auth-failed", told
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))


def test_agent_is_tried_only_when_a_turn_might_begin(cofferd, instant_agent, carol, setting):
    """The machine has no room for one more turn, or the user has none."""
    path = "/org/cofferdam/Cofferdam1/agent/instant"
    for limit in ("free-space-mib = 1000000000", "user-disk-mib = 1"):
        setting(limit)
        with pytest.raises(CallError) as refused:
            carol.call(path, "Agent", "Test", "(a{sv})", ({},), timeout=300)
        assert refused.value.name == "NoSpace" and limit.split()[0] in refused.value.message
    setting("")
    assert carol.call(path, "Agent", "Test", "(a{sv})", ({},), timeout=300)


@pytest.fixture
def slow_agent(instant_agent):
    """The instant agent, but each of its turns takes four seconds."""
    script, file = Path("/opt/agents/bin/cofferdam-slow"), Path("/etc/cofferdam/agents/slow.toml")
    script.write_text('#!/bin/sh\nsleep 4\nexec /opt/agents/bin/cofferdam-instant "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    text = (TESTS / "agents" / "instant.toml").read_text(encoding="utf-8")
    file.write_text(text.replace("cofferdam-instant", "cofferdam-slow"), encoding="utf-8")
    reload_cofferd()
    yield "slow"
    script.unlink()
    file.unlink()
    reload_cofferd()


def test_what_the_call_that_starts_the_daemon_asks_for_is_not_swept_away(cofferd, slow_agent, carol):
    """What an earlier daemon left takes two seconds to go; meanwhile an agent would be at work."""
    cofferd.stop()
    run("systemd-run", "--quiet", "--unit=coffer-999999-0-planner-1.service", "--property=TimeoutStopSec=2",
        "sh", "-c", "trap '' TERM; while :; do sleep 1; done")
    told = carol.call("/org/cofferdam/Cofferdam1/agent/slow", "Agent", "Test", "(a{sv})", ({},), timeout=300)[0]
    assert told["Answered"] and told["Resumed"], told
    assert not active("coffer-999999-0-planner-1.service")


def test_agent_that_is_not_there_cannot_be_tried(cofferd, carol):
    with pytest.raises(CallError) as refused:
        carol.call("/org/cofferdam/Cofferdam1/agent/nobody", "Agent", "Test", "(a{sv})", ({},))
    assert refused.value.name == "UnknownObject"


def test_agents_are_listed_with_where_they_are_and_what_they_run(cofferd, instant_agent, carol, project, coffer):
    def listed(user):
        return {agent["Name"]: agent for agent in coffer(user, "agent", "list", json=True)["Agents"]}

    before = listed("carol")
    assert before["instant"]["Executable"] == "/opt/agents/bin/cofferdam-instant" and before["instant"]["Protocol"] == "none"
    for name, kinds in {"codex": "openai-responses", "claude": "anthropic", "opencode": "openai-chat"}.items():
        assert before[name]["Protocol"] == kinds, name
        assert os.access(before[name]["Executable"], os.X_OK) == before[name]["Installed"], name
    task = carol.create_task(project, "Say hello. hang-plan")
    task.until("planning")
    while not [run for run in task.runs() if run["Kind"] == "turn" and run["Started"]]:
        carol.call(task.path, "Task", "Wait", "(tt)", (task.Sequence, 5_000_000))
    assert listed("carol")["instant"]["Running"] == 1
    assert listed("bob")["instant"]["Running"] == 0, "what others run is theirs"
    table = coffer("carol", "agent", "list").stdout
    assert any(line.split()[:4] == ["instant", "none", "1", "/opt/agents/bin/cofferdam-instant"] for line in table.splitlines()), table
    task.cancel()
    assert listed("carol")["instant"]["Running"] == 0
