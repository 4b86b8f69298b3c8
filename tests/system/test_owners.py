"""Whose things are whose when users come and go, and when nobody says who they are."""

import re
import socket
import threading
import time
from pathlib import Path

import pytest
from conftest import run
from moments import until
from people import CallError, Person, Task, request, variants

pytestmark = pytest.mark.deadline(400)
AGENTS = {role: "instant" for role in ("planner", "writer", "reviewer")}


def uid_of(user):
    return run("id", "--user", user).stdout.strip()


@pytest.fixture
def leaver():
    run("useradd", "--create-home", "--groups", "cofferdam", "leaver")
    uid = uid_of("leaver")
    yield "leaver"
    run("userdel", "--force", "--remove", "leaver", check=False)
    run("userdel", "--force", "comer", check=False)
    root = Person("root")
    for row in root.manager("ListTasks", "(a{sv}tu)", (variants({"all-users": True, "ended": False}), 0, 1000))[0]:
        if row["Owner"] in (int(uid), 2**32 - 1):
            Task(root, row["Path"]).cancel()
    for path, interfaces in root.call("/org/cofferdam/Cofferdam1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")[0].items():
        for name in ("Project", "Provider"):
            if interfaces.get(f"org.cofferdam.Cofferdam1.{name}", {}).get("Owner") in (int(uid), 2**32 - 1):
                root.call(path, name, "Remove", "(a{sv})", ({},))
    root.close()


def head_of(repository):
    return run("git", "-c", "safe.directory=*", "-C", repository.directory, "rev-parse", "HEAD").stdout.strip()


def objects(person):
    """What of projects, providers and tasks the person sees that is not the machine's."""
    found = person.call("/org/cofferdam/Cofferdam1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")[0]
    return [path for path in found if path.split("/")[-2] in ("project", "task", "provider")]


def test_a_uid_that_is_given_again_takes_nothing_along(cofferd, instant_agent, leaver, make_repository, as_admin):
    uid = uid_of("leaver")
    first = Person("leaver")
    repository = make_repository("leaver")
    project = first.add_project(repository, test=["make test"], agents=AGENTS)
    waits = first.create_task(project, "Add a note")
    waits.until("plan-ready")
    works = first.create_task(project, "Say hello. hang-plan")
    works.until("planning")
    provider = first.add_provider("leavers-key", "openai-chat", "https://models.example.org/v1", "a-key-of-the-leavers")
    name = first.properties(project, "Project")["Name"]
    assert {project, waits.path, works.path, provider} <= set(objects(first))
    head = head_of(repository)
    keys = [Path("/var/lib/cofferdam/keys"), provider.rsplit("/", 1)[-1] + "-*"]
    assert list(keys[0].glob(keys[1]))

    # Their processes may still be there: that of a test that kept the connection is.
    run("userdel", "--force", "leaver", check=False)
    run("useradd", "--no-create-home", "--uid", uid, "--groups", "cofferdam", "comer")
    second = Person("comer")
    seen = objects(second)
    assert not {project, waits.path, works.path, provider} & set(seen), seen
    assert second.manager("ListTasks", "(a{sv}tu)", ({}, 0, 100))[0] == []
    assert second.manager("ListEvents", "(tua{sv})", (0, 100, {}))[0] == []
    for number in (waits.id, works.id):
        with pytest.raises(CallError) as unknown:
            second.manager("GetTask", "(t)", (number,))
        assert unknown.value.name == "UnknownObject"
    with pytest.raises(CallError) as unknown:
        second.manager("GetProject", "(s)", (name,))
    assert unknown.value.name == "UnknownObject"
    for call in ((waits.path, "Task", "AcceptPlan", "(sa{sv})", ("sha256:0", {})), (project, "Project", "Set", "(a{sv})", ({},)),
                 (provider, "Provider", "Set", "(a{sv})", ({},))):
        with pytest.raises(CallError) as unknown:
            second.call(*call)
        assert unknown.value.name == "UnknownObject", call
    # Nor has who left and is still connected.
    assert not {project, waits.path, works.path, provider} & set(objects(first))
    assert not list(keys[0].glob(keys[1])), "the key is gone"

    root = Person("root")
    for task in (waits, works):
        assert Task(root, task.path).State == "cancelled", "nobody would decide about it any more"
    assert head_of(repository) == head
    listed = re.sub(r"\x1b\[[0-9;]*m", "", as_admin("coffer", "--no-pager", "project", "list", "--all-users").shown)
    number = project.rsplit("/", 1)[-1]
    assert any(line.split()[:3] == [number, "nobody", name] for line in listed.splitlines()), listed
    removed = run("coffer", "project", "remove", number, "--all-users", "-y")
    assert "removed" in removed.stdout
    assert project not in objects(root)
    first.close()
    second.close()
    root.close()


