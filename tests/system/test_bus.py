"""The bus as others see it: what is there, who may do what, what is heard, and how the service behaves under systemd."""

import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from conftest import BUS_NAME, MANAGER, ROOT_PATH, login_command, run
from units import active, invocation, main_pid

LOG_PATH = "/org/freedesktop/LogControl1"
LOG = "org.freedesktop.LogControl1"
UNIT = "cofferd.service"
PROVIDER = BUS_NAME + ".Provider"


@pytest.fixture(autouse=True)
def service():
    run("systemctl", "start", UNIT)


def members(interface):
    """What an interface element says, without its documentation."""
    found = set()
    for kind in ("method", "property", "signal"):
        for member in interface.findall(kind):
            words = [kind, member.get("name"), member.get("type") or "", member.get("access") or ""]
            for part in member:
                words += [part.get(key) or "" for key in ("name", "type", "direction", "value")]
            found.add(tuple(words))
    return found


def introspect(path):
    return ElementTree.fromstring(run("busctl", "--xml-interface", "introspect", BUS_NAME, path).stdout)


def test_the_manager_is_there_as_installed():
    live = introspect(ROOT_PATH).find(f"interface[@name='{MANAGER}']")
    file = ElementTree.parse(f"/usr/share/dbus-1/interfaces/{MANAGER}.xml").getroot().find("interface")
    assert members(live) == members(file)


def test_busctl_shows_the_service():
    shown = run("busctl", "introspect", BUS_NAME, ROOT_PATH).stdout
    for member in (".CreateTask", ".Subscribe", ".Version", ".TaskChanged", ".GetManagedObjects"):
        assert member in shown
    assert ROOT_PATH in run("busctl", "tree", BUS_NAME).stdout


def test_a_call_starts_the_service(busctl_json):
    run("systemctl", "stop", UNIT)
    assert busctl_json("get-property", BUS_NAME, ROOT_PATH, MANAGER, "ApiVersion") == 1
    assert active(UNIT)


