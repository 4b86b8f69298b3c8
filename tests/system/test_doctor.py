"""What `coffer doctor` says of the machine, each failing check with its cause really made, and that a task which is refused because of
it is told the same words."""

import contextlib
import json
import os
import threading
import time
from pathlib import Path

import pytest
from conftest import run
from moments import until
from people import CallError, Person

pytestmark = pytest.mark.deadline(400)
AGENTS = {"planner": "instant", "writer": "instant", "reviewer": "instant"}
PROVEN = Path("/run/cofferdam/canary")


@pytest.fixture
def project(cofferd, instant_agent, make_repository, carol):
    path = carol.add_project(make_repository("carol"), test=["make test"], agents=AGENTS)
    yield path
    carol.end_project(path)


def checks(person):
    return {row["name"]: row for row in person.manager("CheckSystem", "(a{sv})", ({},), timeout=30)[0]}


def words(check):
    """What somebody is told who is refused because of it."""
    return f"{check['problem']}. To mend it: {check['remedy']}"


@contextlib.contextmanager
def changed(path, text):
    """A file of the machine with another text, while the block runs."""
    path = Path(path)
    before = path.read_bytes() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    try:
        yield path
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)


@contextlib.contextmanager
def covered(path, by):
    """A path in the host's mount namespace with something else mounted over it."""
    run("mount", "--bind", by, path)
    try:
        yield
    finally:
        run("umount", path)


def refused_task(person, project, check):
    """A task that is made now is parked with the words of the check; mended and retried it goes on."""
    task = person.create_task(project, "Say more")
    assert task.until("parked", "plan-ready") == "blocked"
    code, told, _ = task.Waiting
    assert code == "Sandbox" and told == "no sandbox is started: " + words(check)
    assert task.runs() == [], "nothing was started"
    return task


def goes_on(person, task):
    person.call(task.path, "Task", "Retry", "(a{sv})", ({},))
    task.until("plan-ready")


def test_a_healthy_machine_has_warnings_at_most_and_exits_0(project, carol, coffer):
    carol.create_task(project, "Say more").until("plan-ready")
    told = coffer("carol", "doctor", json=True)["Checks"]
    assert [check for check in told if check["state"] == "failed"] == []
    rows = {check["name"]: check for check in told}
    assert len(rows) == len(told), "each has a name of its own"
    assert {"kernel", "systemd", "cgroup-memory", "cgroup-pids", "nss-systemd", "coffer-walls", "loop-devices", "nftables", "user-namespaces",
            "tproxy", "uids", "sandbox", "polkit", "time", "configuration", "agent-codex", "agent-instant", "disk", "disk-share", "you"} <= set(rows)
    assert rows["systemd"]["text"].split()[1].startswith("257") and rows["kernel"]["text"] == f"Linux {os.uname().release}"
    lacks = [name for name in ("memory", "pids") if name not in Path("/sys/fs/cgroup/cgroup.controllers").read_text().split()]
    for name in lacks:
        assert rows[f"cgroup-{name}"]["state"] == "warning" and "accept-missing" in rows[f"cgroup-{name}"]["remedy"]
    assert "was tried" in rows["sandbox"]["text"]
    for check in told:
        assert (check["state"] == "ok") == (check["problem"] == "") == (check["remedy"] == ""), check


def test_doctor_says_below_the_row_what_is_wrong_and_what_mends_it(cofferd, coffer):
    with covered("/dev/loop-control", "/dev/null"):
        told = coffer("carol", "doctor", check=False)
    assert told.returncode == 1
    lines = told.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("loop-devices"))
    assert lines[at].split()[1] == "failed" and lines[at + 1].startswith("  wrong: no disk image") and "modprobe loop" in lines[at + 2]
    assert "\x1b" not in told.stdout


def test_loop_devices_that_cannot_be_had(project, carol):
    carol.create_task(project, "Say more").until("plan-ready")
    with covered("/dev/loop-control", "/dev/null"):
        check = checks(carol)["loop-devices"]
        assert check["state"] == "failed"
        task = refused_task(carol, project, check)
    assert checks(carol)["loop-devices"]["state"] == "ok"
    goes_on(carol, task)


