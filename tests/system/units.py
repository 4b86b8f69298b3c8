"""What PID 1 says of a unit, asked now. A name without a suffix is a service's."""

from command import run


def shown(unit, name):
    return run("systemctl", "show", f"--property={name}", "--value", unit).stdout.strip()


def active(unit):
    return run("systemctl", "is-active", unit, check=False).stdout.strip() == "active"


def sub_state(unit):
    return shown(unit, "SubState")


def invocation(unit):
    return shown(unit, "InvocationID")


def main_pid(unit):
    return int(shown(unit, "MainPID"))
