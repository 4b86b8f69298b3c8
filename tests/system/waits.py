"""Waits by what is told: signals of the bus, lines of the journal, changes of a file. Each has a deadline that fails the test."""

import json
import os
import select
import subprocess
import time
from pathlib import Path

import pace
import pytest
from command import run
from gi.repository import Gio, GLib

# The longest a single wait may take, unless it says otherwise.
WAIT_SECONDS = 60 * pace.SLOWER


class Bus:
    """root's connection to the system bus, for waiting by signals."""

    def __init__(self):
        self.context = GLib.MainContext.new()
        self.context.push_thread_default()
        address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SYSTEM, None)
        self.connection = Gio.DBusConnection.new_for_address_sync(
            address, Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
        self.connection.set_exit_on_close(False)
        self.call("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "Subscribe")

    def close(self):
        self.connection.close_sync(None)
        self.context.pop_thread_default()

    def call(self, destination, path, interface, method, arguments=None, timeout=WAIT_SECONDS):
        """arguments: a GLib.Variant tuple or None. Gives the answer unpacked."""
        answer = self.connection.call_sync(destination, path, interface, method, arguments, None, Gio.DBusCallFlags.NONE,
                                           timeout * 1000, None)
        return answer.unpack()

    def property(self, destination, path, interface, name):
        return self.call(destination, path, "org.freedesktop.DBus.Properties", "Get", GLib.Variant("(ss)", (interface, name)))[0]

    def until(self, condition, seconds=WAIT_SECONDS, sender=None, interface=None, member=None, path=None):
        """Asks `condition` now and after every signal that matches, until it is true; gives what it said. A condition that takes
        an argument gets the last signal as (path, interface, member, values), first None."""
        received = []
        subscription = self.connection.signal_subscribe(
            sender, interface, member, path, None, Gio.DBusSignalFlags.NONE,
            lambda _c, _sender, at, of, name, values: received.append((at, of, name, values.unpack())))
        expired = []
        timer = GLib.timeout_source_new(int(seconds * 1000))
        timer.set_callback(lambda *_: expired.append(True) or False)
        timer.attach(self.context)
        takes_signal = condition.__code__.co_argcount > 0 if hasattr(condition, "__code__") else False
        try:
            pending = [None]
            while True:
                for item in pending:
                    value = condition(item) if takes_signal else condition()
                    if value:
                        return value
                if expired:
                    pytest.fail(f"not so after {seconds} s: {getattr(condition, '__name__', condition)}")
                while not received and not expired:
                    self.context.iteration(True)
                pending, received[:] = list(received), []
        finally:
            timer.destroy()
            self.connection.signal_unsubscribe(subscription)


@pytest.fixture
def bus():
    connection = Bus()
    yield connection
    connection.close()


@pytest.fixture
def until_unit(bus):
    """until_unit("name.service", "inactive", "failed") waits until the unit is in one of the states (no such unit: "inactive")."""
    def wait(unit, *states, seconds=WAIT_SECONDS):
        def reached():
            state = run("systemctl", "is-active", unit, check=False).stdout.strip()
            return state if state in states else None
        return bus.until(reached, seconds, sender="org.freedesktop.systemd1")
    return wait


class Journal:
    """The machine's journal from the moment the test began."""

    def __init__(self):
        shown = run("journalctl", "--no-pager", "--lines=0", "--show-cursor").stdout
        self.cursor = shown.split("-- cursor: ", 1)[1].strip() if "-- cursor: " in shown else None

    def _command(self, matches):
        line = ["journalctl", "--no-pager", "--output=json", "--all"]
        line += [f"--after-cursor={self.cursor}"] if self.cursor else ["--boot"]
        return line + [f"{name}={value}" for name, value in matches.items()]

    def entries(self, **matches):
        """Entries since the test began whose fields are these, as dictionaries."""
        run("journalctl", "--sync")
        return [json.loads(line) for line in run(*self._command(matches)).stdout.splitlines()]

    def wait(self, text=None, seconds=WAIT_SECONDS, **matches):
        """The first entry since the test began with these fields and `text` in its message."""
        follow = subprocess.Popen([*self._command(matches), "--follow", "--no-tail"], stdout=subprocess.PIPE, text=False)
        end = time.monotonic() + seconds
        rest = b""
        try:
            while (left := end - time.monotonic()) > 0:
                if not select.select([follow.stdout], [], [], left)[0]:
                    break
                piece = os.read(follow.stdout.fileno(), 65536)
                if not piece:
                    break
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    entry = json.loads(line)
                    if text is None or text in str(entry.get("MESSAGE", "")):
                        return entry
        finally:
            follow.kill()
            follow.wait()
            follow.stdout.close()
        pytest.fail(f"no such line in the journal after {seconds} s: {matches} {text or ''}")


@pytest.fixture
def journal():
    return Journal()


@pytest.fixture
def until_file():
    """until_file(path) waits until the file is there (a directory above it must be); until_file(path, gone=True) the reverse."""
    def wait(path, gone=False, seconds=WAIT_SECONDS):
        path = Path(path)
        context = GLib.MainContext.new()
        context.push_thread_default()
        monitor = Gio.File.new_for_path(str(path.parent)).monitor_directory(Gio.FileMonitorFlags.WATCH_MOVES, None)
        monitor.set_rate_limit(0)
        monitor.connect("changed", lambda *_: None)
        expired = []
        timer = GLib.timeout_source_new(int(seconds * 1000))
        timer.set_callback(lambda *_: expired.append(True) or False)
        timer.attach(context)
        try:
            while path.exists() == gone:
                if expired:
                    pytest.fail(f"{path} {'still' if gone else 'not'} there after {seconds} s")
                context.iteration(True)
        finally:
            timer.destroy()
            monitor.cancel()
            context.pop_thread_default()
        return path
    return wait
