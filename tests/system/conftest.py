"""System tests: somebody else's client of a booted machine.

They run as root inside the machine that tests/machine/boot made, with Cofferdam installed, and drive it by busctl, gdbus, coffer
and systemctl. Nothing here sleeps for luck: a wait is for a D-Bus signal, a line of the journal or a change of a file, and has a
deadline that fails the test. A test leaves nothing behind and needs no other to have run.
"""

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pace
import pytest
from command import run
from hold import Hold
from people import Person
from ports import free_port
from repository import Repository
from units import active, main_pid
from waits import WAIT_SECONDS, Bus, Journal, bus, journal, until_file, until_unit  # noqa: F401

BUS_NAME = "org.cofferdam.Cofferdam1"
ROOT_PATH = "/org/cofferdam/Cofferdam1"
MANAGER = BUS_NAME + ".Manager"
# The longest one test may take, whatever it waits for; a longer one says so: @pytest.mark.deadline(300).
TEST_SECONDS = 240 * pace.SLOWER


def pytest_configure(config):
    config.addinivalue_line("markers", "deadline(seconds): the longest this test may take")


class DeadlineExceeded(Exception):
    pass


def pytest_sessionstart(session):
    """An interrupt (tests/run has it sent when there is no more time) fails the test that it meets, and says where that stood."""
    def interrupted(_signal, _frame):
        session.shouldstop = "interrupted"
        raise DeadlineExceeded("the time of all tests was over")

    signal.signal(signal.SIGINT, interrupted)


@pytest.fixture(autouse=True)
def deadline(request):
    marker = request.node.get_closest_marker("deadline")
    seconds = marker.args[0] if marker else TEST_SECONDS

    def expired(_signal, _frame):
        raise DeadlineExceeded(f"the test took more than {seconds} s")

    signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    yield
    signal.alarm(0)


def login_command(user, command, active=True, seat=True, environment=None, tty=False):
    """The command line that runs `command` in a login session of `user`: at the seat (active), or without one (as over ssh).
    For a test that must hold the process itself (pkttyagent on a pty: tty=True)."""
    line = ["systemd-run", "--pty" if tty else "--pipe", "--wait", "--collect", "--quiet", "--service-type=exec",
            "--expand-environment=no", f"--property=User={user}", f"--property=WorkingDirectory=/home/{user}",
            "--property=PAMName=login", "--setenv=XDG_SESSION_TYPE=tty", "--setenv=XDG_SESSION_CLASS=user",
            "--setenv=LANG=C.UTF-8", "--setenv=PATH=/usr/local/bin:/usr/bin:/bin"]
    if active and seat:
        line.append("--setenv=XDG_SEAT=seat0")
    for name, value in (environment or {}).items():
        line.append(f"--setenv={name}={value}")
    return line + ["--", *map(str, command)]


@pytest.fixture
def as_user():
    """as_user("alice", "coffer", "list") runs a command as that user in a session of its own and gives its CompletedProcess.

    active=True: a session at seat0, which polkit calls active. active=False: a session without a seat, as over ssh.
    """
    def call(user, *command, active=True, check=True, timeout=60, input=None, environment=None):
        return run(*login_command(user, command, active=active, environment=environment), check=check, timeout=timeout, input=input)
    return call


class Terminal:
    """What happened on a terminal: everything that was shown, and how the command ended."""

    def __init__(self, shown, returncode):
        self.shown = shown
        self.returncode = returncode


