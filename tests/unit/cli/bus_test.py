"""The whole command line against a stand-in for the service, on a bus of its own: what it prints, calls and how it ends."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
COFFER = os.environ["COFFER"]
NOW = int(time.time() * 1e6)
PLAN_DIGEST = "sha256:" + "a" * 64
WORK_DIGEST = "sha256:" + "b" * 64
PLAN = "# Plan\n\nClear\x1b[2J the screen and turn \u202e around.\n"
DIFF = (
    "diff --git a/inflate.c b/inflate.c\n--- a/inflate.c\n+++ b/inflate.c\n@@ -1,2 +1,2 @@\n keep\n-old\n+new\n"
)

CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
"""


def task(number=17, **changes):
    values = {
        "Id": number, "Project": "/org/cofferdam/Cofferdam1/project/1", "ProjectName": "zlib", "Owner": os.getuid(),
        "Title": "Fix the overflow", "State": "writing", "Parked": "", "Waiting": ["", "", 0], "Flow": "review",
        "Agents": {"writer": "codex/m"}, "Policy": {"plan": "ask"}, "Round": 0, "Rounds": 3, "Base": "1" * 40,
        "BaseBranch": "main", "Candidate": "", "PlanDigest": "", "WorkDigest": "", "Pending": [], "Question": "",
        "Actions": ["cancel"], "Problem": ["", ""], "Usage": {"input": 12345, "output": 10}, "CostMicro": -1, "Refusals": [],
        "Slice": "coffer-u1000-17.slice", "Created": NOW - 60_000_000, "Changed": NOW - 5_000_000, "Sequence": 4, "Landed": [],
    }
    values.update(changes)
    return values


def plan_task(number=17, **changes):
    return task(number, State="plan-ready", PlanDigest=PLAN_DIGEST, Pending=[["plan", PLAN_DIGEST]],
                Actions=["accept-plan", "reply", "cancel"], **changes)


def work_task(number=17, **changes):
    return task(number, State="ready", PlanDigest=PLAN_DIGEST, WorkDigest=WORK_DIGEST, Candidate="c" * 40,
                Pending=[["work", WORK_DIGEST]], Actions=["accept-work", "reply", "cancel"], **changes)


def question_task(number=17):
    return task(number, Parked="question", Question="Which\u202e one?", Pending=[["question", "sha256:q"]],
                Waiting=["question", "It asks.", 0], Actions=["reply", "cancel"])


LANDED = {"State": "done", "Actions": ["delete"], "Pending": [], "Landed": [["c" * 40, "main", "/home/me/zlib"]]}


@pytest.fixture(scope="module")
def bus(tmp_path_factory):
    where = tmp_path_factory.mktemp("bus")
    (where / "bus.conf").write_text(CONFIG % (where / "socket"))
    daemon = subprocess.Popen(["dbus-daemon", "--config-file=%s" % (where / "bus.conf"), "--print-address=1", "--nofork"],
                              stdout=subprocess.PIPE, text=True)
    address = daemon.stdout.readline().strip()
    yield address
    daemon.terminate()
    daemon.wait()


class World:
    """A service with what a test says it holds, and the command line as a user of it."""

    def __init__(self, address, where):
        self.where = where
        self.calls_file = where / "calls"
        self.service = None
        self.environment = {"PATH": os.environ["PATH"], "DBUS_SYSTEM_BUS_ADDRESS": address, "HOME": str(where), "LANG": "C.UTF-8",
                            "XDG_STATE_HOME": str(where / "state"), "TERM": "xterm", "TZ": "UTC"}

    def serve(self, **state):
        self.stop()
        (self.where / "state.json").write_text(json.dumps(state))
        self.service = subprocess.Popen([sys.executable, os.path.join(HERE, "fake_service.py"), self.where / "state.json", self.calls_file],
                                        env=self.environment, stdout=subprocess.PIPE, text=True)
        assert self.service.stdout.readline() == "ready\n"

    def stop(self):
        if self.service:
            self.service.terminate()
            self.service.wait()

    def coffer(self, *arguments, stdin="", cwd=None):
        return subprocess.run([COFFER, *arguments], env=self.environment, input=stdin, cwd=cwd, capture_output=True, text=True, timeout=60)

    def json(self, *arguments, code=0):
        result = self.coffer("--json", *arguments)
        assert result.returncode == code, result.stderr
        return json.loads(result.stdout)

    def calls(self):
        return [json.loads(line) for line in self.calls_file.read_text().splitlines()] if self.calls_file.exists() else []

    def terminal(self, *arguments, answers=(), interrupt_at=None, size=(24, 80)):
        """Runs it on a terminal; `answers`: (what to wait for, what to type). Gives the exit status as waitpid has it and the screen."""
        pid, master = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            os.execve(COFFER, [COFFER, *arguments], self.environment)
        screen, answers = "", list(answers)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            screen += data.decode(errors="replace")
            if answers and answers[0][0] in screen:
                os.write(master, answers.pop(0)[1].encode())
            if interrupt_at and interrupt_at in screen:
                interrupt_at = None
                os.write(master, b"\x03")
        else:
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        os.close(master)
        return status, screen.replace("\r\n", "\n")


def completed(world, *words):
    """What the last of the words could be."""
    return [line.split("\t")[0] for line in world.coffer("complete", "--", *words).stdout.splitlines()]


@pytest.fixture
def world(bus, tmp_path):
    world = World(bus, tmp_path)
    yield world
    world.stop()


PROJECT = {"Id": 1, "Name": "zlib", "Owner": os.getuid(), "Directory": "/nowhere/zlib", "DirectoryText": "/nowhere/zlib", "Base": "1" * 40,
           "Build": ["make"], "Test": ["make test"], "Policy": {"plan": "ask"}, "Agents": {}, "Networks": {}}


def test_alone_it_shows_what_waits_and_what_goes_on(world):
    world.serve(tasks=[plan_task(17), task(18, State="verifying"), task(9, **LANDED)])
    result = world.coffer()
    assert result.returncode == 0
    waiting, going = result.stdout.split("Going on")
    assert "17 zlib: Fix the overflow" in waiting and "coffer plan 17   coffer accept 17   coffer reply 17" in waiting
    assert "18 zlib" in going and "coffer watch 18" in going
    assert "9 zlib" not in result.stdout


def test_alone_on_an_empty_machine_it_names_the_first_step(world):
    world.serve()
    result = world.coffer()
    assert result.returncode == 0 and "coffer project add" in result.stdout


def test_without_a_service_it_ends_with_7(world):
    result = world.coffer("list")
    assert result.returncode == 7
    assert "systemctl status cofferd" in result.stderr
    assert len(result.stderr.splitlines()) == 2
    assert json.loads(world.coffer("list", "--json").stdout)["Error"]["ExitCode"] == 7


def test_without_a_bus_it_ends_with_7(world):
    world.environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nowhere/socket"
    assert world.coffer("list").returncode == 7


