"""What one task, one user and the machine may use, and what is not started because it would not hold."""

import json
import os
import pwd
import signal
import sqlite3
import threading
from pathlib import Path

import pytest
from conftest import run
from moments import until
from people import CallError, Person, variants
from test_policies import PLAN, held_back  # noqa: F401
from units import active, main_pid

pytestmark = pytest.mark.deadline(400)
AGENTS = {"planner": "instant", "writer": "instant", "reviewer": "instant"}
SETTINGS = Path("/etc/cofferdam/cofferd.toml")
PROVEN = Path("/run/cofferdam/canary")


@pytest.fixture
def project(cofferd, instant_agent, make_repository, carol):
    path = carol.add_project(make_repository("carol"), test=["make test"], agents=AGENTS)
    yield path
    carol.end_project(path)


def test_a_turn_waits_for_room_on_the_disk_and_goes_on_by_itself(carol, project, setting, journal):
    setting("free-space-mib = 1000000000")
    task = carol.create_task(project, "Say more")
    journal.wait("It waits for room on the disk", COFFER_TASK=task.id)
    code, words, _ = task.Waiting
    assert code == "space" and "goes on by itself" in words
    assert task.runs() == [] and task.Parked == ""
    setting("")
    task.until("plan-ready")
    assert task.Waiting[0] == "plan"


def test_a_task_that_waits_for_room_can_be_cancelled(carol, project, setting, journal):
    setting("free-space-mib = 1000000000")
    task = carol.create_task(project, "Say more")
    journal.wait("It waits for room on the disk", COFFER_TASK=task.id)
    task.cancel()
    journal.wait(f"task {task.id} is cancelled")
    image = Path(f"/var/lib/cofferdam/tasks/{task.id}/image")
    while image.exists():  # gone with the clean-up, which is the last event
        assert task.State == "cancelled"
        carol.call(task.path, "Task", "Wait", "(tt)", (task.Sequence, 1_000_000))


def test_what_a_users_tasks_may_take_is_bounded(carol, project, setting, journal):
    setting("user-disk-mib = 1")
    task = carol.create_task(project, "Say more")
    journal.wait("It waits for room among its owner's tasks", COFFER_TASK=task.id)
    assert task.Waiting[0] == "user-space"
    setting("")
    task.until("plan-ready")


def test_a_users_tasks_at_once_are_bounded(carol, project, setting, journal, bus):
    setting("user-tasks-at-once = 1\ntasks-at-once = 4")
    first = carol.create_task(project, "hang-plan")
    bus.until(lambda: active(f"coffer-{first.id}-0-planner-1.service"), sender="org.freedesktop.systemd1")
    second = carol.create_task(project, "Say more")
    journal.wait("It waits for another task of its owner", COFFER_TASK=second.id)
    assert second.Waiting[0] == "user-slot"
    manager = carol.properties("/org/cofferdam/Cofferdam1", "Manager")
    assert (manager["Running"], manager["Waiting"]) == (1, 0), "what waits for a place has nothing running"
    first.cancel()
    second.until("plan-ready")


def test_what_begins_at_once_is_not_refused_for_being_many(cofferd, carol, repository):
    """Each asks coffer-walls, which takes 16 connections, whether a sandbox can be had. It stands still while they come."""
    settings = variants({"author-name": "Carol Example", "author-email": "carol@example.org"})
    pid = main_pid("coffer-walls.service")
    os.kill(pid, signal.SIGSTOP)
    going_on = threading.Timer(1, os.kill, (pid, signal.SIGCONT))
    going_on.start()
    answers = [answer for _, answer in carol.answers(*[("Manager", "AddProject", "(aysa{sv})", (str(repository.directory).encode(), f"at-once-{n}", settings))
                                                       for n in range(12)], timeout=150)]
    going_on.join()
    carol.projects += [answer[0] for answer in answers if not isinstance(answer, CallError)]
    assert [str(answer) for answer in answers if isinstance(answer, CallError)] == []


def test_a_users_providers_are_bounded(cofferd, carol):
    made = []
    try:
        with pytest.raises(CallError) as refused:
            while len(made) < 100:
                made.append(carol.manager("AddProvider", "(ssa{sv})", (f"bound-{len(made)}", "openai-chat", {}))[0])
        assert refused.value.name == "Limit" and "providers" in refused.value.message
        assert 24 <= len(made) <= 32, "others of this user may be there"
    finally:
        for path in made:
            carol.call(path, "Provider", "Remove", "(a{sv})", ({},))


