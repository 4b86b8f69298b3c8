"""The life of the Debian package in a machine that has never had it: tests/run package puts the packages into /run/packages.

    cofferdam.deb   what this tree makes
    next.deb        the one after it, whose store has one step more (tests/package/next)
"""

import os
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from conftest import TESTS, run
from people import Person

pytestmark = pytest.mark.deadline(300)
PACKAGES = Path("/run/packages")
STATE, STORE = Path("/var/lib/cofferdam"), Path("/var/lib/cofferdam/cofferd.db")
# A writer that is asked to hold waits for this file.
GO_ON = Path("/usr/local/lib/life")
SERVICES = ("cofferd.service", "coffer-walls.service")
PAGES = ("coffer.1", "coffer-notify.1", "cofferd.8", "cofferd.toml.5", "cofferdam-agents.5", "org.cofferdam.Cofferdam1.5", "cofferdam.7")


def dpkg(*arguments, check=True):
    return run("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--force-confold", *arguments, check=check, timeout=120)


def version():
    return run("dpkg-query", "--show", "--showformat=${Version}", "cofferdam").stdout


def active(unit):
    return run("systemctl", "is-active", unit, check=False).stdout.strip() == "active"


def value(unit, name):
    return run("systemctl", "show", f"--property={name}", "--value", unit).stdout.strip()


def units():
    """What of a task PID 1 knows."""
    return [line.split()[0] for line in run("systemctl", "list-units", "--all", "--no-legend", "--plain", "coffer-*-*").stdout.splitlines()]