def test_user_namespaces_that_cannot_be_made(project, carol):
    # (The kernel's own number is the whole host's; a drop-in that takes them from coffer-walls is this machine's.)
    folder = Path("/run/systemd/system/coffer-walls.service.d")
    try:
        with changed(folder / "no-users.conf", "[Service]\nRestrictNamespaces=\nRestrictNamespaces=net\n"):
            run("systemctl", "daemon-reload")
            run("systemctl", "restart", "coffer-walls.service")
            check = checks(carol)["user-namespaces"]
            assert check["state"] == "failed" and "max_user_namespaces" in check["remedy"]
            task = refused_task(carol, project, check)
    finally:
        folder.rmdir()
        run("systemctl", "daemon-reload")
        run("systemctl", "restart", "coffer-walls.service")
    goes_on(carol, task)


def test_names_that_are_not_found(project, carol):
    text = Path("/etc/nsswitch.conf").read_text()
    with changed("/etc/nsswitch.conf", "\n".join(line.replace(" systemd", "") for line in text.splitlines()) + "\n"):
        check = checks(carol)["nss-systemd"]
        assert check["state"] == "failed" and "passwd: and group:" in check["remedy"]
        task = refused_task(carol, project, check)
    goes_on(carol, task)


def test_walls_that_do_not_answer_hold_up_nobody(cofferd, project, carol):
    def connections():
        return Path(f"/proc/{cofferd.pid()}/net/unix").read_text().count("/run/cofferdam/walls.sock")

    other = Person("alice")
    run("systemctl", "kill", "--signal=STOP", "coffer-walls.service")
    try:
        # The bus keeps the order of one connection's calls, and that of the answers: the later call overtakes the look.
        calls = (("Manager", "CheckSystem", "(a{sv})", ({},)), ("Manager", "ListTasks", "(a{sv}tu)", ({}, 0, 1)))
        answers, ended = [], []
        thread = threading.Thread(target=lambda: (answers.extend(carol.answers(*calls)), ended.append(time.monotonic())))
        before = connections()
        thread.start()
        until(lambda: connections() > before)
        checks(other)
        thread.join()
        assert [method for method, _ in answers] == ["ListTasks", "CheckSystem"], "cofferd answers other calls meanwhile"
        assert time.monotonic() - ended[0] > 3.9, "who asks while it looks waits for the next look, after a pause"
        slow = {row["name"]: row for row in answers[1][1][0]}
        check = slow["coffer-walls"]
        assert check["state"] == "failed" and "did not answer" in check["problem"]
        assert "loop-devices" not in slow, "what nobody tried is not said"
        task = refused_task(carol, project, check)
    finally:
        run("systemctl", "kill", "--signal=CONT", "coffer-walls.service")
        other.close()
    goes_on(carol, task)


def test_polkit_that_is_away(cofferd, carol):
    run("systemctl", "mask", "--runtime", "--now", "polkit.service")
    try:
        check = checks(carol)["polkit"]
        assert check["state"] == "failed" and "polkit" in check["remedy"]
        with pytest.raises(CallError) as refused:
            carol.manager("CreateTask", "(osa{sv})", ("/org/cofferdam/Cofferdam1/project/1", "x", {}))
        assert refused.value.name == "AccessDenied" and refused.value.message == words(check)
    finally:
        run("systemctl", "unmask", "--runtime", "polkit.service")
        run("systemctl", "start", "polkit.service")
    assert checks(carol)["polkit"]["state"] == "ok"