def test_what_was_a_deleted_users_an_administrator_removes(cofferd, instant_agent, leaver, make_repository):
    person = Person("leaver")
    project = person.add_project(make_repository("leaver"), test=["make test"], agents=AGENTS)
    task = person.create_task(project, "Say hello. hang-plan")
    task.until("planning")
    number = project.rsplit("/", 1)[-1]
    run("userdel", "--force", "leaver", check=False)
    busy = run("coffer", "project", "remove", number, "--all-users", "-y", check=False)
    assert busy.returncode != 0 and str(task.id) in busy.stderr
    run("coffer", "cancel", str(task.id), "--all-users")
    run("coffer", "project", "remove", number, "--all-users", "-y")

    def deleted():
        told = run("coffer", "delete", str(task.id), "--all-users", "-y", check=False)
        assert told.returncode == 0 or "still being taken away" in told.stderr, told.stderr
        return told.returncode == 0
    until(deleted)
    root = Person("root")
    assert not {project, task.path} & set(objects(root))
    person.close()
    root.close()


@pytest.fixture
def silent_directory():
    """A directory of users that takes every question and answers none: what systemd's name service asks after the files."""
    path = Path("/run/systemd/userdb/io.cofferdam.Silent")
    path.parent.mkdir(parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o666)
    listener.listen(64)
    taken = []

    def take():
        while True:
            try:
                taken.append(listener.accept()[0])
            except OSError:
                return
    threading.Thread(target=take, daemon=True).start()
    yield taken
    path.unlink()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for each in taken:
        each.close()


def test_a_name_service_that_hangs_holds_up_nothing_but_what_asks(cofferd, carol, silent_directory):
    root = Person("root")
    provider = root.manager("AddProvider", "(ssa{sv})", ("silent", "openai-chat", variants({"machine": True}) | request()))[0]
    answers = []

    def ask():
        begun = time.monotonic()
        try:
            root.call(provider, "Provider", "Set", "(a{sv})", (request() | variants({"spenders": ["nobody-of-that-name"]}),), timeout=120)
            answers.append((time.monotonic() - begun, None))
        except CallError as error:
            answers.append((time.monotonic() - begun, error))
    asking = threading.Thread(target=ask)
    asking.start()
    end = time.monotonic() + 30
    while not silent_directory and time.monotonic() < end:
        time.sleep(0.05)
    assert silent_directory, "the name service is being asked"
    # A connection of before: the bus itself would ask in which groups a new one's user is.
    longest = 0
    while asking.is_alive() and longest < 5:
        begun = time.monotonic()
        carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 10))
        longest = max(longest, time.monotonic() - begun)
    asking.join()
    assert longest < 5, longest
    (seconds, error), = answers
    assert seconds < 45 and error.name in ("Environment", "NotFound"), error
    if error.name == "Environment":
        assert "nsswitch" in error.message
    root.call(provider, "Provider", "Remove", "(a{sv})", ({},))
    root.close()
