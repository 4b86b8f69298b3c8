"""Agents belong to systemd: stopping, killing or replacing our daemons stops no agent, opens no wall, and counts nothing twice."""

from pathlib import Path

import pytest
from conftest import reload_cofferd, run
from moments import until
from people import Person
from test_waiting import thirsty_agent  # noqa: F401
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


def test_agent_goes_on_while_the_service_manager_executes_itself_again(writing, carol, cofferd):
    """As each upgrade of systemd or the C library has it do, with cofferd waiting for the turn's end."""
    before, pid = invocation(writing.unit), cofferd.pid()
    for _ in range(5):
        run("systemctl", "daemon-reexec")
        assert active(writing.unit) and invocation(writing.unit) == before
    assert cofferd.pid() == pid
    ends_once(writing, carol)


def test_a_task_is_carried_on_while_the_service_manager_executes_itself_again(cofferd, instant_agent, make_repository, carol):
    """Units start and end all the while."""
    project = carol.add_project(make_repository("carol"), test=["make test"], agents={"writer": "instant"})
    task = carol.create_task(project, "Say more", policy={"plan": "auto", "landing": "branch"})
    for _ in range(6):
        run("systemctl", "daemon-reexec")
    task.until("done", seconds=200)
    assert all(row["Ended"] for row in task.runs())


@pytest.fixture
def spending(cofferd, thirsty_agent, make_repository, carol, bus, hold):  # noqa: F811
    """A writer with a provider, in the middle of its turn."""
    provider = carol.add_provider("spent", "openai", "https://203.0.113.1/v1", "a-key")
    project = carol.add_project(make_repository("carol"), test=["make test"], agents={"planner": "instant", "writer": f"{thirsty_agent}/some-model@spent"})
    task = carol.create_task(project, hold.word, policy={"plan": "auto"})
    task.unit, task.provider, task.hold = f"coffer-{task.id}-0-writer-1.service", provider, hold
    gateway = f"coffer-{task.id}-0-writer-1-gateway.service"
    bus.until(lambda: active(task.unit) and active(gateway), sender="org.freedesktop.systemd1")
    yield task
    again = Person("carol")
    task.person = again
    task.cancel()
    if provider in again.call("/org/cofferdam/Cofferdam1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")[0]:
        again.call(provider, "Provider", "Remove", "(a{sv})", ({},))
    again.close()


def writer_of(task):
    return [row for row in task.runs() if row["Role"] == "writer"]


def test_a_turn_whose_provider_is_removed_is_waited_for_all_the_same(spending, carol, cofferd):
    carol.call(spending.provider, "Provider", "Remove", "(a{sv})", ({},))
    cofferd.kill()
    cofferd.start()
    assert active(spending.unit)
    spending.hold.let_go()
    spending.person = Person("carol")
    until(lambda: writer_of(spending)[0]["Ended"])
    [writer] = writer_of(spending)
    assert writer["Result"] == "success"
    # The review is the next turn, which finds no provider.
    assert spending.until("parked", "ready", seconds=120)
    assert "turn-ended" in [event[3] for event in spending.events()]
    spending.person.close()


def test_a_turn_whose_agent_is_removed_does_not_run_on_unattended(spending, carol, cofferd):
    file = Path("/etc/cofferdam/agents/thirsty.toml")
    text = file.read_text(encoding="utf-8")
    file.unlink()
    try:
        cofferd.kill()
        cofferd.start()
        spending.person = Person("carol")
        assert spending.until("parked", seconds=60) == "blocked" and spending.Waiting[0] == "NoAgent"
        until(lambda: run("systemctl", "list-units", "--plain", "--no-legend", f"coffer-{spending.id}-*.service").stdout == "")
        assert [(row["Result"], row["Ended"] > 0) for row in writer_of(spending)] == [("stopped", True)]
        spending.person.close()
    finally:
        file.write_text(text, encoding="utf-8")
        reload_cofferd()


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
