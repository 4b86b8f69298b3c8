"""Agents belong to systemd: stopping, killing or replacing our daemons stops no agent, opens no wall, and counts nothing twice."""

import pytest
from conftest import run
from moments import until
from people import Person
from units import active, invocation, sub_state

pytestmark = pytest.mark.deadline(300)


@pytest.fixture
def writing(cofferd, instant_agent, make_repository, carol, bus, hold):
    """A task whose writer is in the middle of its turn."""
    repository = make_repository("carol")
    project = carol.add_project(repository, test=["make test"], agents={"writer": "instant"})
    task = carol.create_task(project, hold.word)
    task.until("plan-ready", seconds=120)
    task.accept_plan()
    task.unit = f"coffer-{task.id}-0-writer-1.service"
    task.repository = repository
    task.hold = hold
    bus.until(lambda: active(task.unit), seconds=60, sender="org.freedesktop.systemd1")
    yield task
    again = Person("carol")
    if again.call(task.path, "org.freedesktop.DBus.Properties", "Get", "(ss)", ("org.cofferdam.Cofferdam1.Task", "State"))[0] != "done":
        again.call(task.path, "Task", "Cancel", "(a{sv})", ({},))
    again.close()


def ends_once(task, carol):
    """The turn that was going on is the only one there was, and the task goes on to its end."""
    task.hold.let_go()
    task.person = Person("carol")
    task.until("ready", seconds=180)
    writer = [row for row in task.runs() if row["Role"] == "writer" and row["Kind"] == "turn"]
    assert len(writer) == 1 and writer[0]["Result"] == "success"
    ended = [event for event in task.events() if event[3] == "turn-ended" and event[4].get("role") == "writer"]
    assert len(ended) == 1
    assert task.Round == 0
    # What the instant agent says of each turn: planner, writer and reviewer, each counted once.
    assert task.Usage["input"] == 3 * 900
    commit = task.accept_work()
    task.until("done", seconds=60)
    assert task.repository.head() == commit
    task.person.close()
    task.person = carol


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_agent_goes_on_without_the_daemon_and_is_adopted(writing, carol, cofferd, how):
    before = invocation(writing.unit)
    if how == "stop":
        cofferd.stop()
    else:
        cofferd.kill()
    assert active(writing.unit) and invocation(writing.unit) == before
    cofferd.start()
    assert invocation(writing.unit) == before
    ends_once(writing, carol)


def test_turn_that_ended_while_the_daemon_was_down_is_found(writing, carol, cofferd, bus):
    cofferd.stop()

    writing.hold.let_go()
    bus.until(lambda: sub_state(writing.unit) == "exited", seconds=60, sender="org.freedesktop.systemd1")
    cofferd.start()
    ends_once(writing, carol)


def test_walls_stand_while_everything_around_them_is_restarted(writing, carol, cofferd):
    before = invocation(writing.unit)
    cofferd.stop()
    run("nft", "flush", "ruleset")
    assert "cofferdam" in run("nft", "list", "tables").stdout, "our table is owned: a flush of the ruleset leaves it"
    run("systemctl", "restart", "coffer-walls.service")
    run("systemctl", "daemon-reexec")
    assert active(writing.unit) and invocation(writing.unit) == before
    assert "cofferdam" in run("nft", "list", "tables").stdout
    cofferd.start()
    ends_once(writing, carol)


def test_agent_goes_on_while_the_bus_is_started_again(cofferd, instant_agent, make_repository, hold):
    before = Person("carol")
    project = before.add_project(make_repository("carol"), test=["true"], agents={"writer": "instant"})
    task = before.create_task(project, hold.word, policy={"plan": "auto", "landing": "branch"})
    unit = f"coffer-{task.id}-0-writer-1.service"
    until(lambda: active(unit))
    turn, pid = invocation(unit), cofferd.pid()
    run("systemctl", "restart", "dbus.service")
    try:
        until(lambda: cofferd.pid() not in (0, pid))
        assert active(unit) and invocation(unit) == turn
        hold.let_go()
        # A call starts it when it is not up yet; who had a connection has none any more.
        again = Person("carol")
        task.person = again
        task.until("done")
        assert [row["Attempt"] for row in task.runs() if row["Role"] == "writer"] == [1]
        again.end_project(project)
        again.close()
    finally:
        # These never find a bus again that went away from under them.
        run("systemctl", "restart", "systemd-logind.service", "polkit.service")
