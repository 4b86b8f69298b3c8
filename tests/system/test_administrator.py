"""An administrator who is not root, at the tasks of somebody else: coffer asks for the password on the terminal, and only with --all-users."""

import re

import pytest
from conftest import run

pytestmark = pytest.mark.deadline(300)

# polkit's agent asks once for seeing and once for deciding: a session without a seat keeps no answer.
TWICE = {"Password:": "admin", "assword:": "admin"}


@pytest.fixture
def task(carol, project):
    task = carol.create_task(project, "Say hello. hang-plan")
    yield task
    if task.State != "cancelled":
        task.cancel()


def test_an_administrator_sees_and_cancels_a_task_of_somebody_else(task, carol, on_terminal, as_admin):
    shown = as_admin("coffer", "--no-pager", "show", str(task.id), "--all-users")
    assert shown.returncode == 0, shown.shown
    assert "see the tasks of other users" in shown.shown and f"{task.id} " in shown.shown and "Say hello" in shown.shown
    ended = on_terminal("admin", ["coffer", "cancel", str(task.id), "--all-users"], TWICE)
    assert ended.returncode == 0, ended.shown
    assert "decide on a task of another user" in ended.shown and "is cancelled" in ended.shown
    assert task.State == "cancelled"


@pytest.mark.parametrize("verb", [["log", "--events"], ["watch"], ["review"]])
def test_every_verb_that_looks_asks(task, as_admin, verb):
    if verb == ["watch"]:
        task.cancel()
    result = as_admin("coffer", "--no-pager", verb[0], str(task.id), "--all-users", *verb[1:])
    assert "see the tasks of other users" in result.shown
    assert "that you may see" not in result.shown
    if verb[0] == "log":
        assert task.events()[0][3] in result.shown, "its events, not an empty list"


def test_a_number_that_is_not_ones_own_asks_nobody(task, on_terminal, coffer):
    for number in (task.id, 999_999):
        for words in (["show"], ["cancel"], ["watch"], ["log"]):
            answer = on_terminal("admin", ["coffer", "--no-pager", words[0], str(number), *words[1:]])
            assert answer.returncode == 4 and "AUTHENTICAT" not in answer.shown and "Say hello" not in answer.shown, answer.shown
        path = f"/org/cofferdam/Cofferdam1/task/{number}"
        called = on_terminal("admin", ["busctl", "--allow-interactive-authorization=yes", "call", "org.cofferdam.Cofferdam1", path,
                                       "org.cofferdam.Cofferdam1.Task", "Cancel", "a{sv}", "0"])
        assert "that you may see" in called.shown and "AUTHENTICAT" not in called.shown, called.shown
    assert task.State == "planning"


def test_without_the_right_password_nothing_is_seen(task, on_terminal, coffer):
    # Wrong as often as polkit's agent asks.
    refused = on_terminal("admin", ["coffer", "show", str(task.id), "--all-users"],
                          {"assword:": "wrong", "Password:": "wrong", "ssword:": "wrong"})
    assert refused.returncode == 3 and "Say hello" not in refused.shown, refused.shown
    alone = coffer("admin", "show", str(task.id), "--all-users", check=False, active=False)
    assert alone.returncode == 3 and "Say hello" not in alone.stdout + alone.stderr
    never = on_terminal("admin", ["coffer", "--no-ask-password", "show", str(task.id), "--all-users"])
    assert never.returncode == 3 and "AUTHENTICAT" not in never.shown
    assert task.State == "planning"


def test_what_is_ones_own_asks_nobody(task, on_terminal):
    shown = on_terminal("carol", ["coffer", "--no-pager", "show", str(task.id)])
    assert shown.returncode == 0 and "AUTHENTICAT" not in shown.shown and re.search("Say hello", shown.shown)
    assert run("id", "-nG", "carol").stdout.split().count("sudo") == 0
