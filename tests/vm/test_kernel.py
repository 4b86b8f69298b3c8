"""The kernel has what limits need; that they bite is shown with nothing but systemd, so a later failure is ours."""

import uuid
from pathlib import Path

from conftest import run


def test_every_controller_is_there():
    controllers = Path("/sys/fs/cgroup/cgroup.controllers").read_text(encoding="ascii").split()
    assert {"cpu", "io", "memory", "pids"} <= set(controllers)


def transient(*properties, command):
    """Runs a unit to its end and gives its result as PID 1 recorded it."""
    name = f"vm-{uuid.uuid4().hex[:8]}.service"
    run("systemd-run", f"--unit={name}", "--quiet", "--wait", *(f"--property={item}" for item in properties), *command,
        check=False, timeout=300)
    shown = run("systemctl", "show", name, "--property=Result,LoadState,ExecMainStatus").stdout
    run("systemctl", "reset-failed", name, check=False)
    return dict(line.split("=", 1) for line in shown.splitlines())


def test_a_memory_limit_ends_what_goes_over_it():
    result = transient("MemoryMax=40M", "MemorySwapMax=0", "OOMPolicy=kill",
                       command=("python3", "-c", "b = bytearray(200 << 20); print(sum(b[::4096]))"))
    assert (result["Result"], result["LoadState"]) == ("oom-kill", "loaded")


def test_a_limit_of_tasks_refuses_one_more():
    script = """if True:
        import os, signal
        for i in range(40):
            try:
                child = os.fork()
            except BlockingIOError:
                os._exit(7)
            if child == 0:
                signal.pause()
        """
    result = transient("TasksMax=10", command=("python3", "-c", script))
    assert result == {"Result": "exit-code", "LoadState": "loaded", "ExecMainStatus": "7"}
