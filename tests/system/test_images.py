"""A power cut in the middle of a turn: the disk of a task is checked before it is mounted again, or made anew, and everybody is told."""

import os
from pathlib import Path

import pytest
from conftest import run
from moments import until
from people import Person
from units import active

pytestmark = pytest.mark.deadline(400)
AGENTS = {"planner": "instant", "writer": "instant", "reviewer": "instant"}


@pytest.fixture
def project(cofferd, instant_agent, repository, carol):
    path = carol.add_project(repository, test=["make test"], agents=AGENTS)
    yield path
    carol.end_project(path)


def image(task):
    return Path(f"/var/lib/cofferdam/tasks/{task.id}/image")


def cut_power(task, cofferd):
    """What a power cut leaves: the image as it was on the disk while it was mounted, and nothing of /run that is the task's."""
    run("sync")
    copy = image(task).with_name("image.copy")
    run("cp", "--sparse=always", image(task), copy)
    assert "needs_recovery" in run("dumpe2fs", "-h", copy, check=False).stdout
    cofferd.stop()
    units = run("systemctl", "list-units", "--all", "--plain", "--no-legend", f"coffer-{task.id}-*.service").stdout
    for line in units.splitlines():
        run("systemctl", "stop", line.split()[0])
        run("systemctl", "reset-failed", line.split()[0], check=False)
    for kind, pattern in (("ws", f"coffer-{task.id}-*"), ("img", f"t{task.id}*")):
        for mounted in Path("/run/cofferdam", kind).glob(pattern):
            run("umount", mounted)
            mounted.rmdir()
    os.rename(copy, image(task))


def notices(task):
    return [event[4]["notice"] for event in task.events() if event[3] == "turn-ended" and "notice" in event[4]]


def goes_on(task, carol):
    task.person = Person("carol")
    task.until("ready", seconds=180)
    commit = task.accept_work()
    task.until("done", seconds=60)
    task.person.close()
    task.person = carol
    return commit


def test_an_image_that_was_cut_off_is_checked_before_it_is_mounted_and_that_is_told(carol, project, repository, cofferd, bus, journal,
                                                                                       until_file, hold):
    task = carol.create_task(project, hold.word)
    task.until("plan-ready")
    until_file(image(task).with_name("mounted"), gone=True)  # between turns nothing is mounted
    task.accept_plan()
    bus.until(lambda: active(f"coffer-{task.id}-0-writer-1.service"), seconds=60, sender="org.freedesktop.systemd1")
    assert image(task).with_name("mounted").exists()
    # The agent has written down its session, which its next attempt goes on with.
    said = Path(f"/run/cofferdam/img/t{task.id}-out/coffer-{task.id}-0-writer-1.out")
    until(lambda: "start" in said.read_text(encoding="utf-8"))
    cut_power(task, cofferd)
    cofferd.start()
    # The turn that was cut off had begun without knowing; its next attempt is told, and the person when that has ended.
    bus.until(lambda: active(f"coffer-{task.id}-0-writer-2.service"), seconds=120, sender="org.freedesktop.systemd1")
    prompt = Path(f"/run/cofferdam/in/coffer-{task.id}-0-writer-2/request.md").read_text(encoding="utf-8")
    assert prompt.count("The task's disk was not unmounted cleanly") == 1 and "From Cofferdam" in prompt
    # Neither is it lost when cofferd goes now, nor told again.
    cofferd.restart()
    hold.let_go()
    commit = goes_on(task, carol)
    assert repository.head() == commit
    [notice] = notices(task)
    assert notice.count("The task's disk was not unmounted cleanly") == 1
    [told] = [event for event in task.events() if event[3] == "turn-ended" and "notice" in event[4]]
    assert told[4]["role"] == "writer" and told[4]["outcome"] == "ok", told
    said = [entry for entry in journal.entries(_SYSTEMD_UNIT=f"coffer-{task.id}-0-fsck-image-1.service") if entry.get("_COMM") == "e2fsck"]
    assert any("Pass 1: Checking inodes" in entry["MESSAGE"] for entry in said), said
    # By a worker that is nobody and may nothing.
    assert {(0x7A0E0000 <= int(entry["_UID"]) <= 0x7A0FFFFF, int(entry["_CAP_EFFECTIVE"], 16)) for entry in said} == {(True, 0)}
    assert not image(task).exists() and not image(task).with_name("mounted").exists()


def test_an_image_that_cannot_be_mended_is_made_anew_from_the_last_import_and_the_agent_told(carol, project, repository, cofferd, bus, hold):
    task = carol.create_task(project, f"block-once, {hold.word}")
    hold.let_go("write")
    task.until("plan-ready")
    task.accept_plan()
    bus.until(lambda: active(f"coffer-{task.id}-1-writer-1.service"), seconds=120, sender="org.freedesktop.systemd1")
    assert task.Round == 1, "the writer's first commits were taken in, it works on the review now"
    cut_power(task, cofferd)
    size = image(task).stat().st_size
    with image(task).open("r+b") as disk:
        disk.truncate(0)
        disk.truncate(size)
        disk.write(os.urandom(1 << 20))
    cofferd.start()
    hold.let_go()
    goes_on(task, carol)
    assert ["was made anew" in notice for notice in notices(task)] == [True], task.events()
    # The first turn's line came from the import, the second's from the turn that was run again.
    assert repository.run("cat", "instant.txt").stdout.splitlines() == ["turn write in round 0", "turn fix-review in round 1"]
    # A new home: the agent that was told its old session would have refused it.
    writer = [row for row in task.runs() if row["Role"] == "writer" and row["Result"] == "success"]
    assert len(writer) == 2


def test_an_image_that_a_loop_device_still_has_is_not_checked(carol, project, journal, until_file):
    """As while it is written back: the mark is there, the mount is gone, and the kernel still writes to the file."""
    task = carol.create_task(project, "ask")
    assert task.until("parked") == "question"
    until_file(image(task).with_name("mounted"), gone=True)
    device = run("losetup", "--find", "--show", image(task)).stdout.strip()
    try:
        image(task).with_name("mounted").touch()
        task.reply("the first")
        journal.wait("its disk image is not touched while a loop device has it", COFFER_TASK=task.id)
        assert not active(f"coffer-{task.id}-0-fsck-image-1.service")
        assert not journal.entries(_SYSTEMD_UNIT=f"coffer-{task.id}-0-fsck-image-1.service")
        assert image(task).stat().st_uid == 0, "it was given to a check"
        assert carol.properties(project, "Project")["Name"], "nobody else waits with it"
    finally:
        run("losetup", "--detach", device)
    task.until("plan-ready")
    assert journal.entries(_SYSTEMD_UNIT=f"coffer-{task.id}-0-fsck-image-1.service")
    task.cancel()
