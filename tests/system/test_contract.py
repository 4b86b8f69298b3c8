"""What dbus/*.xml promises and only the whole daemon can keep: repeated calls, defaults, what is told and what is left."""

import os
import re
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from conftest import reload_cofferd, run
from moments import HALT, halt_at, until, until_halted
from people import CallError, Person, Task, request, variants
from test_policies import held, held_back  # noqa: F401

AGENTS = {role: "instant" for role in ("planner", "writer", "reviewer")}
STATE = Path("/var/lib/cofferdam")


@pytest.fixture
def only_instant(cofferd, instant_agent):
    """A machine with one agent: an empty file takes the description of the others away."""
    hidden = [Path(f"/etc/cofferdam/agents/{name}.toml") for name in ("claude", "codex", "opencode")]
    assert not any(path.exists() for path in hidden)
    for path in hidden:
        path.touch()
    reload_cofferd()
    yield
    for path in hidden:
        path.unlink()
    reload_cofferd()


@pytest.fixture
def bare_project(cofferd, carol, repository):
    """A project that names no agent."""
    path = carol.add_project(repository, test=["make test"])
    yield path
    carol.end_project(path)


def stored(question, *values):
    with sqlite3.connect(f"file:{STATE}/cofferd.db?mode=ro", uri=True) as database:
        return database.execute(question, values).fetchall()


def test_the_only_agent_plays_every_role(only_instant, carol, bare_project):
    task = carol.create_task(bare_project, "Add a note")
    assert task.Agents == AGENTS
    task.until("plan-ready")
    task.cancel()


def test_what_cannot_work_is_told_before_there_is_a_task(instant_agent, carol, bare_project):
    before = carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 0))[0]
    for agents, error, words in (({}, "NoAgent", "--agent planner="), ({"writer": "nobody"}, "NoAgent", "coffer agent list"),
                                 ({"writer": "codex/some-model"}, "NoProvider", "coffer provider add"),
                                 ({"writer": "codex"}, "NoProvider", "coffer provider add"),
                                 ({"writer": "opencode"}, "InvalidArgument", "--agent ROLE=opencode:MODEL")):
        with pytest.raises(CallError) as refused:
            carol.create_task(bare_project, "Add a note", agents=agents)
        assert (refused.value.name, words in refused.value.message) == (error, True), refused.value
    assert carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 0))[0] == before
    with pytest.raises(CallError) as refused:
        carol.call(bare_project, "Project", "Set", "(a{sv})", (variants({"agents": {"writer": "nobody"}}),))
    assert refused.value.name == "NoAgent"


def test_features_name_what_calls_take(cofferd, carol):
    features = carol.properties("/org/cofferdam/Cofferdam1", "Manager")["Features"]
    assert set(features) == {"flows", "provider-kinds", "missing-controllers", "accepted-missing"}
    assert set(features["flows"]) >= {"single", "executor", "review", "supervisor"}
    for kind in features["provider-kinds"]:
        path = carol.manager("AddProvider", "(ssa{sv})", (f"of-{kind}"[:31], kind, {}))[0]
        assert carol.properties(path, "Provider")["Kind"] in features["provider-kinds"]
        carol.call(path, "Provider", "Remove", "(a{sv})", ({},))


def test_a_call_that_comes_again_has_its_first_answer_and_no_second_effect(cofferd, carol, repository, instant_agent):
    again = request()
    add = (str(repository.directory).encode(), "again", variants({"author-name": "C", "author-email": "c@example.org", "test": ["true"]}) | again)
    path = carol.manager("AddProject", "(aysa{sv})", add, timeout=120)
    assert carol.manager("AddProject", "(aysa{sv})", add, timeout=120) == path
    project, = path
    first = request() | variants({"budget": 5})
    carol.call(project, "Project", "Set", "(a{sv})", (first,))
    carol.call(project, "Project", "Set", "(a{sv})", (variants({"budget": 7}),))
    carol.call(project, "Project", "Set", "(a{sv})", (first,))
    known = carol.properties(project, "Project")
    assert known["Budget"] == 7, "what was set in between stays"
    assert (known["AuthorName"], known["AuthorEmail"]) == ("C", "c@example.org")

    add = ("again", "openai", variants({"base-url": "https://models.example/"}) | request())
    provider, = carol.manager("AddProvider", "(ssa{sv})", add)
    assert carol.manager("AddProvider", "(ssa{sv})", add) == (provider,)
    carol.set_key(provider, "a-key-of-nobody-abcd")
    assert carol.properties(provider, "Provider")["KeyHint"] == "abcd"
    carol.call(provider, "Provider", "Set", "(a{sv})", (variants({"base-url": "https://models.example/"}),))
    assert carol.properties(provider, "Provider")["HasKey"], "the same place with a slash is the same place"

    task = carol.create_task(project, "Add a note", agents=AGENTS)
    task.cancel()
    until(lambda: "delete" in task.Actions)
    for object_, interface, member in ((task.path, "Task", "Delete"), (provider, "Provider", "Remove"), (project, "Project", "Remove")):
        first = request()
        carol.call(object_, interface, member, "(a{sv})", (first,))
        carol.call(object_, interface, member, "(a{sv})", (first,))
        with pytest.raises(CallError) as refused:
            carol.call(object_, interface, member, "(a{sv})", (request(),))
        assert refused.value.name == "UnknownObject"


