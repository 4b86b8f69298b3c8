"""A command as root, as tests run it."""

import subprocess

import pytest


def run(*command, check=True, timeout=60, input=None, env=None, cwd=None):
    """Runs a command as root with text in and out. A failure says what the command printed."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout, env=env, cwd=cwd,
                            **({"input": input} if input is not None else {"stdin": subprocess.DEVNULL}))
    if check and result.returncode != 0:
        pytest.fail(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result
