"""docs/tutorial.md as a newcomer types it: the very commands, on a terminal, and the output that the page shows. Only the model is scripted,
so the provider's name leads to it and its model has the scenario's name. What root does there, tests/run package does."""

import re
from pathlib import Path

import pytest
from conftest import TESTS, reload_cofferd, run
from console import Shell, as_pattern, blocks

pytestmark = pytest.mark.deadline(400)
PAGE = TESTS.parent / "docs" / "tutorial.md"
MODEL = "gpt-5.1-codex"


@pytest.fixture
def newcomer(cofferd, scripted_model, tmp_path, as_user):
    """alice, with a key and a name for Git; the provider's address leads to the scripted model."""
    provider = Path("/etc/cofferdam/providers/openai.toml")
    port = scripted_model.url.split(":")[2].split("/")[0]
    provider.write_text(f'title = "OpenAI"\nkinds = ["openai-responses", "openai-chat"]\nbase-url = "{scripted_model.url}"\n'
                        f'allow-addresses = ["127.0.0.1:{port}"]\n', encoding="utf-8")
    reload_cofferd()
    home = Path("/home/alice/tutorial")
    run("install", "-d", "-o", "alice", "-g", "alice", home)
    run("install", "-o", "alice", "-g", "alice", "-m", "0600", "/dev/stdin", home / "key.txt", input=scripted_model.key + "\n")
    shell = Shell("alice", {"COFFER_PAGER": "cat", "PAGER": "cat", "HOME": str(home)}, seconds=200)
    shell.run(f"cd {home}; git config --global user.name 'Alice Example'; git config --global user.email alice@example.org")
    yield shell
    shell.close()
    as_user("alice", "sh", "-c", "for task in $(coffer list -a --json | python3 -c 'import json, sys; [print(row[\"Id\"]) for row in "
            "json.load(sys.stdin)[\"Tasks\"]]'); do coffer cancel -y $task; coffer delete -y $task; done; coffer project remove -y greet; "
            "coffer provider remove -y openai", check=False, timeout=120)
    run("rm", "-rf", "--one-file-system", home)
    provider.unlink()
    reload_cofferd()


def test_the_tutorial_ends_with_the_commit_that_it_shows(newcomer):
    task = "1"

    def here(text):
        """As it is on this machine, where the model is a script and the task is not the first."""
        return re.sub(r"\b([Tt]ask:?|watch|plan|accept|reply|diff|delete -y) 1\b", rf"\1 {task}", text.replace(MODEL, "tutorial"))

    page = blocks(PAGE)
    # A page whose blocks are not found would pass otherwise.
    assert len(page) >= 20
    wrong = []
    for line, command, printed in page:
        shown = newcomer.run(here(command), re.findall(r"\[y/N\] (\w+)", printed))
        if command.startswith("coffer new"):
            task = re.match(r"Task (\d+) ", shown)[1]
        if not as_pattern(here(printed)).fullmatch(shown):
            wrong.append(f"line {line}: {command}\n--- the page has\n{printed}\n--- it prints\n{shown}")
    assert not wrong, "\n\n".join(wrong)