def test_a_project_is_added_whole_or_not_at_all(cofferd, carol, make_repository):
    """cofferd dies when the name is taken and the repository is not read yet; the same call then comes again."""
    assert b"/run/cofferdam/halt-at" in Path("/usr/libexec/cofferdam/cofferd").read_bytes(), "built without -Dhalt-points=true"
    repository = make_repository("carol")
    last, = stored("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'projects'")[0]
    call = (str(repository.directory).encode(), "whole", variants({"author-name": "C", "author-email": "c@example.org"}) | request())
    halt_at("reserved", f"coffer-p{last + 1}-add")
    try:
        with pytest.raises(CallError):
            carol.manager("AddProject", "(aysa{sv})", call, timeout=5)
        until_halted(cofferd)
        assert stored("SELECT name, base FROM projects WHERE id = ?", last + 1) == [("whole", "")]
        cofferd.kill()
    finally:
        HALT.unlink(missing_ok=True)
        if pid := cofferd.pid():
            os.kill(pid, signal.SIGCONT)
    cofferd.start()
    with pytest.raises(CallError) as refused:
        carol.manager("GetProject", "(s)", ("whole",))
    assert refused.value.name == "UnknownObject"
    path, = carol.manager("AddProject", "(aysa{sv})", call, timeout=120)
    assert carol.properties(path, "Project")["Base"] == repository.head()
    carol.end_project(path)


def test_the_same_call_again_while_a_project_is_added_waits_for_it(cofferd, carol, make_repository, bus, held_back):  # noqa: F811
    repository = make_repository("carol")
    last, = stored("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'projects'")[0]
    unit = f"coffer-p{last + 1}-add-export"
    go_on = held_back(unit)
    call = (str(repository.directory).encode(), "twice", variants({"author-name": "C", "author-email": "c@example.org"}) | request())
    again, paths = Person("carol"), []
    calls = [threading.Thread(target=lambda person=person: paths.append(person.manager("AddProject", "(aysa{sv})", call, timeout=60)[0]))
             for person in (carol, again)]
    calls[0].start()
    held(bus, unit)
    calls[1].start()
    third = Person("carol")
    third.add_project(make_repository("carol"))
    assert paths == [], "by now it would have an answer"
    go_on()
    for thread in calls:
        thread.join(60)
    assert len(paths) == 2 and paths[0] == paths[1]
    assert carol.properties(paths[0], "Project")["Base"] == repository.head()
    carol.end_project(paths[0])
    for person in (again, third):
        person.close()


def test_a_project_that_is_still_being_added_takes_no_task(cofferd, instant_agent, carol, make_repository, bus, held_back):  # noqa: F811
    repository = make_repository("carol")
    last, = stored("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'projects'")[0]
    unit = f"coffer-p{last + 1}-add-import"
    go_on = held_back(unit)
    call = (str(repository.directory).encode(), "not-yet", variants({"author-name": "C", "author-email": "c@example.org", "test": ["true"], "agents": AGENTS}))
    adder, added = Person("carol"), []
    adding = threading.Thread(target=lambda: added.append(adder.manager("AddProject", "(aysa{sv})", call, timeout=120)[0]))
    adding.start()
    held(bus, unit)
    path = f"/org/cofferdam/Cofferdam1/project/{last + 1}"
    carol.projects.append(path)
    try:
        with pytest.raises(CallError) as refused:
            carol.create_task(path, "Say more")
        assert refused.value.name == "Busy" and "still being added" in refused.value.message
        carol.call(path, "Project", "Set", "(a{sv})", (variants({"test": ["false"]}),))
    finally:
        go_on()
        adding.join(120)
    assert added == [path]
    assert carol.properties(path, "Project")["Test"] == ["false"], "what was set meanwhile stays"
    adder.close()