def test_more_ports_than_the_table_holds_stop_neither_the_service_nor_others(cofferd, carol, journal):
    """They are put into the store: no user alone can bring them about."""
    cofferd.stop()
    with sqlite3.connect("/var/lib/cofferdam/cofferd.db") as store:
        store.executemany("INSERT INTO providers (name, owner, machine, kind, base_url, has_key, key_hint, problem) VALUES (?, ?, 0, 'openai', ?, 0, '', '')",
                          [(f"port-{port}", 4_000_000_001, f"https://x.example:{port}") for port in range(20000, 21100)])
    store.close()
    try:
        cofferd.start()
        journal.wait("ports of providers", _SYSTEMD_UNIT="cofferd.service")
        again = Person("carol")
        with pytest.raises(CallError) as refused:
            again.manager("AddProvider", "(ssa{sv})", ("another-port", "openai-chat", variants({"base-url": "https://x.example:30000"})))
        assert refused.value.name == "Limit" and "table of rules" in refused.value.message
        path = again.manager("AddProvider", "(ssa{sv})", ("a-known-port", "openai-chat", variants({"base-url": "https://x.example"})))[0]
        with pytest.raises(CallError) as refused:
            again.call(path, "Provider", "Set", "(a{sv})", (variants({"base-url": "https://x.example:30000"}),))
        assert refused.value.name == "Limit"
        again.call(path, "Provider", "Remove", "(a{sv})", ({},))
        again.close()
    finally:
        cofferd.stop()
        with sqlite3.connect("/var/lib/cofferdam/cofferd.db") as store:
            store.execute("DELETE FROM providers WHERE owner = 4000000001")
        store.close()
        cofferd.start()


def test_a_users_projects_are_bounded(carol, project, cofferd, make_repository):
    """As many as may be are put into the store, while nobody has it open."""
    uid = pwd.getpwnam("carol").pw_uid
    number = int(project.rsplit("/", 1)[1])
    cofferd.stop()
    with sqlite3.connect("/var/lib/cofferdam/cofferd.db") as store:
        there, = store.execute("SELECT count(*) FROM projects WHERE owner = ? AND removed = 0", (uid,)).fetchone()
        store.executemany("INSERT INTO projects (id, owner, name, directory, author_name, author_email, base, created) VALUES (?, ?, ?, ?, '', '', ?, 0)",
                          [(number + 1 + n, uid, f"one-of-many-{n}", b"/nowhere", "0" * 40) for n in range(255 - there)])
    store.close()
    cofferd.start()
    other = make_repository("carol", name="one-too-many")
    try:
        # Two at once for the last place: each waits for the machine's checks before it is stored.
        settings = variants({"author-name": "Carol Example", "author-email": "carol@example.org"})
        both = [answer for _, answer in carol.answers(*[("Manager", "AddProject", "(aysa{sv})", (str(other.directory).encode(), f"last-{n}", settings))
                                                        for n in range(2)])]
        carol.projects += [answer[0] for answer in both if not isinstance(answer, CallError)]
        assert [answer.name for answer in both if isinstance(answer, CallError)] == ["Limit"]
        with pytest.raises(CallError) as refused:
            carol.add_project(other)
        assert refused.value.name == "Limit" and "256 projects" in refused.value.message
    finally:
        cofferd.stop()
        with sqlite3.connect("/var/lib/cofferdam/cofferd.db") as store:
            store.execute("DELETE FROM projects WHERE name LIKE 'one-of-many-%'")
        store.close()
        cofferd.start()


def test_a_users_open_tasks_are_bounded(carol, project):
    """As many as may be stand in the list that is counted; nothing is to be done for those that were put there."""
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    first = 1_000_000_000
    with sqlite3.connect("/var/lib/cofferdam/cofferd.db") as store:
        columns = ", ".join(name for _, name, *_ in store.execute("PRAGMA table_info(tasks)") if name != "id")
        store.executemany(f"INSERT INTO tasks (id, {columns}) SELECT ?, {columns} FROM tasks WHERE id = ?", [(first + n, task.id) for n in range(1023)])
    try:
        with pytest.raises(CallError) as refused:
            carol.create_task(project, "Say more")
        assert refused.value.name == "Limit" and "1024 tasks" in refused.value.message
        with store:
            store.execute("DELETE FROM tasks WHERE id = ?", (first,))
        # Two at once for the last place: each waits until its plan has been read.
        both = [answer for _, answer in carol.answers(*[("Manager", "CreateTask", "(osa{sv})", (project, "Say more", variants({"plan": PLAN})))] * 2)]
        assert [answer.name for answer in both if isinstance(answer, CallError)] == ["Limit"]
    finally:
        with store:
            store.execute("DELETE FROM tasks WHERE id >= ?", (first,))
        store.close()
    carol.create_task(project, "Say more").cancel()