@pytest.fixture
def on_terminal():
    """on_terminal("admin", ["busctl", "call", ...], {"assword:": "admin"}) runs a command in a session without a seat on a terminal,
    so that it may start polkit's text agent, and answers each text when it is shown, once."""
    def call(user, command, answers=None, active=False, timeout=60):
        master, slave = pty.openpty()
        process = subprocess.Popen(login_command(user, command, active=active, tty=True), stdin=slave, stdout=slave, stderr=slave,
                                   start_new_session=True)
        os.close(slave)
        waiting = dict(answers or {})
        shown = b""
        searched = 0
        said = {}
        end = time.monotonic() + timeout
        try:
            while (left := end - time.monotonic()) > 0:
                if not select.select([master], [], [], left)[0]:
                    break
                try:
                    piece = os.read(master, 65536)
                except OSError:  # the other side was closed
                    piece = b""
                if not piece:
                    return Terminal(shown.decode(errors="replace"), process.wait(timeout=10))
                shown += piece
                for text in list(waiting):
                    place = shown.find(text.encode(), searched)
                    if place >= 0:
                        searched = place + len(text)
                        said[waiting[text].encode()] = searched
                        os.write(master, waiting.pop(text).encode() + b"\n")
                # An answer that is echoed came before the prompt turned the echo off, which also throws away what was typed: again.
                for answer, place in list(said.items()):
                    echoed = shown.find(answer, place)
                    if echoed >= 0:
                        said[answer] = echoed + len(answer)
                        os.write(master, answer + b"\n")
            pytest.fail(f"still running after {timeout} s, shown so far:\n{shown.decode(errors='replace')}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            os.close(master)
    return call


@pytest.fixture
def as_admin(on_terminal):
    """as_admin("busctl", "call", ...): as the administrator, who authenticates with the right password when polkit asks."""
    def call(*command, password="admin", timeout=60):
        return on_terminal("admin", command, {"assword:": password}, timeout=timeout)
    return call


def plain(value):
    """What busctl --json calls {"type": ..., "data": ...}, at any depth, as plain values."""
    if isinstance(value, dict):
        if set(value) == {"type", "data"}:
            return plain(value["data"])
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


@pytest.fixture
def busctl_json(as_user):
    """busctl_json("call", BUS_NAME, path, interface, "Method", "s", "text", user="alice") gives the answer as plain values.

    Without user: as root. A D-Bus error is BusError with its name and message.
    """
    def call(*arguments, user=None, active=True, timeout=60):
        command = ["busctl", "--json=short", "--system", *arguments]
        if user is None:
            result = run(*command, check=False, timeout=timeout)
        else:
            result = as_user(user, *command, active=active, check=False, timeout=timeout)
        if result.returncode != 0:
            raise BusError(result.stderr.strip())
        return plain(json.loads(result.stdout)) if result.stdout.strip() else None
    return call


class BusError(Exception):
    """What busctl said of a failed call."""


def gdbus_error(text):
    """The D-Bus error's name in what gdbus printed ("GDBus.Error:NAME: message"), or None."""
    marker = "GDBus.Error:"
    return text.split(marker, 1)[1].split(":", 1)[0].strip() if marker in text else None


@pytest.fixture
def gdbus_call(as_user):
    """gdbus_call("alice", path, "org.cofferdam.Cofferdam1.Task.Cancel", "{}") gives (output, None) or (text, error's name)."""
    def call(user, path, method, *arguments, destination=BUS_NAME, active=True, timeout=60):
        result = as_user(user, "gdbus", "call", "--system", "--dest", destination, "--object-path", path, "--method", method,
                         "--", *arguments, active=active, check=False, timeout=timeout)
        if result.returncode == 0:
            return result.stdout.strip(), None
        return result.stderr.strip(), gdbus_error(result.stderr)
    return call


@pytest.fixture
def coffer(as_user):
    """coffer("alice", "list") gives the CompletedProcess; coffer("alice", "show", "17", json=True) the object it printed."""
    def call(user, *arguments, json_output=False, json=False, check=True, active=True, timeout=60, input=None, cwd=None):
        words = ["coffer", *arguments, *(["--json"] if json or json_output else [])]
        if cwd is not None:
            words = ["env", f"--chdir={cwd}", *words]
        result = as_user(user, *words, active=active, check=check, timeout=timeout, input=input)
        return loads(result.stdout) if (json or json_output) and result.returncode == 0 else result
    return call


loads = json.loads


class Daemon:
    """cofferd, as systemd runs it."""

    unit = "cofferd.service"

    def start(self):
        run("systemctl", "start", self.unit)

    def stop(self):
        run("systemctl", "stop", self.unit)

    def restart(self):
        run("systemctl", "restart", self.unit)

    def pid(self):
        return main_pid(self.unit)

    def kill(self, number=signal.SIGKILL):
        """Ends the process itself, as a crash does, and returns when it is gone."""
        pid = self.pid()
        assert pid > 0, "cofferd does not run"
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, number)
            assert select.select([handle], [], [], WAIT_SECONDS)[0], "cofferd did not end"
        finally:
            os.close(handle)


@pytest.fixture
def cofferd():
    """cofferd, running when the test begins and when it ends."""
    daemon = Daemon()
    daemon.start()
    yield daemon
    run("systemctl", "reset-failed", daemon.unit, check=False)
    daemon.start()


