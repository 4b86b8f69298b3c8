"""A full disk: in the task's own image, in the image of its output, in the owner's repository, and below the daemon itself.

Each is named, nothing that was accepted is lost, and it goes on once there is room."""

import json
import os
import uuid
from pathlib import Path

import pytest
from conftest import Daemon, run
from moments import until
from repository import Repository
from test_trouble import coffer, told
from units import active

pytestmark = pytest.mark.deadline(200)
AGENTS = {role: "instant" for role in ("planner", "writer", "reviewer")}
STATE = Path("/var/lib/cofferdam")


@pytest.fixture
def small_images(cofferd, setting):
    """Tasks with disks of a few MiB."""
    setting("task-image-mib = 64\noutput-image-mib = 8")


def taken():
    """Bytes of the machine's disk that cofferd's state has: what is free on it is also for others to take."""
    return int(run("du", "--summarize", "--block-size=1", STATE).stdout.split()[0])


def free(path):
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def test_an_agent_that_fills_its_disk_is_told_and_goes_on_when_it_is_told_what_to_remove(small_images, carol, project, repository):
    before = taken()
    task = carol.create_task(project, "fill-disk")
    task.until("plan-ready")
    task.accept_plan()
    assert task.until("parked", seconds=60) == "blocked"
    assert task.Waiting[0] == "disk-full", task.Waiting
    shown = told(task)
    for words in ("filled the task's disk", f"coffer reply {task.id}", "task-image-mib"):
        assert words in shown, shown
    assert taken() - before < 120 << 20, "no more of the machine's disk than its images"
    coffer("reply", str(task.id), "Remove filling.bin")
    task.until("ready", seconds=60)
    commit = task.accept_work()
    task.until("done")
    assert repository.head() == commit


def test_output_without_end_is_bounded_and_the_task_goes_on(small_images, carol, project, repository):
    """A gibibyte of it; the next turn has room of its own."""
    before = taken()
    task = carol.create_task(project, "gibibyte-once")
    task.until("plan-ready")
    task.accept_plan()
    assert task.until("parked", seconds=90) == "blocked"
    assert task.Waiting[0] == "output-limit", task.Waiting
    shown = told(task)
    for words in ("printed more than is kept", f"coffer log {task.id}", f"coffer retry {task.id}"):
        assert words in shown, shown
    assert taken() - before < 120 << 20
    assert "gibibyte" in coffer("log", str(task.id)).stdout
    coffer("retry", str(task.id))
    task.until("ready", seconds=60)
    commit = task.accept_work()
    task.until("done")
    assert repository.head() == commit


@pytest.fixture
def small_disk():
    """small_disk(path, mib) mounts a file system of that size there; it is gone after the test."""
    made = []

    def make(path, mib):
        image = Path(f"/var/tmp/small-{uuid.uuid4().hex[:8]}")
        with image.open("wb") as file:
            file.truncate(mib << 20)
        run("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", image)
        run("mount", "-o", "loop", image, path)
        made.append((path, image))

    yield make
    for path, image in reversed(made):
        run("umount", path)
        image.unlink()


def fill(path, leave=0):
    """Takes what is free but for `leave` bytes; gives the file that has it."""
    filling = Path(path) / "filling"
    with filling.open("wb") as file:
        while free(path) > leave:
            try:
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, max(4096, free(path) - leave))
            except OSError:
                break
    return filling


def test_landing_in_a_full_repository_changes_nothing_and_lands_when_there_is_room(cofferd, instant_agent, carol, small_disk):
    directory = Path(f"/home/carol/small-{uuid.uuid4().hex[:8]}")
    directory.mkdir()
    small_disk(directory, 16)
    run("chown", "carol:carol", directory)
    run("rmdir", directory / "lost+found")
    repository = Repository.create("carol", directory)
    project = carol.add_project(repository, test=["true"], agents=AGENTS)
    try:
        task = carol.create_task(project, "Say more")
        task.until("plan-ready")
        task.accept_plan()
        task.until("ready", seconds=60)
        filling = fill(directory)
        def state():
            return repository.head(), repository.git("--no-optional-locks", "status", "--porcelain"), sorted(os.listdir(directory / ".git"))

        before = state()
        task.accept_work()
        assert task.until("parked", seconds=60) == "blocked"
        assert task.Waiting[0] == "NoSpace", task.Waiting
        shown = told(task)
        for words in ("no room where the repository is", "Nothing has landed", "Make room"):
            assert words in shown, shown
        assert state() == before
        filling.unlink()
        digest = json.loads(coffer("show", str(task.id), "--json").stdout)["WorkDigest"]
        coffer("accept", str(task.id), "--digest", digest)
        task.until("done", seconds=60)
        assert repository.head() == task.Candidate and repository.git("status", "--porcelain") == ""
    finally:
        carol.end_project(project)


@pytest.fixture
def small_state(small_disk, instant_agent, setting):
    """A daemon whose state is on a file system of its own."""
    daemon = Daemon()

    def anew():
        daemon.stop()
        run("systemctl", "stop", "coffer-walls.service")

    anew()
    small_disk(STATE, 400)
    STATE.chmod(0o700)
    setting("task-image-mib = 64\noutput-image-mib = 8\nfree-space-mib = 0\nuser-disk-mib = 300")
    run("systemctl", "start", "coffer-walls.service")
    daemon.start()
    yield daemon
    anew()


@pytest.fixture
def afterwards():
    """Comes first, so that it ends last: when what was in the way is gone, everything runs as before."""
    yield
    run("systemctl", "start", "coffer-walls.service")
    Daemon().start()


def test_a_full_disk_below_the_daemon_takes_no_decision_and_loses_no_turn(afterwards, small_state, carol, repository, journal, hold):
    project = carol.add_project(repository, test=["true"], agents=AGENTS)
    task = carol.create_task(project, hold.word)
    task.until("plan-ready")
    filling = fill(STATE, leave=8 << 20)
    digest = task.PlanDigest
    refused = coffer("accept", str(task.id), "--digest", digest, check=False)
    assert refused.returncode == 1 and "nearly full" in refused.stderr and "Free some space" in refused.stderr, refused.stderr
    assert task.State == "plan-ready" and task.PlanDigest == digest, "nothing was taken"
    assert carol.call(task.path, "Task", "ReadText", "(stua{sv})", ("plan", 0, 0, {}))[0], "what is there can be read"
    filling.unlink()
    coffer("accept", str(task.id), "--digest", digest)
    unit = f"coffer-{task.id}-0-writer-1.service"
    until(lambda: active(unit))
    filling = fill(STATE)
    # The turn ends while there is no room to write down that it did.
    hold.let_go()
    journal.wait(f"step {unit.removesuffix('.service')} has ended, but there is no room", seconds=90, COFFER_TASK=task.id)
    filling.unlink()
    task.until("ready", seconds=90)
    assert [row["Result"] for row in task.runs() if row["Role"] == "writer"] == ["success"], "and it was not run twice"
    commit = task.accept_work()
    task.until("done", seconds=60)
    assert repository.head() == commit
    carol.end_project(project)
