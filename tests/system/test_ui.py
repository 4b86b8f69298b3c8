"""The terminal view, `coffer ui`, as its user has it: keys go in and a screen comes out, in a terminal of 80 columns and 24 lines.

tmux is the terminal. What is waited for is looked for on the screen again and again until a deadline.
"""

import os
import re
import time
import uuid
from pathlib import Path

import pytest
from conftest import login_command, run

pytestmark = pytest.mark.deadline(300)
FOREVER_QUIET = 4  # seconds in which a view that would redraw by itself does


class Screen:
    """A terminal with `coffer ui` in it."""

    def __init__(self, user, socket, environment=None, command="coffer ui"):
        self.user = user
        self.socket = socket
        words = " ".join(f"{name}={value}" for name, value in {"LANG": "C.UTF-8", **(environment or {})}.items())
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", f"env {words} {command}; echo ended $?; exec cat",
                  ";", "set-option", "status", "off")

    def tmux(self, *arguments, check=True):
        return run(*login_command(self.user, ["tmux", "-S", self.socket, *arguments]), check=check).stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def until(self, *wanted, seconds=60, without=()):
        """The screen as soon as all of the texts are on it."""
        end = time.monotonic() + seconds
        while True:
            shown = self.text()
            if all(text in shown for text in wanted) and not any(text in shown for text in without):
                return shown
            if time.monotonic() > end:
                pytest.fail(f"not on the screen after {seconds} s: {wanted} without {without}\n{shown}")
            time.sleep(0.1)

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def close(self):
        self.tmux("kill-server", check=False)


@pytest.fixture
def screen():
    """screen("carol") is a Screen of that user; TERM=..., NO_COLOR=... become its environment."""
    made = []

    def make(user="carol", command="coffer ui", **environment):
        made.append(Screen(user, f"/tmp/ui-{uuid.uuid4().hex[:8]}", environment, command))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_task_goes_from_plan_to_commit_by_single_keys(carol, project, repository, screen):
    before = repository.head()
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    view = screen()
    shown = view.until("Waiting for you (1)", "plan to read", "p plan")
    assert "a accept plan" not in shown, "nobody has read it yet"
    view.press("a")
    view.until("Read the plan first: p")
    assert task.State == "plan-ready"
    view.press("p")
    view.until("Acceptance criteria", "a accept plan", f"digest {task.PlanDigest}")
    view.press("a")
    view.until("Accept the plan of task", f"digest {task.PlanDigest}", "y yes")
    view.press("n")
    view.until("Nothing was decided")
    assert task.State == "plan-ready"
    view.press("a")
    view.until("y yes")
    view.press("y")
    view.until("Accepted the plan")
    task.until("ready", seconds=180)
    view.press("q")
    shown = view.until("work to review", "d diff")
    assert "a accept work" not in shown
    view.press("d")
    view.until("diff --git ", "@@ ", "a accept work", f"digest {task.WorkDigest}")
    view.press("a")
    view.until("Accept the work of task", f"digest {task.WorkDigest}", "landed on main in your repository", "1 file, +")
    candidate = task.Candidate
    view.press("y")
    view.until("Accepted the work")
    view.press("q")
    task.until("done")
    assert repository.head() == candidate != before
    view.until("Done (", " done")
    view.press("q")
    view.until("ended 0")


def test_a_question_is_answered_in_the_view(carol, project, screen):
    view = screen()
    view.until("Cofferdam", "q leave")
    task = carol.create_task(project, "ask")
    assert task.until("parked") == "question"
    view.until("asks you something")
    view.press("Home")  # what was selected stays selected
    view.until("It asks:", "r reply")
    view.press("r")
    view.until("Reply to task", "Ctrl-D send")
    view.type("The second.")
    view.press("Enter")
    view.type("Not the first.")
    view.until("The second.", "Not the first.")
    view.press("C-d")
    view.until("Replied", without=("Reply to task",))
    task.until("plan-ready", seconds=120)
    view.until("plan to read")


