"""Mistakes in each of the administrator's files: file and line are told, and the last good one stays in use."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import TESTS, reload_cofferd
from test_trouble import carol, project, put, repository  # noqa: F401

pytestmark = pytest.mark.deadline(200)
ETC = Path("/etc/cofferdam")
AGENT = (TESTS / "agents" / "instant.toml").read_text(encoding="utf-8").replace('"Instant"', '"Kept"')
FLOW = 'title = "Kept"\n\n[conversations]\nplanner = "A"\nwriter = "A"\n\n[review]\nby = "none"\n'
PROVIDER = 'title = "Kept"\nkinds = ["openai-chat"]\nbase-url = "https://kept.example.org/v1"\n'
RISKY = 'title = "Kept"\npaths = ["instant.txt"]\n'
PROMPT = Path("/usr/lib/cofferdam/prompts/writer-write.md")


@dataclass
class Mistake:
    file: str
    good: str
    bad: str  # what is written after it, but for the line that `line` names
    line: int
    says: str

    def __str__(self):
        return f"{self.file.split('/')[0]}-{self.says.split(' ')[0]}"


def appended(file, good, mistake, says):
    """The good text and one more line, which is the mistake."""
    return Mistake(file, good, good + mistake + "\n", good.count("\n") + 1, says)


def changed(file, good, old, new, says):
    return Mistake(file, good, good.replace(old, new, 1), good[:good.index(old)].count("\n") + 1, says)


MISTAKES = [
    appended("cofferd.toml", "{before}\n[limits]\nrounds = 7\n", "roundz = 2", "unknown key limits.roundz"),
    appended("cofferd.toml", "{before}\n[limits]\nrounds = 7\n", 'gate-minutes = "long"', "limits.gate-minutes must be a whole number"),
    appended("cofferd.toml", "{before}\n[limits]\nrounds = 7\n", "gate-minutes = 0", "limits.gate-minutes must be from 1 to"),
    appended("cofferd.toml", "{before}\n[limits]\nrounds = 7\n", "gate-minutes =", ""),
    appended("agents/kept.toml", AGENT, 'colour = "/x"', "unknown key output.line.colour"),
    changed("agents/kept.toml", AGENT, 'title = "Kept"', "title = 5", "title must be text in quotes"),
    changed("agents/kept.toml", AGENT, 'providers = ["none"]', 'providers = ["gopher"]', "unknown provider kind gopher"),
    appended("flows/kept.toml", FLOW, "twice = true", "unknown key review.twice"),
    changed("flows/kept.toml", FLOW, 'by = "none"', "by = false", "review.by must be text in quotes"),
    appended("providers/kept.toml", PROVIDER, "fast = true", "unknown key fast"),
    changed("providers/kept.toml", PROVIDER, 'kinds = ["openai-chat"]', 'kinds = "openai-chat"', "kinds must be a list of texts"),
    appended("risky/kept.toml", RISKY, 'why = "so"', "unknown key why"),
    changed("risky/kept.toml", RISKY, 'paths = ["instant.txt"]', 'paths = ["/instant.txt"]', "a risky path is a pattern below the top folder"),
    appended("prompts/writer-write.md", "{prompt}", "Write {everything}.", "unknown placeholder {everything}"),
]


def problems(person):
    return person.properties("/org/cofferdam/Cofferdam1", "Manager")["ConfigurationProblems"]


def is_in_use(mistake, carol, project):  # noqa: F811
    """What the good file says is what happens."""
    if mistake.file == "cofferd.toml":
        assert carol.properties(project, "Project")["Rounds"] == 7
    elif mistake.file.startswith("providers"):
        path = carol.manager("AddProvider", "(ssa{sv})", ("kept", "kept", {}))[0]
        assert carol.properties(path, "Provider")["BaseUrl"] == "https://kept.example.org/v1"
        carol.call(path, "Provider", "Remove", "(a{sv})", ({},))
    else:
        options = {"agents": {"planner": "kept"}} if mistake.file.startswith("agents") else {"flow": "kept"} if mistake.file.startswith("flows") else {}
        task = carol.create_task(project, "Say more", policy={"plan": "ask", "landing": "ask"}, **options)
        task.until("plan-ready")
        if mistake.file.startswith(("risky", "prompts")):
            task.accept_plan()
            task.until("ready", seconds=60)
            assert (task.Problem[0] == "risky") == mistake.file.startswith("risky"), task.Problem
        task.cancel()


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_mistake_is_told_by_file_and_line_and_the_last_good_one_stays(carol, project, coffer, mistake):  # noqa: F811
    path = ETC / mistake.file
    before = path.read_text(encoding="utf-8") if path.exists() else None
    more = {"{before}": before or "", "{prompt}": PROMPT.read_text(encoding="utf-8")}

    def filled(text):
        for name, value in more.items():
            text = text.replace(name, value)
        return text

    line = mistake.line + sum(value.count("\n") for name, value in more.items() if name in mistake.good)
    try:
        put(path, filled(mistake.good))
        reload_cofferd()
        assert problems(carol) == []
        put(path, filled(mistake.bad))
        reload_cofferd()
        told = problems(carol)
        assert len(told) == 1 and told[0].startswith(f"{path}:{line}: {mistake.says}"), (told, line)
        is_in_use(mistake, carol, project)
        if mistake.file.startswith("agents"):
            shown = coffer("carol", "agent", "list").stdout
            assert any(row.split()[0] == "kept" and row.split()[-1] == "ready" for row in shown.splitlines() if row.strip()), shown
    finally:
        if before is None:
            path.unlink()
        else:
            put(path, before)
        reload_cofferd()
    assert problems(carol) == []


def test_a_mistake_from_the_start_leaves_a_daemon_with_defaults_that_says_so(cofferd, carol, project):  # noqa: F811
    path = ETC / "cofferd.toml"
    before = path.read_text(encoding="utf-8")
    try:
        put(path, before + "\n[limits]\nrounds = 7\nroundz = 7\n")
        cofferd.restart()
        told = problems(carol)
        assert len(told) == 1 and "unknown key limits.roundz" in told[0]
        assert carol.properties(project, "Project")["Rounds"] == 3
    finally:
        put(path, before)
        cofferd.restart()
    assert problems(carol) == []