@pytest.fixture
def make_repository():
    """make_repository("bob") gives a new Repository of bob with one commit on main; it is removed after the test."""
    made = []

    def make(user="alice", name=None):
        directory = f"/home/{user}/{name or f'sample-{os.getpid()}-{len(made)}'}"
        made.append(directory)
        return Repository.create(user, directory)

    yield make
    for directory in made:
        run("rm", "-rf", "--one-file-system", directory)


@pytest.fixture
def sample_repository(make_repository):
    """alice's."""
    return make_repository("alice")


@pytest.fixture
def carol():
    """A member of the group, on the bus."""
    person = Person("carol")
    yield person
    person.close()


@pytest.fixture
def repository(make_repository):
    """carol's."""
    return make_repository("carol")


@pytest.fixture
def project(cofferd, instant_agent, carol, repository):
    """carol's repository with the agent that needs no model in every role; what is left of its tasks ends with the test."""
    path = carol.add_project(repository, build=["make"], test=["make test"], agents={role: "instant" for role in ("planner", "writer", "reviewer")})
    yield path
    carol.end_project(path)


TESTS = Path(__file__).resolve().parents[1]


def reload_cofferd():
    if active(Daemon.unit):
        run("systemctl", "reload", Daemon.unit)


@contextlib.contextmanager
def own_limits():
    """Gives say("free-space-mib = 1"), after which these are [limits] of the administrator's file; afterwards all is as it was."""
    file = Path("/etc/cofferdam/cofferd.toml")
    before = file.read_text(encoding="utf-8")

    def say(limits):
        file.write_text(f"{before}\n[limits]\n{limits}\n" if limits else before, encoding="utf-8")
        reload_cofferd()

    try:
        yield say
    finally:
        say("")


@pytest.fixture
def setting():
    """own_limits() of this test."""
    with own_limits() as say:
        yield say


@pytest.fixture(scope="session")
def instant_agent():
    """The agent "instant" (tests/agents): every role in milliseconds without a model, switched by words in the request."""
    script, description = Path("/opt/agents/bin/cofferdam-instant"), Path("/etc/cofferdam/agents/instant.toml")
    run("install", "-D", "-m", "0755", TESTS / "agents" / "instant.sh", script)
    run("install", "-D", "-m", "0644", TESTS / "agents" / "instant.toml", description)
    reload_cofferd()
    yield "instant"
    script.unlink()
    description.unlink()
    reload_cofferd()


@pytest.fixture
def hold():
    """A Hold of this test."""
    with Hold() as hold:
        yield hold


class ScriptedModel:
    """tests/model on loopback, and what was asked of it."""

    kinds = ("openai-responses", "openai-chat", "anthropic")

    def __init__(self, port, key, log):
        self.url = f"http://127.0.0.1:{port}/v1"
        self.key = key
        self.log = Path(log)

    def requests(self):
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def unexpected(self):
        """What no scenario foresaw: a test that used the model fails for it."""
        return [request for request in self.requests() if "unexpected" in request or "broken" in request]


@pytest.fixture
def scripted_model(tmp_path):
    """A ScriptedModel with a key of its own, which gateways may reach because the administrator's file names its address."""
    port = free_port()
    model = ScriptedModel(port, uuid.uuid4().hex, tmp_path / "model.log")
    unit = f"scripted-model-{port}"
    file = Path(f"/etc/cofferdam/providers/scripted-{port}.toml")
    file.parent.mkdir(parents=True, exist_ok=True)
    kinds = ", ".join(f'"{kind}"' for kind in model.kinds)
    file.write_text(f'title = "Scripted"\nkinds = [{kinds}]\nbase-url = "{model.url}"\nallow-addresses = ["127.0.0.1:{port}"]\n',
                    encoding="utf-8")
    run("systemd-run", "--quiet", f"--unit={unit}", "python3", TESTS / "model" / "serve.py", "--port", port, "--key", model.key,
        "--log", model.log)
    run("curl", "--silent", "--fail", "--retry", "100", "--retry-delay", "1", "--retry-max-time", "30", "--retry-connrefused",
        f"{model.url}/models")
    reload_cofferd()
    yield model
    run("systemctl", "stop", unit, check=False)
    file.unlink()
    reload_cofferd()
    assert model.unexpected() == []
