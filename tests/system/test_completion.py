"""What Tab does in the three shells, each run for real on a terminal."""

import shlex
import time
from pathlib import Path

import pytest
from conftest import run

SHELLS = {"bash": "bash --norc -i", "zsh": "zsh -f -i", "fish": "fish --interactive"}
PREPARE = {
    "bash": "PS1='> '; . /usr/share/bash-completion/bash_completion; bind 'set bell-style none'; bind 'set show-all-if-ambiguous on'",
    "zsh": "PS1='> '; fpath=(/usr/share/zsh/vendor-completions $fpath); autoload -Uz compinit; compinit -u -D; setopt no_beep",
    "fish": "function fish_prompt; echo '> '; end",
}


class Screen:
    """A shell of one user in tmux."""

    def __init__(self, user, shell):
        self.user, self.shell = user, shell
        self.tmux("new-session", "-d", "-x", "100", "-y", "30", f"cd /home/{user} && exec env TERM=tmux-256color {SHELLS[shell]}")
        self.type(PREPARE[shell], "Enter")
        self.type("clear; echo r'e'ady", "Enter")
        self.until("ready")

    def tmux(self, *arguments):
        return run("setpriv", "--reuid", self.user, "--regid", self.user, "--init-groups", "env", "-i", "PATH=/usr/bin:/bin",
                   f"HOME=/home/{self.user}", "LANG=C.UTF-8", "tmux", "-L", f"completion-{self.shell}", "-f", "/dev/null", *arguments).stdout

    def type(self, text, *keys):
        self.tmux("send-keys", "-l", text)
        if keys:
            self.tmux("send-keys", *keys)

    def until(self, *texts):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            shown = self.tmux("capture-pane", "-p")
            if all(text in shown for text in texts):
                return shown
            time.sleep(0.1)
        raise AssertionError(f"{texts} not on the screen of {self.shell}:\n{shown}")

    def clear(self):
        self.tmux("send-keys", "C-c")
        self.type("clear; echo r'e'ady", "Enter")
        self.until("ready")


@pytest.fixture(params=SHELLS)
def screen(request):
    screen = Screen("carol", request.param)
    yield screen
    screen.tmux("kill-server")


def test_tab_completes_verbs_options_and_names(screen, coffer, make_repository):
    repository = make_repository("carol")
    name = f"tab-{screen.shell}"
    coffer("carol", "project", "add", str(repository.directory), "--name", name, "--test", "true", active=False)
    try:
        screen.type("coffer proj", "Tab")
        screen.until("coffer project")
        screen.clear()
        screen.type("coffer project ", "Tab")
        screen.until("add", "list", "remove", "show")
        screen.clear()
        screen.type("coffer accept --dig", "Tab")
        screen.until("--digest")
        screen.clear()
        screen.type("coffer new --project tab-", "Tab")
        screen.until(f"--project {name}")
        screen.clear()
        screen.type("coffer new --flow=sup", "Tab")
        screen.until("--flow=supervisor")
    finally:
        coffer("carol", "project", "remove", "-y", name, active=False)


def test_what_completes_is_never_run_by_the_shell(screen, as_user, carol, project, coffer):
    """A title is an agent's or a person's text; a shell takes it as a description at most."""
    ran = Path("/tmp/tab-ran")
    task = carol.create_task(project, f"$(touch {ran})\x1b[31m `touch {ran}`")
    shown = coffer("carol", "complete", "--", "show", "", active=False).stdout
    mine, = [line for line in shown.splitlines() if line.split("\t")[0] == str(task.id)]
    assert f"$(touch {ran})" in mine and "\x1b" not in shown
    screen.type(f"coffer show {task.id}", "Tab")
    screen.type("#after")  # what is typed after a Tab is shown when that is done
    screen.until("#after")
    listed = as_user("carol", "bash", "-c", ". /usr/share/bash-completion/completions/coffer; COMP_WORDS=(coffer show ''); COMP_CWORD=2; _coffer; "
                     "printf '%s\\n' \"${COMPREPLY[@]}\"", active=False).stdout.splitlines()
    assert str(task.id) in [line.split()[0] for line in listed]
    assert all(shlex.split(line)[0].isdigit() for line in listed)
    assert not ran.exists()
