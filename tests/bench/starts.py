"""How long others take from being asked to the first instruction of what they start: each prints the time of it."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from conftest import run

STAMP = "echo $EPOCHREALTIME"
# What systemd writes of a transient unit and does not take back from systemd-run, or what is another's command and name.
OMITTED = ("ExecStart", "Description", "RemainAfterExit", "Type", "Slice", "LogExtraFields", "StandardOutput", "StandardError",
           "StandardInput", "RuntimeMaxSec", "RuntimeMaxUSec")


# systemd writes these by one name and takes their words by another.
RENAMED = {"PrivateTmp": "PrivateTmpEx", "PrivateUsers": "PrivateUsersEx", "ProtectControlGroups": "ProtectControlGroupsEx"}


class Refused(Exception):
    pass


def timed(command, seconds=60, environment=None):
    """Milliseconds from before the command to the stamp that it printed."""
    before = time.time()
    result = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, env=environment)
    stamps = [line for line in result.stdout.split() if line.replace(".", "").isdigit()]
    if result.returncode != 0 or not stamps:
        raise Refused(f"exit {result.returncode}: {' '.join((result.stderr or result.stdout).split())[-300:]}")
    return (float(stamps[-1]) - before) * 1000


def properties_of(unit):
    """The properties of a unit that PID 1 was asked for, as its own file has them."""
    found = []
    directory = Path("/run/systemd/transient")
    for file in (directory / unit, *sorted((directory / f"{unit}.d").glob("*.conf"))):
        if not file.exists():
            continue
        # Long lines are continued by a backslash.
        for line in file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
            key, equals, value = line.partition("=")
            if equals and not line.startswith(("#", "[")) and key not in OMITTED and value:
                found.append((RENAMED.get(key, key), value))
    return found


def systemd_run(properties):
    """The command line of a unit with these properties: bare, without a workspace to make or a task to record."""
    command = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--service-type=exec", "--expand-environment=no"]
    return [*command, *(f"--property={key}={value}" for key, value in properties), "/bin/bash", "-c", STAMP]


def bwrap():
    return ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
            "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
            "/bin/bash", "-c", STAMP]


def podman_root():
    """A root whose only content is the machine's own /usr, mounted: as little to set up as podman can be given."""
    root = Path("/var/lib/bench-podman/root")
    shutil.rmtree(root.parent, ignore_errors=True)
    for name in ("usr", "proc", "sys", "dev", "tmp", "run", "etc"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    return root


def podman(root):
    return ["podman", "--root", f"{root.parent}/storage", "--runroot", "/run/bench-podman", "--storage-driver", "vfs", "--runtime", "crun",
            "--cgroup-manager", "cgroupfs", "--events-backend", "none", "run", "--rm", "--cgroups", "disabled", "--network", "none",
            "--log-driver", "none", "--pull", "never", "--volume", "/usr:/usr:ro", "--rootfs", str(root), "/bin/bash", "-c", STAMP]


def measure(name, command, times, table, ours):
    """A line of the table; what it was refused with is why it was not measured."""
    try:
        timed(command)  # once for what is only paid once
        values = [timed(command) for _ in range(times)]
    except (Refused, OSError, subprocess.TimeoutExpired) as error:
        table.not_measured(name, str(error))
        return
    table.add(name, values, "ms", ratio=ours / sorted(values)[len(values) // 2] if ours else None)


def others(table, properties, times, ours):
    """`ours`: our own median in ms; the ratio of a line is ours to theirs."""
    if properties:
        measure("start: systemd-run with the writer's properties", systemd_run(properties), times, table, ours)
    else:
        table.not_measured("start: systemd-run with the writer's properties", "no writer's unit to take them from")
    measure("start: systemd-run, no property", systemd_run([]), times, table, ours)
    measure("start: bwrap", bwrap(), times, table, ours)
    measure("start: podman run --rootfs", podman(podman_root()), times, table, ours)
    shutil.rmtree("/var/lib/bench-podman", ignore_errors=True)


def clone_local(repository, times):
    """Seconds of `git clone --local` of a repository by its owner, on the same file system."""
    values = []
    for number in range(times):
        copy = Path(f"{repository.directory}-clone-{number}")
        before = time.time()
        repository.run("git", "clone", "--quiet", "--local", str(repository.directory), str(copy), timeout=600)
        values.append(time.time() - before)
        run("rm", "-rf", "--one-file-system", copy, timeout=600)
        os.sync()
    return values
