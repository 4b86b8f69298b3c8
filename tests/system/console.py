"""A page's commands, typed at a shell on a terminal, and what the page says that they print.

A block that begins with ```console has commands after `$ `, going on after `> `, each with what it prints below it. In that `...` stands
for any text, also of more than one line; what follows `[y/N] ` is typed when that is asked. A block that begins with `# ` is root's, and
not run.
"""

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

from conftest import login_command

READY = "<ready %d>"


def blocks(page):
    """[(line number, command, what it prints)] of all console blocks of a page."""
    found = []
    inside = first = False
    for number, line in enumerate(Path(page).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            inside = first = line == "```console"
            continue
        if first and line.startswith("# "):
            inside = False
        first = False
        if inside and line.startswith("$ "):
            found.append([number, line[2:], []])
        elif inside and found:
            if re.match(r">( |$)", line) and not found[-1][2]:
                found[-1][1] += "\n" + line[2:]
            else:
                found[-1][2].append(line)
    return [(number, command, "\n".join(lines)) for number, command, lines in found]


def as_pattern(text):
    """What is printed, with `...` for anything and without what is typed into it."""
    text = re.sub(r"(\[y/N\] )\w+\n?", r"\1", text)
    return re.compile(r".*?".join(re.escape(part) for part in text.split("...")), re.DOTALL)


def as_read(shown):
    """A terminal's output as it is read: without colours, and of a line that was written anew only the last."""
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r\n", "\n")
    return "\n".join(line.rsplit("\r", 1)[-1].rstrip() for line in shown.split("\n")).strip("\n")


class Shell:
    """bash on a terminal, in a session of a user. What is typed is not echoed."""

    def __init__(self, user, environment, seconds=120):
        self.seconds = seconds
        self.master, slave = pty.openpty()
        # Its prompt tells that a command has ended, and counts, so that none is taken for another's. Nothing else may be typed after a
        # command: what the command asks would read it.
        prompt = {"PS1": "", "PS2": "", "PROMPT_COMMAND": r"""printf '\n<%s %d>\n' ready $((ready++))"""}
        self.process = subprocess.Popen(login_command(user, ["bash", "--norc", "--noprofile", "--noediting"], tty=True,
                                                      environment={"TERM": "dumb", **prompt, **environment}),
                                        stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.number = 0
        self.rest = b""
        self.read("bash", [])
        self.run("stty -echo")

    def run(self, command, answers=()):
        """What it printed. Each answer is typed when the question's `[y/N] ` is on the screen."""
        os.write(self.master, f"{command}\n".encode())
        return self.read(command, list(answers))

    def read(self, command, answers):
        """What is shown up to the next prompt."""
        mark = (READY % self.number).encode()
        self.number += 1
        shown = self.rest
        seen = 0
        end = time.monotonic() + self.seconds
        while mark not in shown:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"still at it after {self.seconds} s: {command}\n{as_read(shown.decode(errors='replace'))}")
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                raise AssertionError(f"the shell ended in: {command}\n{shown.decode(errors='replace')}") from None
            shown += piece
            asked = shown.find(b"[y/N] ", seen)
            if answers and asked >= 0:
                seen = asked + 1
                os.write(self.master, answers.pop(0).encode() + b"\n")
        shown, self.rest = shown.split(mark, 1)
        self.rest = self.rest.lstrip(b"\r\n")
        return as_read(shown.decode(errors="replace"))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