def test_list_lines_up_and_follows_the_cursor(world):
    world.serve(tasks=[task(7), plan_task(1234), task(8, **LANDED)])
    lines = world.coffer("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["TASK", "1234", "7"]
    assert len({line.index("zlib") for line in lines[1:]}) == 1
    assert {t["Id"] for t in world.json("list", "--all")["Tasks"]} == {7, 8, 1234}
    assert [t["Id"] for t in world.json("list", "--state", "done")["Tasks"]] == [8]
    assert "\x1b" not in world.coffer("list").stdout


def test_a_long_sentence_does_not_widen_the_list(world):
    words = "The provider said that " + "it has had enough, " * 12
    parked = task(18, Parked="blocked", Waiting=["turn-failed", words, 0])
    run = {"Id": 1, "Kind": "gate", "Role": "", "Agent": "", "Round": 0, "Attempt": 1, "Started": NOW, "Ended": NOW + 3_000_000,
           "Result": "exit-code", "Code": 2, "Text": "make -j2 CFLAGS=" + "-O2," * 40}
    world.serve(tasks=[parked, task(17)], runs=[run])
    for command, wanted in ((["list"], "Fix the overflow"), (["show", "17", "--no-pager"], "exit code 2")):
        rows = [re.sub(r"\x1b\[[0-9;]*m", "", row) for row in world.terminal(*command)[1].splitlines()]
        assert all(len(row) <= 80 for row in rows if "digest" not in row), rows
        assert any(wanted in row for row in rows)
    assert words.strip() in world.coffer("list").stdout, "in a pipe it is whole"


def test_show_says_state_question_runs_and_refusals(world):
    runs = [{"Id": 1, "Kind": "turn", "Role": "writer", "Agent": "codex", "Model": "m", "Round": 0, "Attempt": 1, "Started": NOW,
             "Ended": NOW + 3_000_000, "Result": "ok", "Code": 0, "Text": "", "Usage": {"input": 100, "output": 20}}]
    asking = question_task()
    asking["Refusals"] = [["writer", "tcp", "203.0.113.9", "evil.example", 443, "not in the profile", 3]]
    asking["Usage"] = {"input": 12345, "cached": 8000, "output": 10, "reasoning": 0, "requests": 3, "wall-us": 9_300_000}
    world.serve(tasks=[asking], runs=runs)
    result = world.coffer("show", "17")
    assert result.returncode == 0
    assert "20.4k tokens (12.3k in, 8.0k cached, 10 out), 3 requests, 9.3 s of turns" in result.stdout
    assert "asks you something" in result.stdout
    assert "Which<U+202E> one?" in result.stdout
    assert "writer (codex/m)" in result.stdout
    assert "tcp evil.example:443" in result.stdout
    assert "coffer reply 17" in result.stderr
    shown = world.json("show", "17")
    assert shown["Refusals"] == [["writer", "tcp", "203.0.113.9", "evil.example", 443, "not in the profile", 3]]
    assert shown["Runs"][0]["Usage"] == {"input": 100, "output": 20}
    assert shown["Waiting"] == ["question", "It asks.", 0]


def test_an_unknown_task_ends_with_4(world):
    world.serve(tasks=[task(17)])
    result = world.coffer("show", "99")
    assert result.returncode == 4
    assert "There is no task 99." in result.stderr and "coffer list --all" in result.stderr


def test_a_task_of_somebody_else_is_named_with_all_users(world):
    world.serve(tasks=[task()])
    assert "17 zlib" in world.coffer("show", "17", "--all-users").stdout
    nameless = world.coffer("show", "--all-users")
    assert nameless.returncode == 2 and "coffer list --all-users" in nameless.stderr
    world.serve(tasks=[task()], errors={"Manager.ListTasks all-users": ["AccessDenied", "polkit does not allow you this."]})
    assert world.coffer("show", "17").returncode == 0, "without it nobody is asked"
    assert world.coffer("show", "17", "--all-users").returncode == 3


def test_the_task_may_be_left_out_when_exactly_one_waits(world):
    world.serve(tasks=[plan_task(17), task(18)], texts={"plan": PLAN})
    result = world.coffer("plan")
    assert result.returncode == 0 and "Task 17" in result.stderr
    assert world.json("plan")["Id"] == 17


def test_with_two_waiting_the_task_must_be_named(world):
    world.serve(tasks=[plan_task(17), question_task(18)])
    result = world.coffer("plan")
    assert result.returncode == 2
    assert "17 zlib" in result.stderr and "18 zlib" in result.stderr


def test_with_none_waiting_the_task_must_be_named(world):
    world.serve(tasks=[task(17)])
    assert world.coffer("accept").returncode == 2
    assert world.coffer("show").returncode == 0  # looking takes the one that goes on


def test_plan_shows_hidden_characters_and_the_digest(world):
    world.serve(tasks=[plan_task()], texts={"plan": PLAN}, piece=64)
    result = world.coffer("plan", "17")
    assert "Clear<U+001B>[2J the screen and turn <U+202E> around." in result.stdout
    assert "\x1b" not in result.stdout and "\u202e" not in result.stdout
    assert PLAN_DIGEST in result.stderr
    assert world.json("plan", "17") == {"Id": 17, "Plan": PLAN, "Digest": PLAN_DIGEST}


def test_the_writers_answer_is_shown_whole_and_harmless(world):
    world.serve(tasks=[task()], texts={"answer": "It is right.\n\nTurn \u202e around."})
    assert world.coffer("show", "17", "--answer").stdout == "It is right.\n\nTurn <U+202E> around.\n"
    assert world.json("show", "17", "--answer")["Answer"] == "It is right.\n\nTurn \u202e around."


def test_a_writer_that_answered_nothing_is_told(world):
    world.serve(tasks=[task()])
    assert world.coffer("show", "17", "--answer").returncode == 4


def test_the_line_that_is_left_of_a_deleted_task_is_in_the_whole_list(world):
    world.serve(tasks=[task(7, **LANDED), task(9, State="cancelled", Actions=[], Deleted=True)])
    assert "cancelled, deleted" in world.coffer("list", "--all").stdout
    assert "deleted" not in world.coffer("list", "--state", "cancelled").stdout


def test_long_texts_are_put_together_from_pieces(world):
    text = "".join("line %d\n" % i for i in range(3000))
    world.serve(tasks=[task()], texts={"transcript": text, "gate": "make: ok\n", "log:3": "raw\n"}, piece=1000)
    assert world.coffer("log", "17").stdout == text
    assert world.coffer("log", "17", "--gate").stdout == "make: ok\n"
    assert world.coffer("log", "17", "--output", "--run", "3").stdout == "raw\n"
    missing = world.coffer("log", "17", "--run", "4")
    assert missing.returncode == 4 and "There is no transcript yet." in missing.stderr


def test_pieces_of_two_texts_are_never_put_together(world):
    world.serve(tasks=[task()], texts={"transcript": "x"}, piece=1000, changing=1)
    result = world.coffer("log", "17")
    assert len(result.stdout.rstrip("\n")) <= 1000 and len({line[:11] for line in result.stdout.splitlines()}) == 1
    assert "There is more" in result.stderr


MIB = 1024 * 1024
LONG_LOG = "the oldest line\n" + "a line like any other\n" * (9 * MIB // 22) + "the newest line\n"


def test_of_a_long_log_that_grows_the_end_is_shown(world):
    world.serve(tasks=[task()], texts={"log": LONG_LOG}, growing=[len(LONG_LOG), 0])
    result = world.coffer("log", "17", "--output")
    lines = result.stdout.splitlines()
    assert lines[-1] == "the newest line" and set(lines[:-1]) == {"a line like any other"}, "whole lines, the last ones"
    assert 7 * MIB < len(result.stdout) <= 8 * MIB and "What came before is not shown" in result.stderr
    assert world.json("log", "17", "--output")["Cut"] is True
    world.serve(tasks=[task()], texts={"log": "all of it\n"}, growing=[10, 0])
    result = world.coffer("log", "17", "--output")
    assert (result.stdout, result.stderr) == ("all of it\n", "")
    assert world.json("log", "17", "--output")["Cut"] is False


@pytest.mark.parametrize("growing", [[len(LONG_LOG), 0], [7 * MIB, 256 * 1024]], ids=["long before", "long while it is shown"])
def test_the_view_follows_the_end_of_a_long_log(world, growing):
    run = {"Id": 5, "Kind": "turn", "Role": "writer", "Agent": "", "Round": 0, "Attempt": 1, "Started": NOW, "Ended": 0, "Result": "",
           "Code": 0, "Text": ""}
    log = "a line like any other\n" * (16 * MIB // 22) + "the newest line\n" if growing[1] else LONG_LOG
    world.serve(tasks=[task()], runs=[run], texts={"log:5": log}, growing=growing)
    status, screen = world.terminal("ui", answers=[("transcript", "l"), ("the newest line", "q"), ("leave", "q")])
    assert os.waitstatus_to_exitcode(status) == 0 and "this is its end by now" in screen


def test_log_events(world):
    world.serve(tasks=[task()], events=[[1, 17, NOW, "created", {"flow": "review"}], [2, 17, NOW + 61_000_000, "plan", {}]])
    result = world.coffer("log", "17", "--events")
    assert "00:00  created  flow=review" in result.stdout and "01:01  plan" in result.stdout
    assert [e["Type"] for e in world.json("log", "17", "--events")["Events"]] == ["created", "plan"]


def test_diff_and_its_summary(world):
    world.serve(tasks=[work_task()], texts={"diff": DIFF})
    assert world.coffer("diff", "17").stdout == DIFF
    assert "1 file, +1 -1" in world.coffer("diff", "17", "--stat").stdout


def test_review_tells_which_commands_of_the_gate_failed(world):
    def gate(number, text, result, code, round):
        return {"Id": number, "Kind": "gate", "Role": "", "Agent": "", "Model": "", "Round": round, "Attempt": 1, "Unit": "u", "Conversation": 0,
                "Started": NOW, "Ended": NOW + 1, "Result": result, "Code": code, "Text": text, "Usage": {}}
    world.serve(tasks=[task()], runs=[gate(1, "make", "success", 0, 0), gate(2, "make \u202etest", "exit-code", 2, 0),
                                      gate(3, "make check", "timeout", 0, 1)])
    result = world.coffer("review", "17")
    assert result.stdout == "Round 1, gate  make check: took too long\nRound 0, gate  make <U+202E>test: exit code 2\n"
    assert "coffer log 17 --gate" in result.stderr
    assert [run["Text"] for run in world.json("review", "17")["FailedGates"]] == ["make check", "make \u202etest"]


def test_review_lists_findings(world):
    world.serve(tasks=[work_task()], findings=[
        {"Id": "f1", "Round": 1, "Source": "reviewer", "Severity": "error", "Blocking": True, "Path": "a.c", "Line": 7, "Title": "Off by one",
         "Text": "See\x1b[31m here."}])
    result = world.coffer("review", "17")
    assert "error blocking a.c:7: Off by one" in result.stdout and "See<U+001B>[31m here." in result.stdout
    assert world.json("review", "17")["Findings"][0]["Path"] == "a.c"


def test_accept_without_a_terminal_wants_the_digest(world):
    world.serve(tasks=[plan_task()], texts={"plan": PLAN})
    result = world.coffer("accept", "17")
    assert result.returncode == 2 and "--digest" in result.stderr and "coffer plan 17" in result.stderr
    assert world.calls() == []


def test_accept_by_digest_decides_exactly_that(world):
    world.serve(tasks=[plan_task()], texts={"plan": PLAN})
    for _ in range(2):
        assert world.coffer("accept", "17", "--digest", PLAN_DIGEST).returncode == 0
    assert [c["digest"] for c in world.calls() if c["call"] == "Task.AcceptPlan"] == [PLAN_DIGEST] * 2
    stale = world.coffer("accept", "17", "--digest", "sha256:" + "0" * 64)
    assert stale.returncode == 5 and "The plan is another by now." in stale.stderr and "coffer show 17" in stale.stderr


def test_accept_on_a_terminal_shows_it_and_asks(world):
    world.serve(tasks=[plan_task()], texts={"plan": PLAN})
    status, screen = world.terminal("accept", "17", answers=[("[y/N]", "n\n")])
    assert os.waitstatus_to_exitcode(status) == 1
    assert "turn <U+202E> around" in screen and PLAN_DIGEST in screen and "Nothing was accepted" in screen
    assert world.calls() == []
    status, screen = world.terminal("accept", "17", answers=[("[y/N]", "y\n")])
    assert os.waitstatus_to_exitcode(status) == 0
    assert "You have been shown it" in screen and PLAN_DIGEST in screen
    assert "turn <U+202E>" not in screen
    assert [c["digest"] for c in world.calls()] == [PLAN_DIGEST]


def test_a_branch_for_a_plan_is_refused_before_anybody_is_asked(world):
    world.serve(tasks=[plan_task()], texts={"plan": PLAN})
    status, screen = world.terminal("accept", "17", "--branch", "x")
    assert os.waitstatus_to_exitcode(status) == 2 and "this is a plan" in screen
    assert "[y/N]" not in screen and "Clear" not in screen and world.calls() == []


def test_notify_prints_one_object_with_json(world):
    # No manager of a user runs here; that it was told is what its client ends with.
    fake = world.where / "bin"
    fake.mkdir()
    (fake / "systemctl").write_text("#!/bin/sh\necho \"$*\" >> %s\n" % (world.where / "told"))
    (fake / "systemctl").chmod(0o755)
    world.environment["PATH"] = "%s:%s" % (fake, world.environment["PATH"])
    assert world.json("notify", "on") == {"Enabled": True} and world.json("notify", "off") == {"Enabled": False}
    assert [line.split()[1] for line in (world.where / "told").read_text().splitlines()] == ["enable", "start", "disable"]


def test_what_plan_showed_accept_knows(world):
    world.serve(tasks=[plan_task()], texts={"plan": PLAN})
    world.coffer("plan", "17")
    _, screen = world.terminal("accept", "17", answers=[("[y/N]", "y\n")])
    assert "You have been shown it" in screen


def test_accepting_work_waits_until_it_has_landed(world):
    world.serve(tasks=[work_task()], texts={"diff": DIFF}, then={"AcceptWork": {"State": "landing", "Actions": []}, "Wait": LANDED})
    result = world.coffer("accept", "17", "--digest", WORK_DIGEST, "--branch", "try-it")
    assert result.returncode == 0
    assert "Landed %s on main in /home/me/zlib." % ("c" * 40) in result.stdout
    assert world.calls() == [{"call": "Task.AcceptWork", "path": "/org/cofferdam/Cofferdam1/task/17", "digest": WORK_DIGEST,
                              "options": {"branch": "try-it"}}]


def test_work_that_cannot_land_says_why(world):
    parked = {"State": "ready", "Parked": "blocked", "Problem": ["Dirty", "inflate.c has changes of your own."], "Actions": ["accept-work"]}
    world.serve(tasks=[work_task()], then={"AcceptWork": parked})
    result = world.coffer("accept", "17", "--digest", WORK_DIGEST)
    assert result.returncode == 6 and "inflate.c has changes of your own." in result.stderr


def test_accept_with_json_prints_one_object_however_it_ends(world):
    parked = {"State": "ready", "Parked": "blocked", "Problem": ["Dirty", "inflate.c has changes of your own."], "Actions": ["accept-work"]}
    world.serve(tasks=[work_task()], then={"AcceptWork": parked})
    error = world.json("accept", "17", "--digest", WORK_DIGEST, code=6)["Error"]
    assert (error["Name"], error["Message"], error["ExitCode"]) == ("Dirty", "inflate.c has changes of your own.", 6)
    # Without a Problem it is told why it waits.
    world.serve(tasks=[work_task()], then={"AcceptWork": {"Parked": "blocked", "Waiting": ["Conflict", "Both changed a.c.", 0], "Actions": ["reply"]}})
    error = world.json("accept", "17", "--digest", WORK_DIGEST, code=6)["Error"]
    assert (error["Name"], error["Message"]) == ("Conflict", "Both changed a.c.")
    world.serve(tasks=[work_task()], then={"AcceptWork": {"State": "landing", "Actions": []}, "Wait": LANDED})
    assert world.json("accept", "17", "--digest", WORK_DIGEST)["Landed"] == LANDED["Landed"]


def test_a_command_line_without_sense_is_an_object_with_json(world):
    for words in (["nonsense", "--json"], ["--json", "show", "x"], ["show", "--json", "--no-such-option"], ["--json", "project"]):
        result = world.coffer(*words)
        error = json.loads(result.stdout)["Error"]
        assert result.returncode == 2 and error["ExitCode"] == 2 and error["Message"], words
        assert result.stderr, "and a sentence for people"
    assert world.coffer("new", "--no-such-option", "--", "--json").stdout == ""
    assert "coffer accept 17" in world.coffer("accept", "--help", "--json").stdout


def test_accept_with_nothing_to_accept(world):
    world.serve(tasks=[task()])
    result = world.coffer("accept", "17")
    assert result.returncode == 1 and "nothing to accept" in result.stderr and "coffer watch 17" in result.stderr


def test_reply_takes_text_standard_input_or_the_only_task(world):
    world.serve(tasks=[question_task()])
    assert world.coffer("reply", "17", "Both,", "please").returncode == 0
    assert world.coffer("reply", "Keep it").returncode == 0
    assert world.coffer("reply", "17", "-", stdin="From a file\n").returncode == 0
    assert world.coffer("reply", "17", stdin="   \n").returncode == 2
    assert [c["text"] for c in world.calls()] == ["Both, please", "Keep it", "From a file"]


def test_errors_of_the_service_are_one_sentence_and_a_command(world):
    world.serve(tasks=[question_task()], errors={"Task.Reply": ["WrongState", "It is no longer asked."]})
    result = world.coffer("reply", "17", "x")
    assert result.returncode == 1
    assert result.stderr == "coffer: It is no longer asked.\n  next: coffer show 17\n"
    error = world.json("reply", "17", "x", code=1)["Error"]
    assert error["Name"] == "WrongState" and error["Message"] == "It is no longer asked."


def test_not_allowed_ends_with_3(world):
    world.serve(tasks=[task()], errors={"Task.Cancel": ["AccessDenied", "Only an administrator may."]})
    assert world.coffer("cancel", "17").returncode == 3


def test_who_may_spend_the_machines_key_is_a_list_of_names(world):
    world.serve(providers=[{"Name": "ours", "Kind": "openai", "Owner": os.getuid(), "Machine": False, "Spenders": []},
                           {"Name": "ours", "Kind": "openai", "Owner": 0, "Machine": True, "Spenders": ["alice"], "HasKey": True}])
    result = world.coffer("provider", "allow", "ours", "bob", "%staff", "alice")
    assert result.returncode == 0 and "alice, bob, %staff" in result.stdout
    assert world.calls() == [{"call": "Provider.Set", "path": "/org/cofferdam/Cofferdam1/provider/2",
                              "options": {"spenders": ["alice", "bob", "%staff"]}}]
    assert world.coffer("provider", "deny", "ours", "bob").returncode == 4
    assert "nobody" in world.coffer("provider", "deny", "ours", "alice").stdout
    assert world.calls()[-1]["options"] == {"spenders": []}
    assert "machine, for alice" in world.coffer("provider", "list").stdout


def test_project_set_sends_what_was_given_and_nothing_else(world):
    world.serve(projects=[PROJECT])
    result = world.coffer("project", "set", "zlib", "--test", "make check", "--agent", "writer=codex:m", "--agent", "planner=",
                          "--policy", "landing=auto", "--rounds", "2", "--budget", "0")
    assert result.returncode == 0 and "coffer project show zlib" in result.stderr
    assert world.calls() == [{"call": "Project.Set", "path": "/org/cofferdam/Cofferdam1/project/1", "options": {
        "test": ["make check"], "agents": {"writer": "codex/m", "planner": ""}, "policy": {"landing": "auto"}, "rounds": 2, "budget": 0}}]
    assert world.coffer("project", "set", "zlib", "--build", "").returncode == 0
    assert world.calls()[-1]["options"] == {"build": []}
    assert world.coffer("project", "set", "zlib").returncode == 2


def test_a_plan_of_ones_own_goes_along(world, tmp_path):
    world.serve(projects=[PROJECT])
    (tmp_path / "plan.md").write_text("+++\nkind = 'bug'\n+++\n")
    assert world.coffer("new", "-p", "zlib", "--plan", str(tmp_path / "plan.md"), "--budget", "5000", "Do it").returncode == 0
    assert world.calls()[-1]["options"] == {"plan": "+++\nkind = 'bug'\n+++\n", "budget": 5000}
    missing = world.coffer("new", "-p", "zlib", "--plan", str(tmp_path / "none.md"), "Do it")
    assert missing.returncode == 4 and "none.md" in missing.stderr


def test_retry_names_the_point_and_what_is_next(world):
    blocked = task(Parked="blocked", Waiting=["turn-failed", "The writer failed.", 0], Actions=["reply", "retry", "cancel"])
    world.serve(tasks=[blocked, task(9, State="cancelled", Actions=["retry", "delete"])])
    assert "coffer retry 17   coffer reply 17" in world.coffer().stdout
    result = world.coffer("retry")
    assert result.returncode == 0 and "goes on" in result.stdout and "coffer watch 17" in result.stderr
    assert world.coffer("retry", "9", "--from", "gate").returncode == 0
    assert [(c["path"].rsplit("/", 1)[1], c["options"]) for c in world.calls()] == [("17", {}), ("9", {"from": "gate"})]
    assert world.json("retry", "17") == {"Id": 17}


def test_cancel_and_delete(world):
    world.serve(tasks=[task(), task(9, **LANDED)])
    assert world.coffer("cancel", "17").returncode == 0
    assert world.coffer("delete", "9").returncode == 0
    status, _ = world.terminal("delete", "9", answers=[("[y/N]", "n\n")])
    assert os.waitstatus_to_exitcode(status) == 1
    assert [c["call"] for c in world.calls()] == ["Task.Cancel", "Task.Delete"]


def git(where, *arguments):
    subprocess.run(["git", "-C", where, *arguments], check=True, capture_output=True, env={"HOME": str(where), "PATH": os.environ["PATH"]})


def repository(where):
    where.mkdir(parents=True)
    git(where, "init", "-q")
    git(where, "config", "user.name", "Ada L.")
    git(where, "config", "user.email", "ada@example.org")
    return where


def test_project_add_takes_the_author_from_git_and_a_name_from_the_directory(world):
    directory = repository(world.where / "My Project")
    (directory / "sub").mkdir()
    world.serve()
    result = world.coffer("project", "add", "--build", "make", "--test", "make test", "--test", "make check", cwd=directory / "sub")
    assert result.returncode == 0, result.stderr
    (call,) = world.calls()
    assert call == {"call": "Manager.AddProject", "directory": str(directory), "name": "my-project",
                    "options": {"author-name": "Ada L.", "author-email": "ada@example.org", "build": ["make"],
                                "test": ["make test", "make check"]}}
    assert "coffer new -p my-project" in result.stderr


def test_project_add_takes_rounds_budget_and_an_author(world):
    directory = repository(world.where / "zlib")
    world.serve()
    result = world.coffer("project", "add", str(directory), "--test", "make test", "--rounds", "2", "--budget", "70000", "--author-name", "Bea")
    assert result.returncode == 0, result.stderr
    assert world.calls()[0]["options"] == {"author-name": "Bea", "author-email": "ada@example.org", "test": ["make test"], "rounds": 2,
                                           "budget": 70000}


def test_project_add_of_nothing(world):
    world.serve()
    assert world.coffer("project", "add", "/nowhere/at/all").returncode == 4


def test_project_list_show_and_remove(world):
    world.serve(projects=[PROJECT])
    assert "zlib" in world.coffer("project", "list").stdout
    assert "make test" in world.coffer("project", "show", "zlib").stdout
    world.serve(projects=[dict(PROJECT, AuthorName="Alice Example", AuthorEmail="alice@example.org")])
    assert "Alice Example <alice@example.org>" in world.coffer("project", "show", "zlib").stdout
    assert world.json("project", "list")["Projects"][0]["Directory"] == "/nowhere/zlib"
    assert world.coffer("project", "remove", "zlib").returncode == 0
    assert world.coffer("project", "remove", "other").returncode == 4


def test_new_finds_the_project_by_the_directory_and_says_what_is_left_out(world):
    directory = repository(world.where / "zlib")
    (directory / "sub").mkdir()
    world.serve(projects=[dict(PROJECT, Directory=str(directory))], tasks=[task(99, State="queued")], then={"Wait": {"State": "planning"}},
                texts={"left-out": "dirty\u202e.c\n"})
    result = world.coffer("new", "Fix", "it", "--agent", "writer=codex:m", "--policy", "plan=auto", "--rounds", "2", "--flow", "single",
                          cwd=directory / "sub")
    assert result.returncode == 0, result.stderr
    assert "not in it:\n  dirty<U+202E>.c\nnext: coffer watch 99" in result.stderr
    (call,) = world.calls()
    assert call["prompt"] == "Fix it"
    assert call["options"] == {"agents": {"writer": "codex/m"}, "policy": {"plan": "auto"}, "rounds": 2, "flow": "single"}


def test_what_looks_like_a_list_is_sent_as_it_was_typed(world):
    world.serve(projects=[PROJECT], tasks=[question_task()])
    assert world.coffer("new", "-p", "zlib", "[WIP] Keep a, b and [c]").returncode == 0
    assert world.coffer("reply", "17", "[1,2,3]").returncode == 0
    assert [call.get("prompt", call.get("text")) for call in world.calls()] == ["[WIP] Keep a, b and [c]", "[1,2,3]"]


def test_new_names_every_path_that_is_left_out(world):
    world.environment["PAGER"] = "false"
    left = ["left-out-%02d.c" % number for number in range(40)]
    world.serve(projects=[PROJECT], tasks=[task(99)], texts={"left-out": "\n".join(left) + "\n"})
    result = world.coffer("new", "-p", "zlib", "Fix it")
    assert re.findall(r"left-out-\d\d\.c", result.stderr) == left
    # No pager may stand between a task that is made and the list: it would hide the one or the other.
    _, screen = world.terminal("new", "-p", "zlib", "Fix it")
    assert "left-out-00.c" in screen and "left-out-39.c" in screen
    assert world.coffer("show", "99", "--left-out").stdout.split() == left
    assert world.json("show", "99", "--left-out")["LeftOut"].split() == left


def test_new_says_nothing_of_what_is_left_out_when_nothing_is(world):
    world.serve(projects=[PROJECT], tasks=[task(99)], texts={"left-out": ""})
    result = world.coffer("new", "-p", "zlib", "Fix it")
    assert result.returncode == 0 and "HEAD" not in result.stderr


def test_new_says_when_what_is_left_out_is_not_known(world):
    # It is parked before there is a commit, and then the service cannot be asked about it at all.
    for tasks in ([task(99, State="queued", Parked="retry")], []):
        world.serve(projects=[PROJECT], tasks=tasks)
        result = world.coffer("new", "-p", "zlib", "Fix it")
        assert result.returncode == 0 and "Task 99 is queued" in result.stdout
        assert "coffer show 99 --left-out" in result.stderr


def test_new_reads_standard_input_and_refuses_nothing_at_all(world):
    world.serve(projects=[PROJECT])
    assert world.coffer("new", "-p", "zlib", stdin="From\na file\n").returncode == 0
    assert world.calls()[0]["prompt"] == "From\na file"
    assert world.coffer("new", "-p", "zlib", stdin="").returncode == 2
    assert world.coffer("new", "-p", "zlib", stdin="x" * 300_000).returncode == 1
    outside = world.coffer("new", "Fix it", cwd="/")
    assert outside.returncode == 4 and "coffer project add" in outside.stderr
    assert len(world.calls()) == 1


def test_new_opens_an_editor_on_a_terminal(world):
    editor = world.where / "editor"
    editor.write_text("#!/bin/sh\nprintf 'From\\nthe editor\\n' | cat - \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"\n")
    editor.chmod(0o755)
    world.environment["EDITOR"] = str(editor)
    world.serve(projects=[PROJECT])
    status, screen = world.terminal("new", "-p", "zlib")
    assert os.waitstatus_to_exitcode(status) == 0, screen
    assert world.calls()[0]["prompt"] == "From\nthe editor"


def written_by_an_editor(world, text):
    editor = world.where / "editor"
    editor.write_text("#!/bin/sh\nprintf '%s\\n' | cat - \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"\n" % text)
    editor.chmod(0o755)
    runtime = world.where / "run"
    runtime.mkdir()
    world.environment |= {"EDITOR": str(editor), "XDG_RUNTIME_DIR": str(runtime)}
    return runtime


@pytest.mark.parametrize("words, call", [(["new", "-p", "zlib"], "Manager.CreateTask"), (["reply", "17"], "Task.Reply")])
def test_what_was_written_in_an_editor_is_there_until_it_was_taken(world, words, call):
    runtime = written_by_an_editor(world, "Said at length")
    world.serve(projects=[PROJECT], tasks=[question_task()], errors={call: ["NoSpace", "There is no room."]})
    status, screen = world.terminal(*words, size=(24, 200))
    assert os.waitstatus_to_exitcode(status) == 1
    (kept,) = runtime.iterdir()
    assert "There is no room. What you wrote is in %s." % kept in screen
    # It can be handed in as it is.
    world.serve(projects=[PROJECT], tasks=[question_task()])
    assert world.coffer(*words, "-", stdin=kept.read_text()).returncode == 0
    assert [(each.get("prompt") or each.get("text")).strip() for each in world.calls()] == ["Said at length"] * 2
    kept.unlink()
    assert os.waitstatus_to_exitcode(world.terminal(*words)[0]) == 0
    assert list(runtime.iterdir()) == [], "taken, so it is gone"


def test_an_editor_that_fails_takes_nothing_with_it(world):
    runtime = written_by_an_editor(world, "Half a sentence")
    with open(world.environment["EDITOR"], "a") as editor:
        editor.write("exit 3\n")
    world.serve(projects=[PROJECT])
    status, screen = world.terminal("new", "-p", "zlib", size=(24, 200))
    (kept,) = runtime.iterdir()
    assert os.waitstatus_to_exitcode(status) == 1 and "ended with 3; nothing was sent. What you wrote is in %s." % kept in screen
    assert kept.read_text().strip() == "Half a sentence" and world.calls() == []
    kept.unlink()
    world.environment["EDITOR"] = "true"
    status, screen = world.terminal("new", "-p", "zlib")
    assert os.waitstatus_to_exitcode(status) == 2 and "Nothing was written" in screen and list(runtime.iterdir()) == []


def test_a_reply_of_the_editor_that_the_view_could_not_send_is_a_draft(world):
    runtime = written_by_an_editor(world, "Said at length")
    world.serve(tasks=[question_task()], errors={"Task.Reply": ["NoSpace", "There is no room."]})
    status, screen = world.terminal("ui", answers=[("in editor", "e"), ("There is no room.", "r"), ("Said at length", "\x1b"),
                                                   ("Nothing was sent", "q")])
    assert os.waitstatus_to_exitcode(status) == 0 and list(runtime.iterdir()) == []


def test_provider_add_sends_the_key_by_a_descriptor(world):
    world.serve()
    result = world.coffer("provider", "add", "mine", "--kind", "openai", "--url", "https://api.example", stdin="sk-secret\n")
    assert result.returncode == 0, result.stderr
    assert "sk-secret" not in result.stdout + result.stderr
    add, key = world.calls()
    assert add == {"call": "Manager.AddProvider", "name": "mine", "kind": "openai", "options": {"base-url": "https://api.example"}}
    assert key["call"] == "Provider.SetKey" and key["key"] == "sk-secret"


def test_provider_add_leaves_nothing_behind_when_the_key_is_refused(world):
    world.serve(errors={"Provider.SetKey": ["InvalidArgument", "That is no key."]})
    result = world.coffer("provider", "add", "mine", "--kind", "anthropic", stdin="x\n")
    assert result.returncode == 2 and "That is no key." in result.stderr
    assert [c["call"] for c in world.calls()] == ["Manager.AddProvider", "Provider.SetKey", "Provider.Remove"]


def test_a_typed_key_is_not_echoed(world):
    world.serve()
    status, screen = world.terminal("provider", "add", "mine", "--kind", "anthropic", answers=[("not shown", "sk-typed\n")])
    assert os.waitstatus_to_exitcode(status) == 0, screen
    assert "sk-typed" not in screen
    assert world.calls()[1]["key"] == "sk-typed"


def test_ctrl_c_while_a_key_is_typed_leaves_an_echo_and_no_provider(world):
    world.serve()
    status, screen = world.terminal("provider", "add", "mine", "--kind", "anthropic", answers=[("not shown", "sk-ty\x03")])
    assert os.waitstatus_to_exitcode(status) == 1, screen
    assert "sk-ty" not in screen and "Nothing was entered." in screen
    assert world.calls() == []


def test_provider_key_wants_one_line(world):
    world.serve(providers=[{"Id": 1, "Name": "mine", "Owner": os.getuid(), "Kind": "anthropic", "BaseUrl": "https://a", "HasKey": True,
                            "KeyHint": "cret", "Machine": False, "Problem": ""}])
    assert world.coffer("provider", "key", "mine", stdin="").returncode == 2
    assert world.coffer("provider", "key", "mine", stdin="a\nb\n").returncode == 2
    assert world.coffer("provider", "key", "other", stdin="a\n").returncode == 4
    assert world.coffer("provider", "key", "mine", stdin="a\n").returncode == 0
    assert "...cret" in world.coffer("provider", "list").stdout
    assert world.coffer("provider", "remove", "mine").returncode == 0


def test_provider_set_changes_the_address_and_tells_of_the_key(world):
    mine = {"Id": 1, "Name": "ours", "Owner": os.getuid(), "Kind": "openai", "BaseUrl": "https://new", "HasKey": False, "Machine": False}
    world.serve(providers=[mine, dict(mine, Id=2, Owner=0, Machine=True, HasKey=True)])
    result = world.coffer("provider", "set", "ours", "--url", "https://new")
    assert result.returncode == 0 and "Requests of ours go to https://new." in result.stdout
    assert "coffer provider key ours" in result.stderr
    kept = world.coffer("provider", "set", "ours", "--url", "https://new", "--machine")
    assert kept.returncode == 0 and "provider key" not in kept.stderr
    assert world.calls() == [{"call": "Provider.Set", "path": "/org/cofferdam/Cofferdam1/provider/%d" % number,
                              "options": {"base-url": "https://new"}} for number in (1, 2)]
    assert world.json("provider", "set", "ours", "--url", "https://new")["BaseUrl"] == "https://new"
    assert world.coffer("provider", "set", "ours").returncode == 2
    assert world.coffer("provider", "set", "none", "--url", "https://new").returncode == 4
    assert "coffer provider set mine --url" in world.coffer("provider", "set", "--help").stdout


def test_what_can_be_typed_is_completed(world):
    world.serve(providers=[{"Id": 1, "Name": "ours", "Owner": os.getuid(), "Kind": "openai", "Machine": False}])

    assert completed(world, "provider", "se") == ["set"]
    assert completed(world, "provider", "set", "o") == ["ours"]
    assert completed(world, "provider", "set", "ours", "--u") == ["--url"]
    assert completed(world, "project", "add", "--b") == ["--build", "--budget"] and completed(world, "project", "add", "--r") == ["--rounds"]
    assert completed(world, "project", "add", "--au") == ["--author-name", "--author-email"]
    assert "openai" in completed(world, "provider", "add", "x", "--kind", "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_offers_paths_where_nothing_else_is_known(world):
    (world.where / "bin").mkdir()
    (world.where / "bin/coffer").symlink_to(COFFER)
    (world.where / "plans").mkdir()
    (world.where / "plan.md").write_text("x")
    world.environment["PATH"] = "%s:%s" % (world.where / "bin", world.environment["PATH"])
    world.serve(tasks=[task(17)])
    script = os.path.join(HERE, "..", "..", "..", "cli", "completions", "coffer.fish")

    def offered(line):
        told = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line], cwd=world.where,
                              env=world.environment, capture_output=True, text=True, timeout=60)
        assert told.returncode == 0, told.stderr
        return [row.split("\t")[0] for row in told.stdout.splitlines()]

    assert offered("coffer project add pl") == ["plan.md", "plans/"]
    assert "plan.md" in offered("coffer new --plan ")
    assert offered("coffer show ") == ["17"] and offered("coffer project a") == ["add"]


def test_of_another_machine_nothing_of_this_one_is_offered(world):
    world.serve(tasks=[task(17)], projects=[PROJECT])

    assert completed(world, "show", "") == ["17"] and completed(world, "new", "-p", "") == ["zlib"]
    for host in (["-H", "far"], ["--host", "far"], ["--host=far"], ["-Hfar"]):
        assert completed(world, *host, "show", "") == [] and completed(world, "show", *host, "") == [] and completed(world, "new", *host, "-p", "") == []
        assert completed(world, *host, "new", "--flow", "s") == ["single", "supervisor"], "which is the same on every machine"
        assert completed(world, *host, "sho") == ["show"]


def test_agents(world):
    world.serve(agents=[{"Id": 1, "Name": "codex", "Executable": "/opt/agents/bin/codex", "Installed": True, "Problem": "", "Protocol": "openai-responses",
                         "Running": 2},
                        {"Id": 2, "Name": "claude", "Executable": "/opt/agents/bin/claude", "Installed": False, "Problem": "", "Protocol": "anthropic", "Running": 0}],
                test={"Answered": True, "Answer": "ready\x1b", "Session": "s1", "Resumed": False, "ResumedAnswer": "", "Outcome": "failed",
                      "Problem": "it lost its session", "Usage": {"input": 1200}})
    out = world.coffer("agent", "list").stdout
    assert re.search(r"codex +openai-responses +2 +/opt/agents/bin/codex +ready", out) and "not installed" in out
    tried = world.coffer("agent", "test", "codex", "--model", "m")
    assert tried.returncode == 1, "it answered and could not go on"
    assert "yes: ready<U+001B>" in tried.stdout and "it lost its session" in tried.stdout and "1.2k input" in tried.stdout
    assert json.loads(world.coffer("agent", "test", "codex", "--json").stdout)["Resumed"] is False
    assert world.calls()[0]["options"] == {"model": "m"}
    assert world.coffer("agent", "test", "none").returncode == 4


def test_watch_ends_with_6_when_it_needs_you(world):
    run = {"Id": 1, "Kind": "turn", "Role": "planner", "Agent": "codex", "Round": 0, "Attempt": 1, "Started": NOW, "Ended": 0, "Result": "", "Code": 0,
           "Text": ""}
    world.serve(tasks=[task(State="planning")], runs=[run], script=[
        {"State": "planning", "runs": [dict(run, Ended=NOW + 2_000_000, Result="ok")]},
        {"State": "plan-ready", "PlanDigest": PLAN_DIGEST, "Actions": ["accept-plan", "reply"], "Pending": [["plan", PLAN_DIGEST]]}])
    result = world.coffer("watch", "17")
    assert result.returncode == 6
    assert "planner (codex): ok, 2.0 s" in result.stdout and "plan to read" in result.stdout
    assert "coffer plan 17" in result.stderr


def test_watch_ends_with_0_when_done_and_1_when_failed(world):
    world.serve(tasks=[task(State="landing")], script=[LANDED])
    result = world.coffer("watch", "17")
    assert result.returncode == 0 and "Landed %s on main" % ("c" * 40) in result.stdout
    world.stop()
    world.serve(tasks=[task()], script=[{"State": "failed", "Problem": ["Sandbox", "The unit could not be started."]}])
    result = world.coffer("watch", "17", "--json")
    assert result.returncode == 1 and json.loads(result.stdout)["State"] == "failed"


def test_watch_sees_at_once_what_changes_while_it_reads(world):
    world.serve(tasks=[task(State="planning")], meanwhile={
        "State": "plan-ready", "PlanDigest": PLAN_DIGEST, "Actions": ["accept-plan"], "Pending": [["plan", PLAN_DIGEST]]})
    begin = time.monotonic()
    assert world.coffer("watch", "17").returncode == 6
    assert time.monotonic() - begin < 30, "a change that comes with an answer is no less told"


def test_watching_is_ended_by_ctrl_c_and_the_task_goes_on(world):
    world.serve(tasks=[task()])
    status, screen = world.terminal("watch", "17", interrupt_at="00:")
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT
    assert "goes on" in screen
    assert world.calls() == []


def test_colours_only_where_they_belong(world):
    world.serve(tasks=[plan_task()])
    assert "\x1b[" in world.terminal("list")[1]
    world.environment["NO_COLOR"] = "1"
    assert "\x1b[" not in world.terminal("list")[1]


def far(world):
    """A machine behind ssh: what ssh would start there, started here: the bridge of systemd, on the bus of this test."""
    fake = world.where / "bin"
    fake.mkdir()
    (fake / "ssh").write_text("#!/bin/sh\necho \"$@\" > %s\nexec systemd-stdio-bridge --bus-path=\"$DBUS_SYSTEM_BUS_ADDRESS\"\n" % (world.where / "ssh-arguments"))
    (fake / "ssh").chmod(0o755)
    world.environment["PATH"] = "%s:%s" % (fake, world.environment["PATH"])


def test_a_project_of_another_machine_has_an_author_of_this_one(world):
    far(world)
    # The configuration of a repository that is here says nothing about one that is there.
    here = repository(world.where / "here")
    world.serve()
    words = ["-H", "me@far", "project", "add", "/srv/zlib", "--test", "make test"]
    nobody = world.coffer(*words, cwd=here)
    assert nobody.returncode == 2 and "--author-name" in nobody.stderr and "git config --global user.name" in nobody.stderr
    assert world.calls() == []
    assert world.coffer(*words, "--author-name", "Bea", "--author-email", "bea@example.org", cwd=here).returncode == 0
    (world.where / ".gitconfig").write_text("[user]\n name = Ada at large\n email = ada@large.example\n")
    result = world.coffer(*words, cwd=here)
    assert result.returncode == 0 and "coffer -H me@far new -p zlib" in result.stderr
    assert [(c["directory"], c["options"]["author-name"], c["options"]["author-email"]) for c in world.calls()] == [
        ("/srv/zlib", "Bea", "bea@example.org"), ("/srv/zlib", "Ada at large", "ada@large.example")]


def test_another_machine_is_reached_over_ssh(world):
    far(world)
    world.serve(tasks=[plan_task()], texts={"plan": PLAN})
    result = world.coffer("-H", "me@far", "plan", "17")
    assert result.returncode == 0, result.stderr
    assert "coffer -H me@far accept 17" in result.stderr
    assert "me@far" in (world.where / "ssh-arguments").read_text()
    refused = world.coffer("-H", "me@far", "provider", "add", "x", "--kind", "anthropic", stdin="k\n")
    assert refused.returncode == 1 and "-H" in refused.stderr
    # What is proposed is about that machine, too.
    world.serve(tasks=[plan_task(17), plan_task(18)])
    assert "next: coffer -H me@far list\n" in world.coffer("-H", "me@far", "plan").stderr
    world.serve(tasks=[task(17)])
    assert "next: coffer -H me@far list --all\n" in world.coffer("-H", "me@far", "plan").stderr
    assert "next: coffer -H me@far list --all-users\n" in world.coffer("-H", "me@far", "show", "--all-users").stderr
    assert "next: coffer -H me@far agent list\n" in world.coffer("-H", "me@far", "new", "-p", "x", "--agent", "writer=", "y").stderr


def test_another_machine_that_cannot_be_reached_ends_with_7(world):
    fake = world.where / "bin"
    fake.mkdir()
    (fake / "ssh").write_text("#!/bin/sh\nexit 255\n")
    (fake / "ssh").chmod(0o755)
    world.environment["PATH"] = "%s:%s" % (fake, world.environment["PATH"])
    result = world.coffer("-H", "far", "list")
    assert result.returncode == 7 and "far" in result.stderr


PROGRESS = {"Manager.GetTask": ("Looking for the task", ["show", "17"]), "Task.ReadText": ("Reading the plan", ["plan", "17"]),
            "Task.Retry": ("Going on", ["retry", "17"]), "Project.Set": ("Changing the project", ["project", "set", "zlib", "--rounds", "1"]),
            "Provider.Set": ("Changing the provider", ["provider", "set", "mine", "--url", "https://b"]),
            "Provider.Remove": ("Forgetting the key", ["provider", "remove", "mine", "-y"])}


@pytest.mark.parametrize("call", PROGRESS)
def test_what_takes_over_a_second_says_so_on_a_terminal_only(world, call):
    words, command = PROGRESS[call]
    state = {"tasks": [plan_task()], "texts": {"plan": PLAN}, "projects": [PROJECT],
             "providers": [{"Id": 1, "Name": "mine", "Owner": os.getuid(), "Kind": "openai", "BaseUrl": "https://a", "Machine": False}]}
    world.serve(**state, slow={call: 1.6})
    status, screen = world.terminal(*command)
    assert os.waitstatus_to_exitcode(status) == 0, screen
    assert "\r\x1b[K%s ... 00:01" % words in screen and "\r\x1b[K" in screen.split("00:01", 1)[1], "shown, and gone again"
    assert words not in world.coffer(*command).stderr, "nobody looks"
    # With --json nothing but the object is told, also on a terminal.
    assert words not in world.terminal("--json", *command)[1]


def test_what_is_quick_says_nothing_of_itself(world):
    world.serve(tasks=[plan_task()], texts={"plan": PLAN})
    # On a busy machine the first try may not have been quick.
    for _ in range(10):
        begin = time.monotonic()
        screen = world.terminal("plan", "17")[1]
        if time.monotonic() - begin < 1:
            break
    else:
        pytest.fail("it was never done within a second")
    assert " ... 0" not in screen and "\r\x1b[K" not in screen


def test_a_pager_is_for_what_is_longer_than_the_screen(world):
    pager = world.where / "pager"
    pager.write_text("#!/bin/sh\necho begin >> %s\nexec cat\n" % (world.where / "paged"))
    pager.chmod(0o755)
    world.environment["PAGER"] = str(pager)

    def paged(*arguments, size=(24, 80)):
        (world.where / "paged").unlink(missing_ok=True)
        _, screen = world.terminal(*arguments, size=size)
        assert "the end" in screen
        return (world.where / "paged").exists()

    lines = "line\n" * 21 + "the end\n"
    world.serve(tasks=[task()], texts={"transcript": lines, "gate": "x" * 80 * 22 + "the end\n"})
    assert not paged("log", "17"), "22 lines on 24"
    assert paged("log", "17", size=(22, 80)), "22 lines, and the shell's"
    assert not paged("log", "17", "--no-pager", size=(10, 80))
    assert not paged("log", "17", "--gate"), "a line of 23 rows"
    assert paged("log", "17", "--gate", size=(24, 40)), "the same on a narrower screen"
    # Nobody reads a pipe by the screen.
    (world.where / "paged").unlink()
    assert world.coffer("log", "17").stdout == lines and not (world.where / "paged").exists()


def test_usage_errors_end_with_2_and_help_with_0(world):
    assert world.coffer("nonsense").returncode == 2
    assert world.coffer("show", "x").returncode == 2
    help_text = world.coffer("accept", "--help")
    assert help_text.returncode == 0 and "coffer accept 17" in help_text.stdout
    assert world.coffer("--version").stdout.startswith("coffer ")


def test_the_view_accepts_what_was_opened_in_it_and_nothing_else(world):
    world.serve(tasks=[plan_task()], texts={"plan": PLAN})
    status, screen = world.terminal("ui", answers=[("reply", "a"), ("Read the plan first", "p"), ("accept plan", "a"),
                                                   (" yes", "y"), ("Accepted the plan", "q"), ("leave", "q")])
    assert os.WEXITSTATUS(status) == 0
    assert "<U+001B>[2J" in screen and "<U+202E>" in screen and "\u202e" not in screen
    assert world.calls() == [{"call": "Task.AcceptPlan", "path": "/org/cofferdam/Cofferdam1/task/17", "digest": PLAN_DIGEST, "options": {}}]
    assert PLAN_DIGEST in (world.where / "state/coffer/shown").read_text()


def test_the_view_shows_a_refusal_and_goes_on(world):
    world.serve(tasks=[task()], errors={"Task.Cancel": ["WrongState", "It is being landed."]})
    status, _ = world.terminal("ui", answers=[("cancel", "c"), ("Cancel task 17", "y"), ("It is being landed.", "q")])
    assert os.WEXITSTATUS(status) == 0 and len(world.calls()) == 1


def test_ctrl_backslash_leaves_the_terminal_as_it_was(world):
    world.serve(tasks=[task()])
    status, screen = world.terminal("ui", answers=[("cancel", "\x1c")])
    assert os.waitstatus_to_exitcode(status) == 0
    for mode in ("1049", "1000"):
        assert screen.rindex("\x1b[?%sl" % mode) > screen.rindex("\x1b[?%sh" % mode), "taken back"


def test_the_view_needs_a_terminal_that_can_be_drawn_on(world):
    world.serve(tasks=[task()])
    result = world.coffer("ui")
    assert result.returncode == 2 and "coffer list" in result.stderr and result.stdout == ""
    world.environment["TERM"] = "dumb"
    status, screen = world.terminal("ui")
    assert os.WEXITSTATUS(status) == 2 and "dumb" in screen and "coffer list" in screen


def test_the_view_has_colours_only_where_they_belong(world):
    colour = re.compile(r"\x1b\[(?:3[0-7]|4[0-7]|9[0-7]|[34]8;[0-9;]+)m")
    world.serve(tasks=[work_task()], texts={"diff": DIFF})
    keys = [("diff", "d"), ("accept work", "q"), ("leave", "q")]
    assert colour.search(world.terminal("ui", answers=list(keys))[1])
    world.environment["NO_COLOR"] = "1"
    assert not colour.search(world.terminal("ui", answers=list(keys))[1])


def check(name, state="ok", text="as it should be", problem="", remedy=""):
    return {"name": name, "state": state, "text": text, "problem": problem, "remedy": remedy}


CHECKS = [check("kernel"), check("cgroup-memory", "warning", "missing, which is accepted", "limits on memory do not hold", "boot otherwise"),
          check("loop-devices", "failed", "none", "no image can be mounted\x1b[2J", "modprobe loop")]


def test_doctor_lines_up_and_says_what_mends_it_below_the_row(world):
    world.serve(checks=CHECKS)
    result = world.coffer("doctor")
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    rows = [line for line in lines if not line.startswith(" ")]
    assert [row.split()[:2] for row in rows[:4]] == [["CHECK", "STATE"], ["kernel", "ok"], ["cgroup-memory", "warning"], ["loop-devices", "failed"]]
    assert len({row.index(word) for row, word in zip(rows, ["FOUND", "as it", "missing,", "none"])}) == 1
    failed = lines.index(rows[3])
    assert lines[failed + 1:failed + 3] == ["  wrong: no image can be mounted<U+001B>[2J", "  mend:  modprobe loop"]
    assert "1 check failed" in result.stderr and "\x1b" not in result.stdout
    assert [c["name"] for c in world.json("doctor", code=1)["Checks"]][:3] == ["kernel", "cgroup-memory", "loop-devices"]


def test_doctor_ends_with_0_when_nothing_failed_and_has_colour_on_a_terminal_only(world):
    world.serve(checks=CHECKS[:2])
    assert world.coffer("doctor").returncode == 0
    status, screen = world.terminal("doctor", "--no-pager")
    assert os.waitstatus_to_exitcode(status) == 0 and "\x1b[3" in screen
    world.environment["NO_COLOR"] = "1"
    assert "\x1b[3" not in world.terminal("doctor", "--no-pager")[1]


def test_doctor_without_a_service_tells_what_it_can_and_ends_with_7(world):
    told = world.json("doctor", code=7)["Checks"]
    assert {"systemd", "bus", "bus-policy", "you"} <= {entry["name"] for entry in told}
    assert all(set(entry) == {"name", "state", "text", "problem", "remedy"} for entry in told)
    assert all(entry["problem"] and entry["remedy"] for entry in told if entry["state"] != "ok")


FAULT = "/etc/cofferdam/agents/mine.toml:3: unknown key colour"


def test_a_fault_in_a_configuration_file_is_told_where_it_matters(world):
    world.serve(problems=[FAULT], projects=[PROJECT | {"Agents": {"writer": "mine/m"}}], agents=[
        {"Name": "codex", "Executable": "/opt/agents/bin/codex", "Installed": True, "Problem": "", "Protocol": "codex", "Running": 0}])
    assert "A configuration file has a fault and does not count: coffer doctor" in world.coffer().stdout
    listed = world.coffer("agent", "list")
    assert "its file has a fault" in listed.stdout and FAULT in listed.stderr
    assert FAULT in world.coffer("project", "show", "zlib").stdout
    assert world.json("project", "show", "zlib")["ConfigurationProblems"] == [FAULT]
    world.stop()
    world.serve(problems=[FAULT], projects=[PROJECT | {"Agents": {role: "codex" for role in ("planner", "writer", "reviewer")}}])
    assert FAULT not in world.coffer("project", "show", "zlib").stdout, "none of its agents has a fault"


def test_kinds_of_providers_are_those_that_the_service_names(world):
    world.serve()
    assert world.coffer("complete", "--", "provider", "add", "x", "--kind", "").stdout.split() == ["anthropic", "openai", "openai-chat"]


def verbs(world, *above):
    """Every verb that --help names, with those below it."""
    text = world.coffer(*above, "--help").stdout
    part = re.split(r"(?i)\nsubcommands:\n", text, maxsplit=1)
    for line in part[1].split("\nExample")[0].splitlines() if len(part) > 1 else []:
        if re.match(r"  [a-z]", line):
            name = line.split()[0]
            yield (*above, name)
            yield from verbs(world, *above, name)


def test_every_verb_has_help_with_an_example_a_page_and_completion(world):
    page = open(os.path.join(HERE, "..", "..", "..", "docs", "coffer.1.scd")).read()
    found = list(verbs(world))
    assert ("doctor",) in found and ("project", "add") in found and len(found) > 30
    for words in found:
        helped = world.coffer(*words, "--help")
        assert helped.returncode == 0, words
        assert re.search(r"^Examples?:\n  coffer " + words[0], helped.stdout, re.M), words
        assert "*%s*" % " ".join(words) in page or len(words) == 1 and "*%s " % words[0] in page, "coffer(1) lacks " + " ".join(words)
        for option in re.findall(r"^ +(?:-\w, *)?(--[a-z][a-z-]*)", helped.stdout, re.M):
            assert "*%s*" % option in page, "coffer(1) lacks %s of %s" % (option, " ".join(words))
        completed = world.coffer("complete", "--", *words[:-1], words[-1][:1]).stdout
        assert words[-1] in [line.split("\t")[0] for line in completed.splitlines()], words
