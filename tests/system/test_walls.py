"""coffer-walls as a unit: what it made outlives it, and nobody but its owner can take it away."""

import os
import socket
import struct
import time

import pytest
from conftest import run
from moments import until
from units import active, main_pid

UNIT = "coffer-walls.service"
REQUEST = struct.Struct("<4I64s64s64s4I2BH16s")
NETNS_CREATE, NETNS_REMOVE, HOST_SET = 3, 4, 14
GATEWAY_EXACT = 2
GATEWAY_UID = 0x7A08FFFF
AGENT_UID = 0x7A07FFFF


class Walls:
    """The daemon's side of daemon/walls/request.hpp, written again from its text."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect("/run/cofferdam/walls.sock")

    def call(self, verb, name="", flags=0, kind=0, address=None, port=0):
        packed = socket.inet_aton(address) if address else b""
        request = REQUEST.pack(0x434F4657, 1, verb, flags, name.encode(), b"", b"", 0, 0, 0, kind, 4 if address else 0, 0, port, packed)
        self.socket.sendmsg([request])
        reply, descriptors, _flags, _address = socket.recv_fds(self.socket, 272, 3)
        status, _errno, _value = struct.unpack_from("<iiI", reply, 4)
        assert status == -1, reply[16:].split(b"\0")[0].decode()
        return descriptors


def kill_and_await(bus):
    """kill -9, then until the manager has started it again."""
    before = main_pid(UNIT)
    os.kill(before, 9)
    bus.until(lambda: main_pid(UNIT) not in (0, before) and active(UNIT), sender="org.freedesktop.systemd1")


def reach(uid, port, netns=None):
    """True when that uid reaches 127.0.0.1:port, in the host's network namespace or the one pinned under that name."""
    command = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"]
    if netns:
        command = ["nsenter", f"--net=/run/cofferdam/netns/{netns}", *command]
    return run(*command, check=False).returncode == 0


@pytest.fixture
def walls():
    return Walls()


@pytest.fixture
def service():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_it_has_the_hosts_namespaces_and_starts_with_the_machine():
    pid = main_pid(UNIT)
    for kind in ("mnt", "net", "pid"):
        assert os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/1/ns/{kind}")
    assert run("systemctl", "is-enabled", UNIT).stdout.strip() == "enabled"


def test_a_namespace_and_its_queued_connection_outlive_kill_9(walls, bus):
    name = "system-test-kill"
    walls.call(NETNS_CREATE, name)
    try:
        assert reach(AGENT_UID, 4180, name)
        kill_and_await(bus)
        again = Walls()
        model = socket.socket(fileno=again.call(NETNS_CREATE, name)[0])
        model.settimeout(5)
        model.accept()[0].close()  # the connection that was made before the kill
        assert reach(AGENT_UID, 4180, name)
        assert not reach(AGENT_UID, 4181, name)
    finally:
        Walls().call(NETNS_REMOVE, name)
    assert not os.path.exists(f"/run/cofferdam/netns/{name}")


@pytest.mark.parametrize("how", ["running", "killed", "stopped"])
def test_nobody_can_flush_the_hosts_table(walls, service, bus, how):
    walls.call(HOST_SET, kind=GATEWAY_EXACT, address="127.0.0.1", port=service)
    try:
        if how == "stopped":
            run("systemctl", "stop", UNIT)
        elif how == "killed":
            kill_and_await(bus)
        run("nft", "flush", "ruleset")
        assert run("nft", "delete", "table", "inet", "cofferdam", check=False).returncode != 0
        assert reach(GATEWAY_UID, service)
        assert not reach(AGENT_UID, service)
    finally:
        if how == "stopped":
            run("systemctl", "start", UNIT)
        Walls().call(HOST_SET, flags=8, kind=GATEWAY_EXACT, address="127.0.0.1", port=service)
    assert not reach(GATEWAY_UID, service)
    table = run("nft", "list", "table", "inet", "cofferdam").stdout
    assert "flags owner,persist" in table


def test_it_is_started_again_however_often_it_ends(walls, bus):
    """More often than the ten seconds allow that a unit has by itself: nothing else would start it while cofferd runs."""
    for _ in range(8):
        before = main_pid(UNIT)
        os.kill(before, 9)
        until(lambda: main_pid(UNIT) not in (0, before))  # noqa: B023
    bus.until(lambda: active(UNIT), sender="org.freedesktop.systemd1")
    Walls().call(NETNS_CREATE, "coffer-test-again")
    Walls().call(NETNS_REMOVE, "coffer-test-again")


def test_it_answers_nobody_but_root(as_user):
    result = as_user("alice", "python3", "-c",
                     "import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect('/run/cofferdam/walls.sock')", check=False)
    assert result.returncode != 0
    assert "PermissionError" in result.stderr


def test_ten_namespaces_after_many_cost_what_the_first_ten_did(walls):
    names = [f"system-test-{number}" for number in range(120)]
    try:
        times = []
        for name in names:
            before = time.monotonic()
            for descriptor in walls.call(NETNS_CREATE, name):
                os.close(descriptor)
            times.append(time.monotonic() - before)
        assert sorted(times[-20:])[10] < 5 * sorted(times[:20])[10]
    finally:
        for name in names:
            walls.call(NETNS_REMOVE, name)
