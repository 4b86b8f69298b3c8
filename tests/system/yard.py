"""A folder of one user in which repositories of every kind are made, and `coffer` as that user runs it; one for all tests of a module."""

import json
import os
import uuid
from pathlib import Path

import pytest
from command import run
from conftest import Daemon
from people import CallError, Person
from repository import Repository

AGENTS = {role: "instant" for role in ("planner", "writer", "reviewer")}


class Answer:
    """How a `coffer --json` ended: its code, what it printed, and its error's name and sentence (empty when it went well)."""

    def __init__(self, result):
        self.code = result.returncode
        self.notes = result.stderr
        self.object = json.loads(result.stdout) if result.stdout.strip() else {}
        error = self.object.get("Error", {})
        self.name, self.message, self.next = (error.get(key, "") for key in ("Name", "Message", "Next"))


class Yard:
    def __init__(self, user):
        self.user = user
        self.top = Path(f"/home/{user}/yard-{uuid.uuid4().hex[:8]}")
        run("install", "-d", "-o", user, "-g", user, self.top)
        self.base = self.repository("base")
        self.base.commit("Again", **{"again.txt": "again\n"})

    def repository(self, name):
        """A new Repository with one commit on main."""
        return Repository.create(self.user, self.top / name)

    def run(self, *command, cwd=None, check=True, input=None):
        """A command as the user, without a session, in the yard or below it. Words and input may be bytes."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": f"/home/{self.user}", "LANG": "C.UTF-8", "GIT_AUTHOR_NAME": "Carol",
                       "GIT_AUTHOR_EMAIL": "carol@example.org", "GIT_COMMITTER_NAME": "Carol", "GIT_COMMITTER_EMAIL": "carol@example.org",
                       "GIT_CONFIG_COUNT": "3", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Carol Example",
                       "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "carol@example.org",
                       "GIT_CONFIG_KEY_2": "protocol.file.allow", "GIT_CONFIG_VALUE_2": "always"}
        words = [word if isinstance(word, bytes) else str(word) for word in command]
        return run("setpriv", "--reuid", self.user, "--regid", self.user, "--init-groups", *words, check=check, input=input,
                   cwd=cwd or self.top, env=environment)

    def shell(self, script, cwd=None):
        return self.run("sh", "-ec", script, cwd=cwd).stdout

    def coffer(self, *words, cwd=None, input=None):
        return Answer(self.run("coffer", *words, "--json", cwd=cwd, check=False, input=input))

    def everything(self, path):
        """What is at a path and below it, to see that nothing of it was changed."""
        place = os.fsencode(self.top / os.fsdecode(path))
        return run("find", place, "-printf", "%p %y %m %U %T@ %s %l\n", check=False).stdout

    def remove(self, *names):
        for name in names:
            run("rm", "-rf", "--one-file-system", os.fsencode(self.top) + b"/" + os.fsencode(name))

    def close(self):
        run("rm", "-rf", "--one-file-system", self.top)


def says(error, name, *words):
    """The error is of that name, and its sentence has the words; `error` is a CallError or an Answer."""
    assert error.name == name, f"{error.name}: {error.message}"
    for word in words:
        assert word in error.message, error.message


def refused(person, path, interface, method, signature, values):
    with pytest.raises(CallError) as caught:
        person.call(path, interface, method, signature, values)
    return caught.value


@pytest.fixture(scope="module")
def carol(instant_agent):
    Daemon().start()
    person = Person("carol")
    yield person
    person.close()


@pytest.fixture(scope="module")
def yard(carol):
    yard = Yard("carol")
    yield yard
    yard.close()


@pytest.fixture(scope="module")
def project(carol, yard):
    path = carol.add_project(yard.base, test=["true"], agents=AGENTS)
    yield path
    carol.end_project(path)
