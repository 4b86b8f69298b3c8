"""A task that waits for a person costs nothing but its files: nothing of it runs, is mounted or holds a loop device."""

import time
from pathlib import Path

import pytest
from conftest import TESTS, reload_cofferd, run
from people import Person

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


def standing(task):
    """What of the task runs or is mounted. Its slices stay, with nothing in them."""
    found = run("systemctl", "list-units", "--all", "--no-legend", "--plain", f"coffer-{task.id}-*").stdout.splitlines()
    found += [line for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
              if f"/t{task.id} " in line or f"/t{task.id}-out " in line or f"coffer-{task.id}-" in line]
    devices = run("losetup", "--noheadings", "--output", "BACK-FILE").stdout.split()
    return found + [device for device in devices if f"/tasks/{task.id}/" in device]


def until_nothing_stands(task):
    # What a step held is taken away when its end is stored, so after it can be seen. The kernel frees a loop
    # device some time after its unmount and tells nobody.
    end = time.monotonic() + 30
    while (left := standing(task)) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


def test_nothing_stands_while_a_person_is_asked(task):
    until_nothing_stands(task)
    task.accept_plan()
    task.until("ready", seconds=120)
    until_nothing_stands(task)


def test_what_a_daemon_that_died_left_of_a_waiting_task_is_removed(task, cofferd):
    until_nothing_stands(task)
    cofferd.stop()
    unit = f"coffer-{task.id}-0-planner-1-resolver.service"
    run("systemd-run", "--quiet", f"--unit={unit}", "sleep", "infinity")
    cofferd.start()
    until_nothing_stands(task)


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
        until_nothing_stands(task)
        assert "-gateway.service could not be started" in task.Waiting[1]
        assert [row["Result"] for row in task.runs()] == ["not-started"]
        assert all(row["Ended"] for row in task.runs())
        task.cancel()
        task.until("cancelled", seconds=60)
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))
        carol.close()