def test_a_reply_can_be_written_in_an_editor(carol, project, screen):
    task = carol.create_task(project, "ask")
    assert task.until("parked") == "question"
    editor = Path(f"/tmp/editor-{uuid.uuid4().hex[:8]}")
    editor.write_text('#!/bin/sh\necho "The second, says an editor." >"$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    try:
        view = screen(EDITOR=str(editor))
        view.until("asks you something", "e in editor")
        view.press("e")
        view.until("Replied")
        task.until("plan-ready", seconds=120)
        view.until("plan to read")
    finally:
        editor.unlink()


def test_a_task_is_cancelled_and_deleted(carol, project, screen):
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    view = screen()
    view.until("plan to read")
    view.press("c")
    view.until(f"Cancel task {task.id}", "y yes")
    view.press("y")
    view.until("Done (", "cancelled", "x delete")
    view.press("x")
    view.until(f"Delete task {task.id}", "y yes")
    view.press("y")
    view.until("Deleted", without=(f" {task.id} ",))


def written_by(pid, seconds):
    """Every byte the process wrote anywhere in that time, as strace sees it."""
    trace = Path(f"/tmp/trace-{uuid.uuid4().hex[:8]}")
    run("timeout", "--signal=INT", str(seconds), "strace", "-f", "-qq", "-e", "trace=write,writev,sendmsg,sendto", "-o", trace,
        "-p", str(pid), check=False, timeout=seconds + 30)
    lines = [line for line in trace.read_text().splitlines() if re.search(r"= [1-9]\d*$", line)]
    trace.unlink()
    return lines


def pid_of_view(user):
    uid = run("id", "-u", user).stdout.strip()
    return int(run("pgrep", "--newest", "--uid", uid, "--full", "^coffer ui").stdout)


def test_nothing_is_written_while_nothing_happens(carol, project, screen):
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    view = screen()
    view.until("plan to read", "p plan")
    view.press("p")
    view.until("Acceptance criteria", "a accept plan")
    pid = pid_of_view("carol")
    assert written_by(pid, FOREVER_QUIET) == [], "no byte to the terminal, no call on the bus"
    # The same measure sees a change of the state.
    carol.create_task(project, "Say more")
    view.press("q")
    view.until("Waiting for you (2)")


def wakes(pid):
    """How often the threads of the process have gone to sleep so far."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status.read_text(), re.MULTILINE)[1])
               for status in Path(f"/proc/{pid}/task").glob("*/status"))


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_it_sleeps_while_nothing_happens(carol, project, screen):
    carol.create_task(project, "Say more").until("plan-ready")
    view = screen()
    view.until("plan to read", "p plan")
    pid = pid_of_view("carol")
    before = wakes(pid)
    time.sleep(FOREVER_QUIET)
    assert wakes(pid) - before <= 2, "nothing that looks whether there is something to do"
    view.press("p")
    view.until("Acceptance criteria")
    assert wakes(pid) - before > 2, "the same measure sees a key"


def test_it_fits_whatever_size_the_terminal_has(carol, project, screen):
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    view = screen()
    view.until("plan to read")
    view.press("p")
    view.until("Acceptance criteria")
    for width, height in ((132, 50), (40, 12), (80, 24)):
        view.tmux("resize-window", "-x", str(width), "-y", str(height))
        shown = view.until("Plan", "back", "accept plan" if width > 40 else "accept")
        assert max(len(line) for line in shown.splitlines()) <= width
    view.until("Acceptance criteria")


@pytest.mark.parametrize("plain", [True, False])
def test_no_color_is_respected(carol, project, screen, plain):
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    view = screen(**({"NO_COLOR": "1"} if plain else {}))
    view.until("plan to read")
    colours = re.findall(r"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|38;|48;)[0-9;]*m", view.tmux("capture-pane", "-p", "-e"))
    assert (colours == []) == plain


def test_what_cannot_show_it_is_told_what_to_use_instead(cofferd, coffer, screen):
    refused = coffer("carol", "ui", check=False)
    assert refused.returncode == 2 and "terminal" in refused.stderr and "coffer list" in refused.stderr
    view = screen(TERM="dumb")
    view.until("cannot be drawn on", "next: coffer list", "ended 2")


def test_it_outlives_the_service(cofferd, carol, project, screen):
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    view = screen()
    view.until("plan to read", "p plan")
    cofferd.stop()
    view.until("Waiting for cofferd")
    view.press("c")
    view.until("Waiting for cofferd", without=("y yes",))
    cofferd.start()
    view.until("plan to read", "p plan", without=("Waiting for cofferd",))
    # What changes from now on is seen, too.
    carol.create_task(project, "Say more").until("plan-ready")
    view.until("Waiting for you (2)")


def test_what_acts_on_a_terminal_stands_as_code_points(carol, project, repository, screen):
    task = carol.create_task(project, "Say \u202e more\x1b[2J")
    task.until("plan-ready")
    view = screen()
    view.until("plan to read")
    view.until("Say <U+202E> more<U+001B>[2J")


def test_keys_that_come_in_pieces_and_the_mouse_are_understood(carol, project, screen):
    carol.create_task(project, "Say more").until("plan-ready")
    view = screen()
    view.until("plan to read", "p plan")
    view.press("?")
    view.until("leave", "Esc")
    view.press("Escape")
    view.until("plan to read", "p plan")
    # A click on the selected task opens it, the wheel moves.
    row = next(number for number, line in enumerate(view.text().splitlines(), 1) if "Say more" in line)
    for _ in range(2):
        view.type(f"\x1b[<0;10;{row}M\x1b[<0;10;{row}m")
    view.until("Details", "back")
    view.type("\x1b")
    view.until("plan to read", "p plan")


def test_ctrl_c_leaves_the_terminal_as_it_was(cofferd, carol, project, screen):
    view = screen()
    view.until("Cofferdam", "q leave")
    view.press("C-c")
    view.until("ended 0", without=("q leave",))
    assert view.tmux("display-message", "-p", "#{alternate_on}#{mouse_any_flag}#{cursor_flag}").strip() == "001"


def test_a_big_diff_is_there_at_once(carol, project, screen):
    task = carol.create_task(project, "big-diff")
    task.until("plan-ready")
    task.accept_plan()
    task.until("ready", seconds=180)
    view = screen()
    view.until("work to review", "d diff")
    view.press("d")
    view.until("a accept work")
    pid = pid_of_view("carol")
    before = processor_seconds(pid)
    view.press("G")
    view.until("of 110")
    view.press(*["PageUp"] * 20, "g")
    view.until("diff --git")
    # A hundredth of a second, measured so that it does not matter what else the machine does.
    assert processor_seconds(pid) - before < 1, "a screen is made of what is on it"


def test_a_turn_is_followed_while_it_runs(carol, project, screen):
    task = carol.create_task(project, "Say more, hang")
    task.until("plan-ready")
    task.accept_plan()
    task.until("writing")
    view = screen()
    view.until("Working (1)", "l transcript")
    view.press("l")
    # The agent's first words, by the rules of its descriptor; it has not ended, and will not by itself.
    view.until("run ", "it goes on", "I hang")
    assert task.State == "writing"
    task.cancel()
    view.until("Transcript", without=("it goes on",))
