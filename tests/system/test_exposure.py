"""What systemd itself says of our units: how much of the machine each of them could still touch."""

import pytest
from conftest import run
from people import Person
from units import active

pytestmark = pytest.mark.deadline(300)


def overall(unit):
    text = run("systemd-analyze", "security", "--no-pager", unit, check=False).stdout
    line = next(line for line in text.splitlines() if "Overall exposure level" in line)
    return float(line.split(":")[1].split()[0])


# coffer-walls: 4.5 was aimed at; the capabilities that overlayfs wants of its mounter (docs/sandboxing.md) cost the rest.
@pytest.mark.parametrize("unit, most", [("cofferd.service", 2.0), ("coffer-walls.service", 5.2)])
def test_daemons_are_exposed_no_more_than_they_say(cofferd, unit, most):
    assert overall(unit) <= most


def test_agents_unit_is_exposed_at_most_1_0(cofferd, instant_agent, make_repository, bus):
    carol = Person("carol")
    repository = make_repository("carol")
    project = carol.add_project(repository, test=["make test"], agents={"writer": "instant"})
    task = carol.create_task(project, "hang wordofthetask")
    try:
        task.until("plan-ready", seconds=120)
        task.accept_plan()
        unit = f"coffer-{task.id}-0-writer-1.service"
        bus.until(lambda: active(unit), seconds=60, sender="org.freedesktop.systemd1")
        assert overall(unit) <= 1.0
        # Nothing of the task is in what every user can read of its unit.
        shown = run("systemctl", "show", unit).stdout
        assert "wordofthetask" not in shown and str(repository.directory) not in shown
    finally:
        task.cancel()
        carol.close()