def test_a_configuration_file_with_a_fault_and_the_agent_it_was_to_describe(cofferd, carol, coffer, make_repository, instant_agent):
    good = Path("/etc/cofferdam/agents/instant.toml").read_text()
    with changed("/etc/cofferdam/agents/faulty.toml", good) as path:
        run("systemctl", "reload", "cofferd.service")
        path_ = carol.add_project(make_repository("carol"), test=["true"], agents={role: "faulty" for role in AGENTS})
        path.write_text('title = "Faulty"\ncolour = "red"\n')
        # The last good one would stay; a daemon that starts has none.
        cofferd.restart()
        try:
            rows = checks(carol)
            fault = next(row for name, row in rows.items() if name.startswith("configuration"))
            assert fault["state"] == "failed" and fault["problem"].startswith(f"{path}:") and str(path) in fault["remedy"]
            assert rows["agent-faulty"]["state"] == "failed"
            with pytest.raises(CallError) as refused:
                carol.create_task(path_, "Say more")
            assert refused.value.name == "NoAgent" and refused.value.message == words(rows["agent-faulty"])
            assert "has a fault" in coffer("carol").stdout
            listed = coffer("carol", "agent", "list")
            assert "its file has a fault" in listed.stdout and f"{path}:" in listed.stderr
            name = carol.properties(path_, "Project")["Name"]
            assert f"{path}:" in coffer("carol", "project", "show", name).stdout
            assert coffer("carol", "doctor", check=False).returncode == 1
        finally:
            carol.end_project(path_)
    run("systemctl", "reload", "cofferd.service")
    assert checks(carol)["configuration"]["state"] == "ok"


def test_an_agent_that_a_project_asks_for_and_that_is_not_installed(cofferd, carol, make_repository, instant_agent):
    description = Path("/etc/cofferdam/agents/instant.toml").read_text()
    with changed("/etc/cofferdam/agents/absent.toml", description.replace("/opt/agents/bin/cofferdam-instant", "/opt/agents/bin/absent")):
        run("systemctl", "reload", "cofferd.service")
        assert checks(carol)["agent-absent"]["state"] == "ok", "nobody asks for it"
        project = carol.add_project(make_repository("carol"), test=["true"], agents={"writer": "absent"})
        try:
            check = checks(carol)["agent-absent"]
            assert check["state"] == "failed" and "/opt/agents/bin/absent is not there" in check["problem"]
        finally:
            carol.end_project(project)
    run("systemctl", "reload", "cofferd.service")


def test_a_provider_without_a_key_and_an_agent_without_a_provider(cofferd, carol, make_repository):
    rows = checks(carol)
    check = rows["agent-codex"]
    assert check["state"] == "warning" and check["remedy"] == "coffer provider add openai --kind openai"
    project = carol.add_project(make_repository("carol"), test=["true"], agents={role: "codex:m" for role in AGENTS})
    provider = carol.manager("AddProvider", "(ssa{sv})", ("keyless", "openai", {}))[0]
    try:
        assert checks(carol)["provider-keyless"]["remedy"] == "coffer provider key keyless"
        with pytest.raises(CallError) as refused:
            carol.create_task(project, "Say more")
        assert refused.value.name == "NoProvider" and refused.value.message == words(check)
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))
        carol.end_project(project)


def test_a_disk_that_is_full_to_its_floor(project, carol, journal, setting):
    setting("free-space-mib = 1000000000")
    check = checks(carol)["disk"]
    assert check["state"] == "failed" and "free-space-mib" in check["problem"]
    task = carol.create_task(project, "Say more")
    journal.wait("It waits for room on the disk", COFFER_TASK=task.id)
    # What is free changes by the moment.
    numbers = "".join(c for c in check["problem"] if not c.isdigit())
    assert numbers in "".join(c for c in task.Waiting[1] if not c.isdigit()) and check["remedy"] in task.Waiting[1]
    setting("")
    task.until("plan-ready")


