"""A task that waits for a person costs nothing but its files: nothing of it runs, is mounted or holds a loop device."""

from pathlib import Path

import pytest
from conftest import run
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


def until_nothing_stands(task, bus):
    # What a step held is taken away when its end is stored, so after it can be seen.
    bus.until(lambda: not standing(task), seconds=30, sender="org.freedesktop.systemd1")


def test_nothing_stands_while_a_person_is_asked(task, bus):
    until_nothing_stands(task, bus)
    task.accept_plan()
    task.until("ready", seconds=120)
    until_nothing_stands(task, bus)


def test_what_a_daemon_that_died_left_of_a_waiting_task_is_removed(task, bus, cofferd):
    until_nothing_stands(task, bus)
    cofferd.stop()
    unit = f"coffer-{task.id}-0-planner-1-resolver.service"
    run("systemd-run", "--quiet", f"--unit={unit}", "sleep", "infinity")
    cofferd.start()
    until_nothing_stands(task, bus)
