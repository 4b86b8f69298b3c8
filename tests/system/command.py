"""A command as root, as tests run it."""

import os
import subprocess

import pytest


def run(*command, check=True, timeout=60, input=None, env=None, cwd=None):
    """Runs a command as root with text in and out; what is no text of what it prints is as os.fsdecode() has it, and words and input
    may be bytes. A failure says what the command printed."""
    if isinstance(input, bytes):
        input = os.fsdecode(input)
    result = subprocess.run([part if isinstance(part, bytes) else str(part) for part in command], capture_output=True, text=True,
                            errors="surrogateescape", timeout=timeout, env=env, cwd=cwd,
                            **({"input": input} if input is not None else {"stdin": subprocess.DEVNULL}))
    if check and result.returncode != 0:
        pytest.fail(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result