def test_a_clock_before_what_happened_last(cofferd, carol, project, tmp_path):
    """The newest event is of the future: as it is when a machine's clock was set back."""
    carol.create_task(project, "Say more").until("plan-ready")
    database = "/var/lib/cofferdam/cofferd.db"
    query = ("import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); n = c.execute('select max(sequence) from events').fetchone()[0]; "
             "old = c.execute('select at from events where sequence = ?', (n,)).fetchone()[0]; "
             "c.execute('update events set at = ? where sequence = ?', (int(sys.argv[2]) or old, n)); c.commit(); print(old)")
    old = run("python3", "-c", query, database, str(int((time.time() + 7200) * 1_000_000))).stdout.strip()
    try:
        check = checks(carol)["time"]
        assert check["state"] == "failed" and "before the newest thing" in check["problem"] and check["remedy"] == "timedatectl set-ntp true"
    finally:
        run("python3", "-c", query, database, old)
    assert checks(carol)["time"]["state"] != "failed"


def test_anybody_may_ask_and_nobody_too_often(cofferd, carol):
    alice = Person("alice")
    bound = 4
    results = []

    def ask(person):
        try:
            results.append(checks(person))
        except CallError as error:
            results.append(error.name)

    connections = [Person("alice") for _ in range(3 * bound)]
    began = time.monotonic()
    threads = [threading.Thread(target=ask, args=(person,)) for person in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "Limit" in results and any(isinstance(result, dict) for result in results)
    # Two looks are at least the pause apart, whoever asks.
    checks(carol)
    checks(alice)
    assert time.monotonic() - began > 1.9
    for person in [alice, *connections]:
        person.close()


def test_without_cofferd_it_tells_what_can_be_told(cofferd, coffer):
    run("systemctl", "mask", "--runtime", "--now", "cofferd.service")
    try:
        told = coffer("alice", "doctor", "--json", check=False)
        assert told.returncode == 7
        rows = {check["name"]: check for check in json.loads(told.stdout)["Checks"]}
        assert rows["systemd"]["state"] == rows["bus"]["state"] == rows["bus-policy"]["state"] == rows["coffer-walls"]["state"] == "ok"
        assert rows["cofferd"]["state"] == "failed" and rows["cofferd"]["remedy"] == "systemctl unmask cofferd"
        assert rows["you"]["state"] == "ok" and "active session" in rows["you"]["text"]
    finally:
        run("systemctl", "unmask", "--runtime", "cofferd.service")
    # Over ssh there is no seat: without the group each decision wants an administrator.
    away = coffer("alice", "doctor", "--json", active=False, check=False)
    rows = {check["name"]: check for check in json.loads(away.stdout)["Checks"]}
    assert rows["you"]["state"] == "warning" and "adduser alice cofferdam" in rows["you"]["remedy"]


def test_a_cofferd_that_does_not_start_is_told_with_where_to_look(cofferd, coffer):
    folder = Path("/run/systemd/system/cofferd.service.d")
    folder.mkdir(parents=True)
    (folder / "broken.conf").write_text("[Service]\nExecStart=\nExecStart=/bin/false\nRestart=no\n", encoding="utf-8")
    try:
        run("systemctl", "daemon-reload")
        run("systemctl", "restart", "cofferd.service", check=False)
        told = coffer("carol", "doctor", check=False)
        assert told.returncode == 7 and "journalctl -u cofferd -n 20" in told.stdout
        assert "does not answer" in told.stderr
    finally:
        (folder / "broken.conf").unlink()
        folder.rmdir()
        run("systemctl", "daemon-reload")
        run("systemctl", "reset-failed", "cofferd.service", check=False)


def test_a_bus_without_our_policy_is_told(cofferd, coffer):
    policy = "/usr/share/dbus-1/system.d/org.cofferdam.Cofferdam1.conf"
    kept = policy + ".kept"
    reload = ("busctl", "--quiet", "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "ReloadConfig")
    run("mv", policy, kept)
    try:
        run(*reload)
        told = coffer("carol", "doctor", "--json", check=False)
        rows = {check["name"]: check for check in json.loads(told.stdout)["Checks"]}
        assert told.returncode in (3, 7) and rows["bus-policy"]["state"] == "failed" and policy in rows["bus-policy"]["problem"]
    finally:
        run("mv", kept, policy)
        run(*reload)