def mounts():
    """What is mounted where Cofferdam mounts."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
    return [point for point in points if point.startswith(("/run/cofferdam/", "/var/lib/cofferdam/"))]


def loops():
    """{(device, what file system its file is on, the file's inode)}: the kernel has one list for all machines of a host."""
    return {tuple(line.split()) for line in run("losetup", "--list", "--noheadings", "--raw", "--output", "NAME,BACK-MAJ:MIN,BACK-INO").stdout.splitlines()}


def lay_out():
    """What there is of the machine: names in /etc, /usr, /var, /run and /home but for what is noted of every package and every service."""
    shown = run("find", "/etc", "/usr", "/var", "/run", "/home", "/opt", "-xdev", "(", "-path", "/var/lib/dpkg", "-o", "-path", "/var/log", "-o", "-path", "/run/log",
                "-o", "-path", "/run/systemd/journal", "-o", "-path", "/run/packages", "-o", "-path", "/var/cache", "-o", "-path", "/run/systemd/units",
                "-o", "-path", "/run/systemd/transient", "-o", "-path", "/run/systemd/sessions*", "-o", "-path", "/run/systemd/users*", "-o", "-path", "/run/user",
                "-o", "-path", "/run/systemd/propagate", "-o", "-path", "/run/systemd/unit-private-tmp", "-o", "-path", "/var/tmp/systemd-private-*", "-o", "-path", "/run/systemd/inhibit", "-o", "-path", "/home/*/*", "-o", "-name", "__pycache__", ")", "-prune", "-o", "-print0").stdout
    return set(filter(None, shown.split("\0")))


@pytest.fixture(scope="module")
def clean():
    """Nothing of ours is there before the first test; `lay_out()` of that."""
    assert run("dpkg-query", "--show", "cofferdam", check=False).returncode != 0
    assert not STATE.exists() and not Path("/etc/cofferdam").exists()
    return lay_out()


@pytest.fixture
def packaged(clean):
    """The tree's package, on; gone after the test with everything of it."""
    install()
    yield
    purge()


def install(package="cofferdam.deb"):
    """What an administrator does: configuration, an agent, the package, who may use it."""
    agents = Path("/etc/cofferdam/agents")
    agents.mkdir(parents=True, exist_ok=True)
    shutil.copy(PACKAGES / "cofferd.toml", "/etc/cofferdam/cofferd.toml")
    shutil.copy(TESTS / "agents" / "instant.toml", agents)
    run("install", "-D", "-m", "0755", TESTS / "agents" / "instant.sh", "/opt/agents/bin/cofferdam-instant")
    dpkg("--install", PACKAGES / package)
    run("usermod", "--append", "--groups", "cofferdam", "carol")


def purge():
    """And takes back, but for what the package brought."""
    GO_ON.unlink(missing_ok=True)
    run("rm", "-rf", "/etc/cofferdam/cofferd.toml", "/etc/cofferdam/agents", "/opt/agents/bin/cofferdam-instant")
    dpkg("--purge", "cofferdam")


@pytest.fixture
def carol(packaged):
    person = Person("carol")
    yield person
    person.close()


def writing(carol, make_repository, bus, words="hold-life"):
    """A task whose writer is in the middle of its turn."""
    repository = make_repository("carol")
    project = carol.add_project(repository, test=["make test"], agents={"writer": "instant"})
    task = carol.create_task(project, words)
    task.until("plan-ready", seconds=120)
    task.accept_plan()
    task.unit = f"coffer-{task.id}-0-writer-1.service"
    bus.until(lambda: active(task.unit), seconds=60, sender="org.freedesktop.systemd1")
    task.repository = repository
    return task


def until_done(task):
    GO_ON.touch()
    task.person = Person("carol")
    task.until("ready", seconds=180)
    commit = task.accept_work()
    task.until("done", seconds=60)
    assert task.repository.head() == commit
    runs = [row for row in task.runs() if row["Role"] == "writer" and row["Kind"] == "turn"]
    task.person.close()
    return runs


def test_lintian_has_nothing_to_say_and_nothing_is_hidden_from_it():
    package = PACKAGES / "cofferdam.deb"
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", package, check=False, timeout=200)
    assert said.returncode == 0 and said.stdout == "", said.stdout + said.stderr
    assert "lintian/overrides" not in run("dpkg-deb", "--contents", package).stdout


def test_installed_it_runs_and_is_known_to_everybody_who_must_know_it(packaged):
    assert all(active(unit) for unit in SERVICES)
    assert all(run("systemctl", "is-enabled", unit).stdout.strip() == "enabled" for unit in SERVICES)
    assert run("systemctl", "--failed", "--no-legend", "--plain").stdout == ""
    # Group, catalog, actions, policy: each as its own program sees it.
    assert run("getent", "group", "cofferdam").stdout.startswith("cofferdam:")
    assert "Cofferdam is ready" in run("journalctl", "--list-catalog", "d2b73ed1f60b4447823e027202755b53").stdout
    actions = set(run("pkaction").stdout.split())
    assert {"org.cofferdam.Cofferdam1." + name for name in ("create", "decide-own", "land", "configure")} <= actions
    assert "org.cofferdam.Cofferdam1" in run("busctl", "--system", "list", "--acquired").stdout
    assert "directory" in run("stat", "--format=%F", STATE).stdout and run("stat", "--format=%a %U", STATE).stdout.strip() == "700 root"


def test_units_are_as_systemd_wants_them(packaged):
    system = [path for path in run("dpkg", "--listfiles", "cofferdam").stdout.split() if re.search(r"/systemd/system/.*\.(service|slice)$", path)]
    assert len(system) == 3
    said = run("systemd-analyze", "verify", "--man=yes", *system, check=False)
    assert said.returncode == 0 and said.stdout + said.stderr == ""
    said = run("env", "XDG_RUNTIME_DIR=/run", "systemd-analyze", "--user", "verify", "/usr/lib/systemd/user/coffer-notify.service", check=False)
    assert said.returncode == 0 and said.stdout + said.stderr == ""
    for kind, file in (("sysusers", "/usr/lib/sysusers.d/cofferdam.conf"), ("tmpfiles", "/usr/lib/tmpfiles.d/cofferdam.conf")):
        option = "--create" if kind == "tmpfiles" else "--dry-run"
        said = run(f"systemd-{kind}", option, file)
        assert said.stderr == ""


@pytest.mark.parametrize("page", PAGES)
def test_a_manual_page_renders_without_a_warning_and_points_at_what_is_there(packaged, page):
    name, section = page.rsplit(".", 1)
    shown = run("env", "LC_ALL=C.UTF-8", "MANWIDTH=500", "man", "--warnings", "--encoding=utf8", section, name)
    assert shown.stderr == "" and name in shown.stdout
    for other, number in re.findall(r"\b([\w.-]+)\((\d)\)", shown.stdout.partition("SEE ALSO")[2]):
        assert run("man", "--where", number, other, check=False).returncode == 0, f"no {other}({number})"
    for document in re.findall(r"/usr/share/doc/cofferdam/[\w.-]+[a-z]", shown.stdout):
        assert Path(document).is_file(), document


def test_completions_are_where_the_shells_look(packaged):
    for file in ("bash-completion/completions/coffer", "zsh/vendor-completions/_coffer", "fish/vendor_completions.d/coffer.fish"):
        assert Path("/usr/share", file).is_file()


def form():
    """The form of the store as its file says it, and the titles that the next package's step copies."""
    with sqlite3.connect(f"file:{STORE}?mode=ro", uri=True) as database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        table = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'titles'").fetchone()[0]
        titles = dict(database.execute("SELECT task, title FROM titles")) if table else {}
    database.close()
    return version, titles


def test_an_upgrade_stops_no_agent_and_migrates_the_store(packaged, make_repository, carol, bus):
    task = writing(carol, make_repository, bus)
    agent, daemon, walls = (value(unit, "InvocationID") for unit in (task.unit, *SERVICES))
    began, titles = form()
    assert titles == {}
    title = task.Title
    said = dpkg("--install", PACKAGES / "next.deb")
    assert version() == "99.0" and "stopping" not in said.stdout + said.stderr
    assert active(task.unit) and value(task.unit, "InvocationID") == agent
    assert all(active(unit) for unit in SERVICES)
    # Both run what was installed, and neither is what it was.
    assert value("cofferd.service", "InvocationID") != daemon and value("coffer-walls.service", "InvocationID") != walls
    for unit in SERVICES:
        assert "(deleted)" not in os.readlink(f"/proc/{value(unit, 'MainPID')}/exe")
    assert form() == (began + 1, {task.id: title})
    runs = until_done(task)
    assert [row["Result"] for row in runs] == ["success"]


def test_a_package_that_is_too_old_for_the_store_is_refused_and_nothing_changes(packaged, make_repository, carol, bus):
    dpkg("--install", PACKAGES / "next.deb")
    task = writing(carol, make_repository, bus)
    before = version(), form(), value(task.unit, "InvocationID")
    said = dpkg("--install", PACKAGES / "cofferdam.deb", check=False)
    assert said.returncode != 0
    assert "too old for the tasks on this machine" in said.stderr and "Nothing was changed" in said.stderr
    # The services are started anew by what Debian does after a refusal; no agent is.
    assert (version(), form(), value(task.unit, "InvocationID")) == before
    assert run("dpkg", "--audit").stdout == "" and all(active(unit) for unit in SERVICES)
    assert [row["Result"] for row in until_done(task)] == ["success"]


def test_the_daemon_refuses_a_store_that_is_too_new_and_leaves_it(packaged, journal):
    run("systemctl", "stop", "cofferd.service")
    with sqlite3.connect(STORE) as database:
        known = database.execute("PRAGMA user_version").fetchone()[0]
        database.execute(f"PRAGMA user_version={known + 1}")
    database.close()
    content = STORE.read_bytes()
    run("systemctl", "start", "cofferd.service", check=False)
    journal.wait("was written by a newer cofferd", _SYSTEMD_UNIT="cofferd.service")
    run("systemctl", "stop", "cofferd.service")
    assert STORE.read_bytes() == content
    # And what is removed now is not replaced by the same or an older one.
    dpkg("--remove", "cofferdam")
    said = dpkg("--install", PACKAGES / "cofferdam.deb", check=False)
    assert said.returncode != 0 and "too old for the tasks" in said.stderr
    assert STORE.read_bytes() == content


def test_removed_it_stops_what_runs_and_keeps_the_tasks_and_installed_again_goes_on(packaged, make_repository, carol, bus):
    task = writing(carol, make_repository, bus)
    said = dpkg("--remove", "cofferdam")
    assert re.search(r"stopping what runs for tasks \(\d+ units\)\. No task is lost", said.stderr), said.stderr
    assert units() == []
    assert run("pgrep", "--full", "cofferdam-instant", check=False).stdout == ""
    assert "cofferdam" not in run("nft", "list", "tables").stdout
    assert mounts() == []
    assert STORE.exists() and not Path("/usr/bin/coffer").exists()
    assert not any(Path("/run/systemd/system", unit).exists() for unit in SERVICES), "a mask that was left would outlive the removal"
    # The bus does not bring it back, and nothing of it is known to systemd.
    assert run("busctl", "--system", "call", "org.cofferdam.Cofferdam1", "/", "org.freedesktop.DBus.Peer", "Ping", check=False).returncode != 0
    assert run("systemctl", "list-units", "--state=active,activating,failed", "--no-legend", "--plain", "coffer*").stdout == ""

    install()
    runs = until_done(task)
    assert [row["Result"] for row in runs] == ["interrupted", "success"]


def test_purged_it_leaves_nothing(clean, make_repository, bus):
    install()
    carol = Person("carol")
    task = writing(carol, make_repository, bus, words="hang")
    carol.close()
    assert list(Path("/run/userdb").glob("coffer-*"))
    images = {(f"{os.major(image.st_dev)}:{os.minor(image.st_dev)}", str(image.st_ino))
              for image in (file.stat() for file in STATE.glob(f"tasks/{task.id}/*image"))}
    ours = {loop for loop in loops() if loop[1:] in images}
    assert ours
    purge()
    assert units() == [] and not STATE.exists()
    left = lay_out() - clean
    assert left == set(), sorted(left)
    assert not list(Path("/run/userdb").glob("*")) and not Path("/run/cofferdam").exists()
    assert not loops() & ours
    assert "cofferdam" not in run("nft", "list", "tables").stdout
    assert mounts() == []
    # Debian keeps groups that a package made: a file somewhere may be theirs.
    assert run("getent", "group", "cofferdam").stdout.startswith("cofferdam:")
    assert task.repository.git("status", "--porcelain") == ""