@pytest.fixture
def alice(cofferd):
    """Another user who may add projects from where the tests run."""
    run("gpasswd", "--add", "alice", "cofferdam")
    person = Person("alice")
    yield person
    person.close()
    run("gpasswd", "--delete", "alice", "cofferdam")


def test_a_users_repositories_are_open_so_many_at_a_time(cofferd, make_repository, alice, bus, held_back):  # noqa: F811
    """Nine are to be read and each takes its time: eight are, the ninth when one of them is done. Whoever else comes is not held up."""
    with sqlite3.connect("/var/lib/cofferdam/cofferd.db") as store:
        last, = store.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'projects'").fetchone()
    units = [f"coffer-p{last + n}-add-export" for n in range(1, 10)]
    go_on = {unit: held_back(unit) for unit in units}
    repository, others = make_repository("carol"), [Person("carol") for _ in units]
    adding = [threading.Thread(target=other.add_project, args=(repository,)) for other in others]

    def open_now():
        states = run("systemctl", "is-active", *units, check=False).stdout.split()
        return [unit for unit, state in zip(units, states) if state == "activating"]

    def asked():
        return store.execute("SELECT count(*) FROM projects WHERE id > ? AND id <= ? + 9", (last, last)).fetchone()[0]
    for thread in adding:
        thread.start()
    bus.until(lambda: len(open_now()) == 8 and asked() == 9, sender="org.freedesktop.systemd1")
    alice.add_project(make_repository("alice"))
    eight = open_now()
    assert len(eight) == 8, "by now the ninth would be open"
    for unit in eight:
        go_on[unit]()
    ninth, = set(units) - set(eight)
    bus.until(lambda: ninth in open_now(), sender="org.freedesktop.systemd1")
    go_on[ninth]()
    for thread in adding:
        thread.join(60)
    assert [len(other.projects) for other in others] == [1] * 9
    store.close()
    for person in others:
        person.close()


def test_so_many_plans_of_a_user_are_read_at_a_time(carol, project):
    """The workers that read them are held before they begin."""
    folder = Path("/run/systemd/system/coffer-.service.d")
    folder.mkdir(parents=True)
    (folder / "wait.conf").write_text("[Service]\nExecStartPre=/bin/sh -c 'until [ -e /in/go ]; do sleep 0.1; done'\n", encoding="utf-8")

    def reading():
        return run("systemctl", "list-units", "--plain", "--no-legend", "coffer-*-planner-0-plan.service").stdout.split("\n")[:-1]

    try:
        run("systemctl", "daemon-reload")
        sender = threading.Thread(target=lambda: answers.extend(carol.answers(
            *[("Manager", "CreateTask", "(osa{sv})", (project, "Say more", variants({"plan": PLAN})))] * 6)))
        answers = []
        sender.start()
        until(lambda: len(reading()) >= 4)
        carol_too = Person("carol")
        for _ in range(10):
            carol_too.properties("/org/cofferdam/Cofferdam1", "Manager")
            assert len(reading()) == 4
        carol_too.close()

        def let_go():
            for row in reading():
                Path(f"/run/cofferdam/in/{row.split()[0].removesuffix('.service')}/go").touch(mode=0o644)
            return not sender.is_alive()
        until(let_go)
        sender.join()
        assert len(answers) == 6 and not any(isinstance(answer, CallError) for _, answer in answers)
    finally:
        (folder / "wait.conf").unlink()
        folder.rmdir()
        run("systemctl", "daemon-reload")


