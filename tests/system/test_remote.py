"""Work on another machine's service: coffer -H, over a real sshd on loopback."""

import json
import os
import shutil
from pathlib import Path

import pytest
from conftest import run
from ports import free_port, until_listened

pytestmark = pytest.mark.deadline(300)


@pytest.fixture
def far(tmp_path, cofferd):
    """A host called far in alice's ssh configuration: an sshd of this machine, where she is carol."""
    port, unit = free_port(), f"test-sshd-{os.getpid()}"
    folder = Path("/run/test-sshd")
    folder.mkdir(mode=0o755)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "host")
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    alice = Path("/home/alice/.ssh")
    made = []
    for name in ("alice", "carol"):
        home = Path(f"/home/{name}/.ssh")
        assert not home.exists()
        run("install", "-d", "-m", "0700", "-o", name, "-g", name, home)
        made.append(home)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", alice / "id")
    shutil.copy(alice / "id.pub", "/home/carol/.ssh/authorized_keys")
    key = (folder / "host.pub").read_text()
    (alice / "known").write_text(f"[127.0.0.1]:{port} {key}", encoding="utf-8")
    (alice / "config").write_text(
        f"Host far\n  HostName 127.0.0.1\n  Port {port}\n  User carol\n"
        f"Host closed\n  HostName 127.0.0.1\n  Port {free_port()}\n"
        "Host *\n  IdentityFile ~/.ssh/id\n  UserKnownHostsFile ~/.ssh/known\n  StrictHostKeyChecking yes\n  BatchMode yes\n  ConnectTimeout 5\n",
        encoding="utf-8")
    for home, name in zip(made, ("alice", "carol")):
        run("chown", "-R", f"{name}:{name}", home)
        run("sh", "-c", f"chmod 0600 {home}/*")
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM yes\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nPubkeyAuthentication yes\nPrintMotd no\n", encoding="utf-8")
    run("systemd-run", "--quiet", "--collect", f"--unit={unit}", "/usr/sbin/sshd", "-D", "-e", "-f", folder / "config")
    until_listened(port)
    yield "far"
    run("systemctl", "stop", f"{unit}.service", check=False)
    for home in made:
        shutil.rmtree(home)
    shutil.rmtree(folder)


def test_a_task_is_made_read_and_accepted_on_another_machine(far, coffer, carol, make_repository, instant_agent):
    repository = make_repository("carol")
    project = carol.add_project(repository, test=["make test"], agents={role: "instant" for role in ("planner", "writer", "reviewer")})
    name = carol.properties(project, "Project")["Name"]
    try:
        # alice sees nothing of it on this machine, and carol's things on the other one.
        assert name not in coffer("alice", "project", "list").stdout
        assert name in coffer("alice", "-H", far, "project", "list", active=False).stdout
        made = coffer("alice", "-H", far, "new", "-p", name, "--json", "Say more", active=False, json=False)
        task = str(json.loads(made.stdout)["Id"])
        watched = coffer("alice", "-H", far, "watch", task, active=False, check=False, timeout=120)
        assert watched.returncode == 6, watched.stderr
        plan = json.loads(coffer("alice", "-H", far, "plan", task, "--json", active=False).stdout)
        coffer("alice", "-H", far, "accept", task, "--digest", plan["Digest"], active=False)
        assert coffer("alice", "-H", far, "watch", task, active=False, check=False, timeout=120).returncode == 6
        shown = coffer("alice", "-H", far, "diff", task, active=False)
        assert shown.stdout.startswith("diff --git")
        work = json.loads(coffer("alice", "-H", far, "show", task, "--json", active=False).stdout)["WorkDigest"]
        coffer("alice", "-H", far, "accept", task, "--digest", work, active=False, timeout=120)
        assert repository.git("log", "--format=%an", "-1") == "Carol Example"
    finally:
        carol.end_project(project)


def test_doctor_looks_at_the_other_machine(far, coffer):
    told = coffer("alice", "-H", far, "doctor", "--json", active=False, check=False)
    rows = {check["name"]: check for check in json.loads(told.stdout)["Checks"]}
    assert rows["kernel"]["state"] == "ok" and rows["coffer-walls"]["state"] == "ok"
    assert "you" not in rows, "who one is on this machine says nothing of that one"


@pytest.mark.parametrize("host, said", [
    ("nowhere.invalid", "nowhere.invalid"),
    ("closed", "closed"),
    ("mallory@far", "mallory@far"),
])
def test_a_host_that_cannot_be_reached_is_told(far, coffer, host, said):
    refused = coffer("alice", "-H", host, "list", active=False, check=False, timeout=60)
    assert refused.returncode == 7
    assert f"The Cofferdam service on {said} does not answer" in refused.stderr
    assert f"next: ssh {said} systemctl status cofferd" in refused.stderr


def test_a_host_without_cofferd_is_told(far, coffer):
    run("systemctl", "mask", "--runtime", "--now", "cofferd.service")
    try:
        refused = coffer("alice", "-H", far, "list", active=False, check=False, timeout=60)
        assert refused.returncode == 7
        assert "The Cofferdam service on far does not answer" in refused.stderr and "ssh far systemctl unmask cofferd" in refused.stderr
        assert coffer("alice", "-H", far, "doctor", active=False, check=False).returncode == 7
    finally:
        run("systemctl", "unmask", "--runtime", "cofferd.service")


def test_what_is_no_host_is_a_wrong_command_line(coffer, cofferd):
    """ssh never takes it for an option of its own."""
    for host in ("-oProxyCommand=touch /tmp/remote-ran", "a b"):
        result = coffer("alice", f"--host={host}", "list", check=False)
        assert result.returncode in (2, 7), result.stderr
        assert "coffer: " in result.stderr
    assert not Path("/tmp/remote-ran").exists()