def test_nobody_else_owns_the_name(as_user):
    run("systemctl", "stop", UNIT)
    taken = as_user("alice", "busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                    "RequestName", "su", BUS_NAME, "0", check=False)
    assert taken.returncode != 0, taken.stdout
    run("systemctl", "start", UNIT)


@pytest.fixture
def add_provider(gdbus_call):
    """A call that changes something and needs no repository: (output, error's name). What it made is removed again."""
    made = []

    def call(user, name, active=True, options="{}"):
        outcome = gdbus_call(user, ROOT_PATH, MANAGER + ".AddProvider", name, "openai-chat", options, active=active)
        made.extend(re.findall(ROOT_PATH + r"/provider/\d+", outcome[0]))
        return outcome
    yield call
    for path in made:
        run("busctl", "call", BUS_NAME, path, PROVIDER, "Remove", "a{sv}", "0")


def denied(outcome):
    return outcome[1] == BUS_NAME + ".Error.AccessDenied"


def test_an_active_session_works_on_its_own_without_a_prompt(add_provider):
    assert not denied(add_provider("alice", "test-active"))


def test_a_session_without_a_seat_is_not_enough(add_provider):
    assert denied(add_provider("alice", "test-remote", active=False))


def test_a_member_of_the_group_needs_no_seat(add_provider):
    assert not denied(add_provider("carol", "test-group", active=False))


def test_an_administrator_without_authentication_changes_nothing_of_the_machine(gdbus_call, add_provider):
    for user in ("alice", "carol", "admin"):
        assert denied(add_provider(user, "test-machine", options="{'machine': <true>}"))
        _, error = gdbus_call(user, ROOT_PATH, MANAGER + ".Reload", "{}")
        assert error == BUS_NAME + ".Error.AccessDenied"


def test_everyone_sees_an_empty_service_of_their_own(busctl_json):
    for user in ("alice", "bob"):
        objects = busctl_json("call", BUS_NAME, ROOT_PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", user=user)
        assert not [path for path in objects[0] if "/task/" in path]


def test_an_object_of_nobody_is_unknown(gdbus_call):
    for interface in (BUS_NAME + ".Task.Cancel", "org.freedesktop.DBus.Properties.GetAll"):
        argument = "{}" if interface.endswith("Cancel") else BUS_NAME + ".Task"
        _, error = gdbus_call("bob", ROOT_PATH + "/task/999999", interface, argument)
        assert error == BUS_NAME + ".Error.UnknownObject"


def test_bob_may_not_listen_to_what_is_not_for_him(as_user):
    monitor = as_user("bob", "busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Monitoring",
                      "BecomeMonitor", "asu", "0", "0", check=False)
    assert monitor.returncode != 0


LISTEN = r"""
import sys
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SYSTEM, None)
seen = []
bus.add_filter(lambda _bus, message, incoming: (seen.append(message.print_(0)) if incoming else None, message)[1])
for rule in ("type='signal'", "type='signal',eavesdrop='true'", "eavesdrop='true'"):
    try:
        bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch",
                      GLib.Variant("(s)", (rule,)), None, 0, -1, None)
    except GLib.Error as error:
        print("refused", rule, error.message, file=sys.stderr)
print("listening", flush=True)
loop = GLib.MainLoop()
GLib.io_add_watch(GLib.IOChannel.unix_new(0), GLib.PRIORITY_LOW, GLib.IOCondition.HUP, lambda *_: loop.quit())
loop.run()
context = GLib.MainContext.default()
# What was sent before this call has arrived before its answer.
bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId", None, None, 0, -1, None)
while context.iteration(False):
    pass
print("\n".join(seen))
"""


class Listener:
    """Somebody who asks the bus for every message it is willing to deliver."""

    def __init__(self, user):
        self.process = subprocess.Popen(login_command(user, ["python3", "-c", LISTEN]), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().strip() == "listening"

    def heard(self):
        return self.process.communicate(timeout=60)[0]


def test_bob_hears_nothing_of_what_alice_sends_and_is_told(gdbus_call, add_provider):
    listener = Listener("bob")
    gdbus_call("alice", ROOT_PATH, MANAGER + ".Subscribe", "{}")
    add_provider("alice", "secret-name")
    gdbus_call("alice", ROOT_PATH, MANAGER + ".ListTasks", "{}", "0", "0")
    heard = listener.heard()
    assert "secret-name" not in heard
    assert BUS_NAME + ".Error" not in heard


def test_the_log_level_is_set_by_systemctl_and_by_nobody_else(gdbus_call):
    assert run("systemctl", "service-log-level", UNIT).stdout.strip() == "info"
    run("systemctl", "service-log-level", UNIT, "debug")
    try:
        assert run("systemctl", "service-log-level", UNIT).stdout.strip() == "debug"
        assert run("systemctl", "service-log-target", UNIT).stdout.strip() == "journal"
        text, error = gdbus_call("alice", LOG_PATH, "org.freedesktop.DBus.Properties.Set", LOG, "LogLevel", "<'info'>")
        assert error == BUS_NAME + ".Error.AccessDenied", text
    finally:
        run("systemctl", "service-log-level", UNIT, "info")


def test_the_start_is_in_the_journal_with_an_entry_in_the_catalog(journal):
    run("systemctl", "restart", UNIT)
    ready = journal.wait("is ready", _SYSTEMD_INVOCATION_ID=invocation(UNIT))
    assert ready["SYSLOG_IDENTIFIER"] == "cofferd"
    assert "Cofferdam is ready" in run("journalctl", "--list-catalog", ready["MESSAGE_ID"]).stdout


def test_reload_is_told_to_systemd():
    run("systemctl", "reload", UNIT)
    assert active(UNIT)


def test_a_daemon_that_hangs_is_started_again(bus):
    first = main_pid(UNIT)
    assert run("systemctl", "show", "-P", "WatchdogUSec", UNIT).stdout.strip() not in ("0", "infinity")
    # A watchdog of its own for this test, so that nobody waits for minutes.
    drop_in = Path("/run/systemd/system/cofferd.service.d/watchdog.conf")
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nWatchdogSec=2s\n")
    try:
        run("systemctl", "daemon-reload")
        run("systemctl", "restart", UNIT)
        first = main_pid(UNIT)
        run("kill", "-STOP", first)

        def restarted():
            now = main_pid(UNIT)
            return now not in (0, first)
        bus.until(restarted, seconds=60, sender="org.freedesktop.systemd1", interface="org.freedesktop.DBus.Properties")
    finally:
        drop_in.unlink()
        drop_in.parent.rmdir()
        run("systemctl", "daemon-reload")
        run("systemctl", "restart", UNIT)


def test_killed_it_comes_back(bus):
    first = main_pid(UNIT)
    run("kill", "-KILL", first)

    # A call before the bus has noticed goes to the one that died.
    def another():
        return main_pid(UNIT) not in (0, first)
    bus.until(another, sender="org.freedesktop.systemd1")
    # The name's activation waits for the start.
    assert run("busctl", "get-property", BUS_NAME, ROOT_PATH, MANAGER, "ApiVersion").stdout.strip() == "u 1"
    assert main_pid(UNIT) != first


def test_it_has_the_four_capabilities_and_no_network():
    pid = main_pid(UNIT)
    status = Path(f"/proc/{pid}/status").read_text()
    chown, read_search, fowner, immutable = 0, 2, 3, 9
    assert re.search(rf"CapBnd:\s*{1 << chown | 1 << read_search | 1 << fowner | 1 << immutable:016x}\n", status)
    assert re.search(r"NoNewPrivs:\s*1", status) and re.search(r"Seccomp:\s*2", status)
    assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/1/ns/net")
    assert os.readlink(f"/proc/{pid}/ns/mnt") != os.readlink("/proc/1/ns/mnt")


def test_what_is_mounted_below_its_runtime_directory_reaches_it():
    pid = main_pid(UNIT)
    place = Path("/run/cofferdam/test-mount")
    place.mkdir()
    try:
        run("mount", "-t", "tmpfs", "test", place)
        assert f" {place} " in Path(f"/proc/{pid}/mountinfo").read_text()
        run("umount", place)
        assert f" {place} " not in Path(f"/proc/{pid}/mountinfo").read_text()
    finally:
        run("umount", place, check=False)
        place.rmdir()


def test_stopping_it_leaves_the_runtime_directory():
    marker = Path("/run/cofferdam/test-marker")
    marker.touch()
    run("systemctl", "stop", UNIT)
    assert marker.exists()
    marker.unlink()
    run("systemctl", "start", UNIT)


def test_it_is_small_when_it_has_started_and_answered():
    """What it needs after work, and how often it wakes, is measured by tests/bench."""
    assert run("busctl", "get-property", BUS_NAME, ROOT_PATH, MANAGER, "ApiVersion").stdout.strip() == "u 1"
    resident = int(re.search(r"VmRSS:\s*(\d+) kB", Path(f"/proc/{main_pid(UNIT)}/status").read_text()).group(1))
    assert resident < 20 * 1024


# busctl starts no agent of its own. polkit's agent is that of one process, which becomes busctl once the agent says it is there.
ASK = """pipe=$(mktemp -u) && mkfifo "$pipe"
pkttyagent --process $$ --fallback --notify-fd 3 3>"$pipe" &
read -r _ <"$pipe"
rm "$pipe"
exec "$@"
"""


def reload(as_admin, password):
    return as_admin("sh", "-c", ASK, "sh", "busctl", "call", BUS_NAME, ROOT_PATH, MANAGER, "Reload", "a{sv}", "0",
                    password=password)


def test_an_administrator_authenticates_for_what_is_the_machines(as_admin):
    terminal = reload(as_admin, "admin")
    assert "configure Cofferdam for all users" in terminal.shown
    assert terminal.returncode == 0, terminal.shown


def test_a_wrong_password_authorises_nothing(as_admin):
    terminal = reload(as_admin, "wrong")
    assert "AUTHENTICATING FOR" in terminal.shown
    assert terminal.returncode != 0, terminal.shown