def test_a_project_is_refused_where_its_owner_has_no_room_left(carol, project, setting, make_repository):
    setting("user-disk-mib = 1")
    big = make_repository("carol")
    big.run("sh", "-c", "head -c 3000000 /dev/urandom >big && git add big && git commit -qm Big")
    path = carol.add_project(big)
    try:
        with pytest.raises(CallError) as refused:
            carol.add_project(make_repository("carol"))
        assert refused.value.name == "NoSpace" and "user-disk-mib" in refused.value.message
    finally:
        carol.call(path, "Project", "Remove", "(a{sv})", ({},))


def test_the_slice_of_a_user_has_the_totals(carol, project, setting):
    """Twice, because a slice keeps what it was once told."""
    for mebibytes, tasks in ((3000, 5000), (3001, 5001)):
        setting(f"user-slice-memory-mib = {mebibytes}\nuser-slice-tasks = {tasks}")
        carol.create_task(project, "Say more").until("plan-ready")
        shown = run("systemctl", "show", f"coffer-u{pwd.getpwnam('carol').pw_uid}.slice", "--property=MemoryMax,TasksMax,CPUWeight").stdout
        assert set(shown.split()) == {f"MemoryMax={mebibytes << 20}", f"TasksMax={tasks}", "CPUWeight=100"}


def test_what_serves_a_turn_is_beside_its_box(carol, project, bus):
    """What an agent takes is counted in its box, and its resolver, as its gateway, is not in it."""
    task = carol.create_task(project, "hang-plan")
    unit = f"coffer-{task.id}-0-planner-1"
    bus.until(lambda: active(f"{unit}.service") and active(f"{unit}-resolver.service"), sender="org.freedesktop.systemd1")
    slice_ = f"coffer-u{pwd.getpwnam('carol').pw_uid}-{task.id}"
    shown = run("systemctl", "show", "--property=Slice", "--value", f"{unit}.service", f"{unit}-resolver.service").stdout.split()
    assert shown == [f"{slice_}-box.slice", f"{slice_}.slice"]
    task.cancel()


def test_what_holds_is_proven_once_before_the_first_run(carol, project, journal):
    PROVEN.unlink(missing_ok=True)
    for _ in range(2):
        carol.create_task(project, "Say more").until("plan-ready")
    assert PROVEN.exists()
    # One start and one end, as PID 1 tells it.
    started = [entry for entry in journal.entries(_PID="1", UNIT="coffer-canary.service") if entry.get("JOB_RESULT") == "done"
               and "Started" in entry["MESSAGE"]]
    assert len(started) == 1
    assert not Path("/run/cofferdam/netns/coffer-canary").exists()
    assert run("systemctl", "list-units", "--all", "--plain", "--no-legend", "coffer-canary*").stdout == ""


def test_a_task_that_is_cancelled_before_its_agent_starts_starts_none(carol, project, until_unit):
    """The canary is held up by a pipe that it sees too; what waits for it was decided otherwise meanwhile."""
    folder, pipe = Path("/run/systemd/system/coffer-canary.service.d"), Path("/usr/local/lib/canary-waits")
    folder.mkdir(parents=True)
    os.mkfifo(pipe)
    (folder / "wait.conf").write_text(f"[Service]\nExecStartPre=+/bin/sh -c 'read -r go <{pipe}'\n", encoding="utf-8")
    PROVEN.unlink(missing_ok=True)
    try:
        run("systemctl", "daemon-reload")
        task = carol.create_task(project, "Say more")
        until_unit("coffer-canary.service", "activating")
        task.cancel()
        run("sh", "-c", f"echo go >{pipe}")
        until(lambda: "cleaned-up" in [event[3] for event in task.events()])
        assert task.runs() == []
    finally:
        (folder / "wait.conf").unlink()
        folder.rmdir()
        pipe.unlink()
        run("systemctl", "daemon-reload")


