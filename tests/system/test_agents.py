"""A whole task with each real agent in every role, through gateway and resolver, against the scripted model on loopback."""

from pathlib import Path

import pytest
from conftest import run
from people import Person

pytestmark = pytest.mark.deadline(500)


@pytest.fixture
def carol():
    person = Person("carol")
    yield person
    person.close()


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
