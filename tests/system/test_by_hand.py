"""The main job without any program of ours on the caller's side: the very commands of docs/dbus.md."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.deadline(300)
PAGE = Path("/src/docs/dbus.md")


def commands(tool):
    """The shell of one section of the page."""
    section = re.search(rf"^## With {tool}$(.*?)(?=^## |^<!--)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return "\n".join(re.findall(r"```sh\n(.*?)```", section[1], re.DOTALL))


@pytest.fixture
def nothing_by_hand(as_user):
    """What a page that was cut off would leave."""
    yield
    as_user("alice", "sh", "-c", "coffer project remove by-hand; coffer provider remove by-hand", check=False)


@pytest.mark.usefixtures("nothing_by_hand")
@pytest.mark.parametrize("tool", ["busctl", "gdbus"])
def test_the_pages_commands_take_a_task_to_a_commit(instant_agent, make_repository, as_user, tool):
    repository = make_repository("alice")
    before = repository.head()
    repository.write("key.txt", "a-key-of-nobody\n")
    shell = as_user("alice", "env", "-C", str(repository.directory), "sh", "-eu", input=commands(tool), timeout=250, environment={"agent": "instant"}, check=False)
    assert shell.returncode == 0, shell.stdout[-1500:] + shell.stderr[-3000:]
    assert repository.git("rev-parse", "HEAD^").strip() == before
    assert "Coffer-Task:" in repository.git("log", "-1", "--format=%B")
