"""What a user or a neighbour tries from outside of a task: a directory that becomes another one while it is read, and signals that
somebody invents."""

import json
import re
import select
import subprocess
import uuid
from pathlib import Path

import pytest
from conftest import TESTS, run
from people import CallError
from units import active

pytestmark = pytest.mark.deadline(400)
AGENTS = {role: "instant" for role in ("planner", "writer", "reviewer")}


# --- a directory that is swapped

def stored_objects():
    """Ids of all objects in all stores of cofferd."""
    ids = set()
    for index in Path("/var/lib/cofferdam").rglob("*.idx"):
        with open(index, "rb") as file:
            shown = subprocess.run(["git", "show-index", "--object-format=sha1"], stdin=file, capture_output=True, text=True, check=True).stdout
        ids |= {line.split()[1] for line in shown.splitlines()}
    return ids | {path.parent.name + path.name for path in Path("/var/lib/cofferdam").rglob("objects/[0-9a-f][0-9a-f]/*")}


def stored_text(text):
    """Files of cofferd's that hold the text as it is; checkouts do."""
    return run("grep", "-rlF", "--exclude=*image", text, "/var/lib/cofferdam", "/run/cofferdam/in", check=False).stdout


def test_a_directory_swapped_for_a_link_shows_nothing_of_the_other_user(cofferd, make_repository, instant_agent, carol):
    mine, theirs = make_repository("carol"), make_repository("alice")
    # alice's home is closed, her repository below it is not: only the way there keeps others out.
    run("chmod", "0700", "/home/alice")
    run("chmod", "0755", theirs.directory)
    token = f"alices-{uuid.uuid4().hex}"
    theirs.commit("Mine alone", **{"mine.txt": token + "\n"})
    blob = theirs.git("rev-parse", "HEAD:mine.txt")
    link = Path(f"{mine.directory}-link")
    run("setpriv", "--reuid=carol", "--regid=carol", "--clear-groups", "ln", "-s", theirs.directory, link)
    swapping = subprocess.Popen(["setpriv", "--reuid=carol", "--regid=carol", "--clear-groups", "python3",
                                 TESTS / "system" / "attacks" / "swap", mine.directory, link],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    added, refused, tasks, states = [], [], [], set()
    try:
        while (len(added) < 4 or len(refused) < 4) and len(added) + len(refused) < 30:
            try:
                added.append(carol.add_project(mine, test=["true"], agents=AGENTS))
            except CallError as error:
                refused.append(error.name)
        assert added and refused, "the race was run both ways"
        while states != {"plan-ready", "blocked"}:
            assert len(tasks) < 40, f"the race was run one way only: {states}"
            tasks.append(carol.create_task(added[0], "Say more"))
            states.add(tasks[-1].until("plan-ready", "parked"))
        turns = int(swapping.communicate(input="", timeout=20)[0])
        assert turns > 1000
        assert blob not in stored_objects() and stored_text(token) == ""
        # It would be found: the same content in a repository of one's own is.
        own = make_repository("carol")
        own.commit("Mine as well", **{"mine.txt": token + "\n"})
        carol.add_project(own)
        assert blob in stored_objects() and stored_text(token) != ""
    finally:
        if swapping.poll() is None:
            swapping.kill()
            swapping.wait()
        run("rm", "-rf", link)


# --- signals that somebody invents

def test_the_end_of_a_job_that_bob_invents_ends_nothing(project, carol):
    """Anyone may send a signal to cofferd's own name; what sd-bus matches is the name that PID 1 has, not who sent."""
    reply = run("busctl", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "StartUnit", "ss",
                "systemd-tmpfiles-clean.service", "replace").stdout
    number = int(re.search(r"/job/(\d+)", reply)[1])
    # The numbers of the next jobs: a task has some dozens.
    forging = subprocess.Popen(["setpriv", "--reuid=bob", "--regid=bob", "--init-groups", "python3", TESTS / "system" / "attacks" / "forge",
                                str(number), str(number + 400)], stdout=subprocess.PIPE, text=True)
    try:
        assert forging.stdout.readline() == "ready\n"
        task = carol.create_task(project, "Say more")
        task.until("plan-ready")
        task.accept_plan()
        task.until("ready")
        assert forging.poll() is None
        assert [run_["Attempt"] for run_ in task.runs()] == [1] * len(task.runs())
        task.cancel()
    finally:
        forging.kill()
        forging.wait()


def test_changes_that_bob_invents_are_not_asked_about(project, carol, bus):
    """While an agent works, cofferd waits for its unit to change; what bob says of that is not PID 1's word."""
    task = carol.create_task(project, "hang-plan")
    unit = f"coffer-{task.id}-0-planner-1.service"
    bus.until(lambda: active(unit), sender="org.freedesktop.systemd1")
    asked = questions_while(unit, bob=True)
    assert asked == 0, f"cofferd asked PID 1 {asked} times"
    # It would have been seen: PID 1's own word is asked about.
    assert questions_while(unit, bob=False) > 0


def questions_while(unit, bob):
    """How often cofferd asks PID 1 for the state of a unit while bob says a hundred times that it changed, or PID 1 reloads once."""
    owner = run("busctl", "--json=short", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner", "s",
                "org.cofferdam.Cofferdam1").stdout
    owner = json.loads(owner)["data"][0]
    monitor = subprocess.Popen(["busctl", "monitor", "--json=short", f"--match=type='method_call',sender='{owner}',member='GetAll'",
                                "--match=type='method_call',interface='org.freedesktop.DBus.Peer',path='/org/cofferdam/Cofferdam1'"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = monitor.stdout

    def ping():
        run("busctl", "call", "org.cofferdam.Cofferdam1", "/org/cofferdam/Cofferdam1", "org.freedesktop.DBus.Peer", "Ping")

    def heard():
        return json.loads(lines.readline())

    try:
        # It listens when it has heard a call; what came after that call comes after it here.
        sent = 0
        while not sent or not select.select([lines], [], [], 1)[0]:
            ping()
            sent += 1
        first = heard()
        while first["member"] != "Ping":
            first = heard()
        run("busctl", "call", "org.cofferdam.Cofferdam1", "/org/cofferdam/Cofferdam1", "org.freedesktop.DBus.Peer", "GetMachineId")
        if bob:
            run("setpriv", "--reuid=bob", "--regid=bob", "--init-groups", "python3", TESTS / "system" / "attacks" / "forge-changes", owner, unit)
        else:
            run("systemctl", "daemon-reload")
        # cofferd has taken what came before a call when it answers that, and asks at once.
        ping()
        run("busctl", "call", "org.cofferdam.Cofferdam1", "/org/cofferdam/Cofferdam1", "org.freedesktop.DBus.Peer", "GetMachineId")
        marks = count = 0
        while marks < 2:
            message = heard()
            if message["member"] == "GetMachineId":
                marks += 1
            elif marks == 1 and message["member"] == "GetAll" and message["path"].startswith("/org/freedesktop/systemd1/unit/"):
                count += 1
        return count
    finally:
        monitor.terminate()
        monitor.wait()
        lines.close()
