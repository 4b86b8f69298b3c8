"""A task that waits for a person costs nothing but its files: nothing of it runs, is mounted or holds a loop device."""

import os
import signal
from pathlib import Path

import pytest
from conftest import TESTS, reload_cofferd, run
from moments import HALT, halt_at, until_halted, until_nothing_stands
from people import Person, request

pytestmark = pytest.mark.deadline(240)


@pytest.fixture
def task(cofferd, instant_agent, make_repository):
    carol = Person("carol")
    repository = make_repository("carol")
    project = carol.add_project(repository, test=["make test"], agents={"writer": "instant"})
    task = carol.create_task(project, "Say more")
    task.until("plan-ready", seconds=120)
    yield task
    carol.close()
    again = Person("carol")
    task.person = again
    if task.State not in ("done", "cancelled"):
        task.cancel()
    task.until("cancelled", "done", seconds=60)
    again.close()


def test_nothing_stands_while_a_person_is_asked(task):
    until_nothing_stands(task.id)
    task.accept_plan()
    task.until("ready", seconds=120)
    until_nothing_stands(task.id)


def test_what_a_daemon_that_died_left_of_a_waiting_task_is_removed(task, cofferd):
    until_nothing_stands(task.id)
    cofferd.stop()
    unit = f"coffer-{task.id}-0-planner-1-resolver.service"
    run("systemd-run", "--quiet", f"--unit={unit}", "sleep", "infinity")
    cofferd.start()
    until_nothing_stands(task.id)


def test_nothing_stands_when_the_step_after_a_turn_cannot_begin(task, cofferd):
    """The images stay mounted from the turn for the import, which is refused here."""
    names = Path("/etc/nsswitch.conf")
    before = names.read_text(encoding="utf-8")
    halt_at("done", f"coffer-{task.id}-0-writer-1")
    task.accept_plan()
    try:
        until_halted(cofferd)
        names.write_text(before.replace(" systemd", ""), encoding="utf-8")
    finally:
        HALT.unlink(missing_ok=True)
        os.kill(cofferd.pid(), signal.SIGCONT)
    try:
        assert task.until("parked", "ready", seconds=60) == "blocked" and task.Waiting[0] == "Sandbox"
        until_nothing_stands(task.id)
    finally:
        names.write_text(before, encoding="utf-8")
    task.person.call(task.path, "Task", "Retry", "(a{sv})", (request(),))
    task.until("ready", seconds=120)


@pytest.fixture
def thirsty_agent(instant_agent):
    """The instant agent as one that needs a provider, and so a gateway."""
    file = Path("/etc/cofferdam/agents/thirsty.toml")
    text = (TESTS / "agents" / "instant.toml").read_text(encoding="utf-8")
    file.write_text(text.replace('providers = ["none"]', 'providers = ["openai-chat"]'), encoding="utf-8")
    reload_cofferd()
    yield "thirsty"
    file.unlink()
    reload_cofferd()


def test_an_agent_whose_gateway_cannot_start_is_taken_away(cofferd, thirsty_agent, make_repository):
    carol = Person("carol")
    provider = carol.add_provider("broken", "openai", "https://203.0.113.1/v1", "a-key")
    # The machine's key no longer opens it: PID 1 refuses to start the gateway.
    [key] = Path("/var/lib/cofferdam/keys").glob(f"{provider.rsplit('/', 1)[1]}-*.cred")
    key.write_text("bm90IGEgY3JlZGVudGlhbA==", encoding="ascii")
    try:
        project = carol.add_project(make_repository("carol"), test=["true"], agents={"planner": f"{thirsty_agent}/some-model@broken"})
        task = carol.create_task(project, "hang-plan")
        assert task.until("parked", seconds=60) == "blocked"
        until_nothing_stands(task.id)
        assert "-gateway.service could not be started" in task.Waiting[1]
        assert [row["Result"] for row in task.runs()] == ["not-started"]
        assert all(row["Ended"] for row in task.runs())
        task.cancel()
        task.until("cancelled", seconds=60)
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))
        carol.close()