@pytest.mark.deadline(200)
def test_everything_that_was_said_is_told_and_can_be_read(carol, project, coffer):
    task = carol.create_task(project, "Add a note. block-once")
    for text in ("First say it in words.", "And then in numbers."):
        task.until("plan-ready")
        read = task.PlanDigest
        task.reply(text)
        until(lambda: task.PlanDigest != read)
    task.until("plan-ready")
    task.accept_plan()
    task.until("ready")
    assert task.text("answer")[0].strip() == "All said"
    assert "All said" in coffer("carol", "show", str(task.id), "--answer").stdout
    task.reply("One more thing. hang-review")

    def reviewing():
        return next(Path("/run/cofferdam").glob(f"**/coffer-{task.id}-*-reviewer-*/comments.md"), None) if task.State == "reviewing" else None
    task.until("reviewing")
    told = until(reviewing).read_text()
    parts = ["First say it in words.", "And then in numbers.", "All said", "One more thing."]
    assert [part for part in sorted(parts, key=lambda part: told.find(part))] == parts and all(part in told for part in parts), told
    task.cancel()


def test_what_is_not_in_the_commit_can_be_read(carol, project, repository, coffer):
    task = carol.create_task(project, "Add a note")
    task.until("plan-ready")
    assert task.text("left-out")[0] == ""
    task.cancel()
    repository.write("not committed.txt", "mine\n")
    made = coffer("carol", "new", "-p", carol.properties(project, "Project")["Name"], "Add a note")
    assert "not in it:\n  not committed.txt\n" in made.stderr
    task = Task(carol, "/org/cofferdam/Cofferdam1/task/" + re.search(r"Task (\d+)", made.stdout)[1])
    task.until("plan-ready")
    assert task.text("left-out")[0] == "not committed.txt\n"
    task.cancel()


@pytest.mark.deadline(200)
def test_the_gates_limit_is_that_of_all_its_commands(cofferd, setting, carol, repository, instant_agent):
    setting("gate-minutes = 1")
    project = carol.add_project(repository, test=["sleep 40", "sleep 40", "touch never"], agents=AGENTS)
    task = carol.create_task(project, "Add a note")
    task.until("plan-ready")
    task.accept_plan()
    assert task.until("parked", seconds=110) == "blocked"
    assert task.Waiting[0] == "environment" and "the gate did not end in 1 minutes" in task.Waiting[1]
    gates = [each for each in task.runs() if each["Kind"] == "gate"]
    assert [each["Result"] for each in gates] == ["success", "timeout"]
    assert sum(each["Ended"] - each["Started"] for each in gates) < 80_000_000
    carol.end_project(project)


def test_of_a_deleted_task_a_line_is_left(carol, project, journal):
    task = carol.create_task(project, "Add a secret note")
    task.until("plan-ready")
    assert stored("SELECT count(*) FROM runs WHERE task = ?", task.id) == [(1,)]
    ended = journal.wait(COFFER_TASK=str(task.id), MESSAGE_ID="b4a5415a45fa4909a0caf2bb2d869b2e")
    assert (ended["COFFER_ROLE"], ended["COFFER_AGENT"]) == ("planner", "instant")
    task.cancel()
    until(lambda: "delete" in task.Actions)
    carol.call(task.path, "Task", "Delete", "(a{sv})", (request(),))
    folder = STATE / "tasks" / str(task.id)
    until(lambda: not folder.exists() and not stored("SELECT 1 FROM open_steps WHERE task = ?", task.id))
    for table in ("runs", "conversations", "findings", "refusals", "task_texts"):
        assert stored(f"SELECT count(*) FROM {table} WHERE task = ?", task.id) == [(0,)], table

    def listed(**filter_):
        return [row for row in carol.manager("ListTasks", "(a{sv}tu)", (variants(filter_), 0, 0))[0] if row["Id"] == task.id]
    assert listed() == []
    line, = listed(deleted=True)
    assert line["Deleted"] and line["State"] == "cancelled" and line["Title"] and line["Actions"] == []
    assert task.id in [int(each["Id"]) for each in carol.manager("ListTasks", "(a{sv}tu)", (variants({"deleted": True, "ended": True}), 0, 0))[0]]