# A drop-in for all of our units, as an administrator or a package may have one, changes what PID 1 does with what we ask for.
@pytest.mark.parametrize("line, broken", [
    ("PrivatePIDs=no", "PrivatePIDs="),
    ("PrivateIPC=no", "PrivateIPC="),
    ("PrivateUsers=no", "PrivateUsers="),
    ("PrivateDevices=no", "PrivateDevices="),
    ("SystemCallFilter=", "SystemCallFilter="),
    ("RestrictAddressFamilies=", "RestrictAddressFamilies="),
    ("RestrictSUIDSGID=no", "RestrictSUIDSGID="),
    ("SystemCallArchitectures=", "SystemCallArchitectures="),
    ("ProtectControlGroups=no", "ProtectControlGroups="),
    ("NetworkNamespacePath=", "NetworkNamespacePath="),
    ("InaccessiblePaths=", "InaccessiblePaths="),
    ("CapabilityBoundingSet=CAP_NET_RAW", "CapabilityBoundingSet="),
    ("RestrictNamespaces=no", "RestrictNamespaces="),
])
def test_a_sandbox_that_does_not_hold_is_refused_with_words(carol, project, line, broken):
    folder = Path("/run/systemd/system/coffer-.service.d")
    folder.mkdir(parents=True)
    (folder / "zz-weak.conf").write_text(f"[Service]\n{line}\n", encoding="utf-8")
    PROVEN.unlink(missing_ok=True)
    try:
        run("systemctl", "daemon-reload")
        task = carol.create_task(project, "Say more")
        assert task.until("parked", "plan-ready") == "blocked"
        code, words, _ = task.Waiting
        assert code == "Sandbox" and broken in words and "drop-ins" in words
        assert task.runs() == [], "nothing was started"
        assert not PROVEN.exists()
        checks = {row["name"]: row for row in carol.manager("CheckSystem", "(a{sv})", ({},))[0]}
        assert checks["sandbox"]["state"] == "failed"
        assert checks["sandbox"]["problem"] in words and checks["sandbox"]["remedy"] in words
    finally:
        (folder / "zz-weak.conf").unlink()
        folder.rmdir()
        run("systemctl", "daemon-reload")
    carol.create_task(project, "Say more").until("plan-ready")


def test_uids_that_somebody_else_has_are_a_refusal_and_no_crash(carol, project, cofferd):
    subuid = Path("/etc/subuid")
    before = subuid.read_text(encoding="utf-8") if subuid.exists() else None
    try:
        subuid.write_text((before or "") + f"mallory:{0x7A000000 - 65536 + 1}:65536\n", encoding="utf-8")
        cofferd.restart()
        again = Person("carol")
        with pytest.raises(CallError) as refused:
            again.create_task(project, "Say more")
        assert refused.value.name == "Sandbox" and "mallory" in refused.value.message and "uid-base" in refused.value.message
        checks = {row["name"]: row for row in again.manager("CheckSystem", "(a{sv})", ({},))[0]}
        assert checks["uids"]["state"] == "failed" and refused.value.message == f"no sandbox is started: {checks['uids']['problem']}. To mend it: {checks['uids']['remedy']}"
        again.close()
    finally:
        if before is None:
            subuid.unlink()
        else:
            subuid.write_text(before, encoding="utf-8")
        cofferd.restart()
    Person("carol").create_task(project, "Say more").until("plan-ready")


def test_a_uid_that_has_another_name_in_the_machine_is_a_refusal(carol, project, cofferd):
    """As from a directory server: no file of ours or of the machine's names it, the name service does."""
    first = 0x7A000000
    user, group = Path(f"/run/userdb/{first}.user"), Path(f"/run/userdb/{first}.group")
    assert not user.exists()
    try:
        user.write_text(json.dumps({"userName": "mallory", "uid": first, "gid": first}), encoding="utf-8")
        group.write_text(json.dumps({"groupName": "mallory", "gid": first}), encoding="utf-8")
        assert pwd.getpwuid(first).pw_name == "mallory"
        cofferd.restart()
        again = Person("carol")
        with pytest.raises(CallError) as refused:
            again.create_task(project, "Say more")
        assert refused.value.name == "Sandbox" and f"the uid {first} belongs to mallory" in refused.value.message
        again.close()
    finally:
        user.unlink()
        group.unlink(missing_ok=True)
        cofferd.restart()


def test_another_range_counts_only_when_nothing_has_uids_of_the_old_one(carol, project, cofferd):
    before = SETTINGS.read_text(encoding="utf-8")
    try:
        SETTINGS.write_text("uid-base = 0x71230000\n" + before, encoding="utf-8")
        cofferd.restart()
        again = Person("carol")
        with pytest.raises(CallError) as refused:
            again.create_task(project, "Say more")
        assert refused.value.name == "Sandbox" and f"put uid-base = {0x7A000000} back" in refused.value.message
        again.close()
    finally:
        SETTINGS.write_text(before, encoding="utf-8")
        cofferd.restart()
