"""From accepted work to the owner's repository when that is not as it was: a branch that moved, dirty paths, branches of ours."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Repository, run
from moments import Stored, end, halt_at, start, until_halted
from people import CallError
from test_kills import halting  # noqa: F401
from test_tasks import AGENTS, until_done

pytestmark = pytest.mark.deadline(400)


@contextmanager
def added(carol, repository):
    path = carol.add_project(repository, build=["make"], test=["make test"], agents=AGENTS)
    try:
        yield path
    finally:
        carol.end_project(path)


@pytest.fixture
def ready(carol, project):
    """ready("words") gives a new task whose work waits to be accepted."""
    def make(words="Say more", **options):
        task = carol.create_task(project, words, **options)
        task.until("plan-ready")
        task.accept_plan()
        task.until("ready", seconds=180)
        return task
    return make


def kinds(task, kind):
    return [row for row in task.runs() if row["Kind"] == kind]


def test_branch_that_moved_is_merged_verified_again_and_accepted_again(ready, repository):
    task = ready()
    shown, gates, reviews = task.WorkDigest, len(kinds(task, "gate")), [row for row in task.runs() if row["Role"] == "reviewer"]
    mine = repository.commit("Mine", **{"notes.txt": "mine\n"})
    task.accept_work()
    task.until("ready", seconds=120)
    assert repository.head() == mine, "nothing has landed"
    assert task.Problem[0] == "branch-moved" and "accept" in task.Problem[1]
    assert task.Base == mine and task.WorkDigest != shown
    assert len(kinds(task, "gate")) == 2 * gates, "what is on the branch now was never built with it"
    assert [row for row in task.runs() if row["Role"] == "reviewer"] == reviews
    assert task.Round == 0
    diff, _ = task.text("diff")
    assert "instant.txt" in diff and "notes.txt" not in diff
    commit = task.accept_work()
    until_done(task)
    assert repository.head() == commit
    assert repository.git("rev-parse", "HEAD^") == mine
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("show", "--format=", "--name-only", "HEAD") == "instant.txt"
    note = repository.git("notes", "--ref=cofferdam", "show", "HEAD")
    assert f"Coffer-Gate: run {max(row['Id'] for row in kinds(task, 'gate'))}\n" in note
    assert f"Coffer-Review: run {reviews[0]['Id']} sha256:" in note


def test_a_policy_takes_the_work_along_with_the_branch(carol, project, repository):
    task = carol.create_task(project, "Say more", policy={"landing": "auto"})
    task.until("plan-ready")
    mine = repository.commit("Mine", **{"notes.txt": "mine\n"})
    task.accept_plan()
    task.until("landed", "done", seconds=180)
    until_done(task)
    assert repository.git("rev-parse", "HEAD^") == mine
    assert [event[3] for event in task.events()].count("candidate-moved") == 1


def test_daemon_that_is_killed_moves_the_work_once_and_lands_it_once(cofferd, halting, ready, repository):  # noqa: F811
    """It ends when the move is made and nobody knows, and again when the branch has the commit and nobody knows; then the person
    goes on from that."""
    task = ready()
    mine = repository.commit("Mine", **{"notes.txt": "mine\n"})
    halt_at("done", f"coffer-{task.id}-0-land-1")
    task.accept_work()
    until_halted(cofferd)
    assert Stored(task.id).events("candidate-moved") == []
    packs = Path(f"/var/lib/cofferdam/tasks/{task.id}/store.git/objects/pack")
    made = sorted(path.name for path in packs.iterdir())
    end(cofferd, "kill")
    start(cofferd)
    task.until("ready", seconds=120)
    assert sorted(path.name for path in packs.iterdir()) == made, "the same step made the same commit"
    assert [event["base"] for event in Stored(task.id).events("candidate-moved")] == [mine]
    halt_at("done", f"coffer-{task.id}-0-land-2")
    commit = task.accept_work()
    until_halted(cofferd)
    assert repository.head() == commit and Stored(task.id).events("landed") == []
    end(cofferd, "kill")
    further = repository.commit("Going on", **{"further.txt": "mine\n"})
    start(cofferd)
    until_done(task)
    assert repository.head() == further and repository.git("rev-parse", "HEAD^") == commit
    assert repository.git("status", "--porcelain") == ""
    assert [landed[0] for landed in task.Landed] == [commit]


def test_history_that_was_rewritten_takes_the_work_and_gives_nothing_back(ready, repository):
    task = ready()
    repository.git("commit", "--quiet", "--amend", "--message", "Said better")
    better = repository.head()
    task.accept_work()
    task.until("ready", seconds=120)
    task.accept_work()
    until_done(task)
    assert repository.git("rev-parse", "HEAD^") == better
    assert repository.git("log", "--format=%s").splitlines()[1:] == ["Said better"]


def test_merge_keeps_the_writers_commits_also_on_a_branch_that_moved(ready, repository):
    base = repository.head()
    task = ready("Say more, fail-build", **{"landing-style": "merge"})
    assert task.LandingStyle == "merge"
    shown = task.Candidate
    commit = task.accept_work()
    until_done(task)
    assert commit == shown == repository.head()
    first, second = repository.git("log", "-1", "--format=%P").split()
    assert first == base
    assert repository.git("rev-parse", f"{second}^{{tree}}") == repository.git("rev-parse", "HEAD^{tree}")
    writers = repository.git("rev-list", f"{base}..{second}").splitlines()
    assert len(writers) > 1, "the commit with the fault and the one that mends it"
    assert repository.git("fsck", "--strict") == "" and repository.git("status", "--porcelain") == ""

    task = ready("Say more, again", **{"landing-style": "merge"})
    mine = repository.commit("Mine", **{"notes.txt": "mine\n"})
    task.accept_work()
    task.until("ready", seconds=120)
    moved = task.accept_work()
    until_done(task)
    first, second = repository.git("log", "-1", "--format=%P", moved).split()
    assert first == mine and repository.git("merge-base", first, second) == commit
    assert repository.run("cat", "notes.txt").stdout == "mine\n"
    assert ready().LandingStyle == "squash"


def test_history_that_was_rewritten_does_not_come_back_beneath_the_writers_commits(ready, repository):
    task = ready(**{"landing-style": "merge"})
    repository.git("commit", "--quiet", "--amend", "--message", "Said better")
    better = repository.head()
    task.accept_work()
    assert task.until("parked", seconds=120) == "blocked"
    assert task.Waiting[0] == "WrongState" and "--branch" in task.Waiting[1]
    assert repository.head() == better
    commit = task.accept_work(branch="beside")
    until_done(task)
    assert repository.git("rev-parse", "beside") == commit and repository.head() == better


def test_conflict_names_the_paths_and_a_reply_lets_the_writer_merge(ready, repository):
    task = ready("Say more, merge")
    mine = repository.commit("Mine", **{"instant.txt": "mine\n"})
    task.accept_work()
    assert task.until("parked", seconds=120) == "blocked"
    code, words, _ = task.Waiting
    assert code == "conflict" and "instant.txt" in words and mine[:12] in words and "Reply" in words
    assert repository.head() == mine and repository.git("status", "--porcelain") == ""
    task.reply("Keep both.")
    task.until("ready", seconds=180)
    assert task.Base == mine
    commit = task.accept_work()
    until_done(task)
    assert repository.head() == commit and repository.git("rev-parse", "HEAD^") == mine
    text = repository.run("cat", "instant.txt").stdout
    assert "mine\n" in text and "turn write" in text and "<<<" not in text


def test_a_branch_that_is_gone_is_told(ready, repository):
    task = ready()
    repository.git("checkout", "--quiet", "-b", "other")
    repository.git("branch", "--quiet", "-D", "main")
    task.accept_work()
    assert task.until("parked") == "blocked"
    assert task.Waiting[0] == "BaseGone" and "main" in task.Waiting[1] and "--branch" in task.Waiting[1]
    commit = task.accept_work(branch="main")
    until_done(task)
    assert repository.git("rev-parse", "main") == commit


def test_dirty_paths_in_the_way_are_named_and_stay(ready, repository, coffer):
    task = ready()
    before = repository.head()
    repository.write("instant.txt", "mine\n")
    digest = task.text("diff")[1]
    result = coffer("carol", "accept", str(task.id), "--digest", digest, "--json", check=False)
    # One object, and nothing but it.
    error = json.loads(result.stdout)
    assert result.returncode == 6 and list(error) == ["Error"] and error["Error"]["Name"] == "Dirty", result.stdout
    assert "instant.txt" in error["Error"]["Message"] and error["Error"]["Next"] == f"coffer show {task.id}"
    assert task.Parked == "blocked"
    assert task.Waiting[0] == "Dirty" and "instant.txt" in task.Waiting[1]
    assert repository.head() == before
    assert repository.run("cat", "instant.txt").stdout == "mine\n"
    repository.run("rm", "instant.txt")
    commit = task.accept_work()
    until_done(task)
    assert repository.head() == commit


def test_a_branch_of_ours_is_moved_and_no_other(ready, repository):
    first, second, third = ready(), ready(), ready()
    head = repository.head()
    made = first.accept_work(branch="try/it")
    until_done(first)
    assert repository.git("rev-parse", "try/it") == made
    moved = second.accept_work(branch="try/it")
    until_done(second)
    assert repository.git("rev-parse", "try/it") == moved != made
    repository.git("update-ref", "refs/heads/try/it", head)
    third.accept_work(branch="try/it")
    assert third.until("parked") == "blocked"
    assert third.Waiting[0] == "NameTaken"
    repository.git("worktree", "add", "--quiet", "-b", "side", f"{repository.directory}-side")
    try:
        third.accept_work(branch="side")
        third.until("landing", "ready")
        assert third.until("parked") == "blocked"
        assert third.Waiting[0] == "WrongState" and "worktree" in third.Waiting[1]
    finally:
        repository.git("worktree", "remove", "--force", f"{repository.directory}-side")
    assert repository.git("rev-parse", "try/it") == head == repository.head()


def test_nothing_of_the_owners_repository_runs(ready, repository):
    names = ("pre-commit", "post-commit", "post-checkout", "post-merge", "post-index-change", "reference-transaction", "pre-auto-gc")
    marks = f"{repository.directory}/marks"
    repository.run("mkdir", marks)
    repository.write(".git/info/exclude", "/marks\n")
    for name in names:
        # A mark where the hook runs as well: inside the landing's unit the path outside is not there.
        repository.write(f".git/hooks/{name}", f"#!/bin/sh\ntouch {marks}/{name} marks-{name} 2>/dev/null\nexit 0\n")
        repository.run("chmod", "+x", f".git/hooks/{name}")
    repository.git("config", "core.fsmonitor", f"touch {marks}/fsmonitor; false")
    repository.git("config", "filter.mark.smudge", f"touch {marks}/smudge marks-smudge; cat")
    repository.git("config", "filter.mark.clean", f"touch {marks}/clean marks-clean; cat")
    repository.write(".git/info/attributes", "* filter=mark\n")

    def ran():
        return sorted(repository.run("find", ".", "-path", "./marks/*", "-o", "-name", "marks-*").stdout.split())

    repository.git("commit", "--quiet", "--allow-empty", "--message", "Control")
    assert "./marks/pre-commit" in ran() and "./marks/reference-transaction" in ran(), "the control shows nothing"
    repository.run("sh", "-c", "rm -f marks/* && find . -name 'marks-*' -delete")
    task = ready()
    commit = task.accept_work()
    until_done(task)
    assert ran() == []
    assert repository.run("cat", ".git/refs/heads/main").stdout.strip() == commit


def test_hooks_and_configuration_cannot_be_written_by_the_landing(ready, repository):
    """A program that is put before the landing's own in its unit, and so has all that the unit has, tries."""
    task = ready()
    repository.run("mkdir", "-p", ".git/modules/x")
    unit = Path(f"/run/systemd/system/coffer-{task.id}-0-land-1-write.service.d")
    unit.mkdir(parents=True)
    script = ("for name in hooks/pre-commit config info/attributes modules/x/config; do "
              "(echo >>/in/source/.git/$name) 2>/dev/null && echo $name >>/in/source/.git/written; "
              "mv /in/source/.git/${name%%/*} /in/source/.git/away 2>/dev/null && echo $name away >>/in/source/.git/written; "
              "done; mv --no-copy /in/source/.git/objects /in/source/.git/away 2>/dev/null && echo objects away >>/in/source/.git/written; "
              "mv --no-copy /in/source/.git /in/source/away 2>/dev/null && mv /in/source/away /in/source/.git && echo .git away >>/in/source/.git/written; "
              "(echo /elsewhere >/in/source/.git/objects/info/alternates) 2>/dev/null && echo alternates >>/in/source/.git/written; "
              "(echo >>/in/source/.git/objects/pack/control) && rm /in/source/.git/objects/pack/control && echo control >>/in/source/.git/written")
    (unit / "probe.conf").write_text(f"[Service]\nExecStartPre=/bin/sh -c '{script.replace('$', '$$').replace('%', '%%')}'\n")
    run("systemctl", "daemon-reload")
    try:
        task.accept_work()
        until_done(task)
    finally:
        (unit / "probe.conf").unlink()
        unit.rmdir()
        run("systemctl", "daemon-reload")
    assert repository.run("cat", ".git/written").stdout == "control\n"


@pytest.fixture
def worktree(repository):
    """A linked worktree of the repository, on the branch side."""
    directory = f"{repository.directory}-linked"
    repository.git("worktree", "add", "--quiet", "-b", "side", directory)
    yield Repository(repository.user, directory)
    run("rm", "-rf", "--one-file-system", directory)


def everything(repository):
    """The main worktree with its git directory but for what a branch or a note that is made adds to it."""
    return repository.run("sh", "-c", "git rev-parse main && cat .git/HEAD .git/logs/HEAD .git/logs/refs/heads/main .git/config && sha1sum .git/index && "
                          "find . -path ./.git -prune -o -type f -exec sha1sum {} + | sort").stdout


@pytest.mark.parametrize("relative", [False, True])
def test_a_project_in_a_linked_worktree_goes_from_a_task_to_its_commit(cofferd, instant_agent, carol, repository, worktree, relative):
    repository.write("greet.h", "/* mine */\n")
    main = everything(repository)
    if relative:
        worktree.write(".git", f"gitdir: ../{repository.directory.name}/.git/worktrees/{worktree.directory.name}\n")
    worktree.write("notes.txt", "not in the commit\n")
    with added(carol, worktree) as project:
        task = carol.create_task(project, "Say more")
        task.until("plan-ready")
        assert task.BaseBranch.endswith("side") and task.Base == worktree.head()
        task.accept_plan()
        task.until("ready", seconds=180)
        commit = task.accept_work()
        until_done(task)
        assert worktree.head() == commit and worktree.git("symbolic-ref", "HEAD") == "refs/heads/side"
        assert worktree.git("status", "--porcelain") == "?? notes.txt"
        assert "turn write" in worktree.run("cat", "instant.txt").stdout
        assert everything(repository) == main
        assert repository.git("notes", "--ref=cofferdam", "show", commit).startswith("Coffer-Gate")
        leftover = repository.run("find", str(repository.directory), str(worktree.directory), "-name", "*coffer-land*", "-o", "-name", "*.lock")
        assert leftover.stdout == ""

        # The branch of the main worktree is that worktree's.
        other = carol.create_task(project, "Say more")
        other.until("plan-ready")
        other.accept_plan()
        other.until("ready", seconds=180)
        other.accept_work(branch="main")
        assert other.until("parked") == "blocked"
        assert other.Waiting[0] in ("WrongState", "NameTaken") and "main" in other.Waiting[1]
        assert everything(repository) == main


def test_a_gitfile_that_leads_to_another_repository_is_refused(cofferd, instant_agent, carol, repository, worktree, make_repository):
    """A directory from anywhere, whose .git names a worktree's entry that names another directory, or none at all."""
    planted = make_repository("carol", name=f"{repository.directory.name}-planted")
    run("rm", "-rf", planted.directory / ".git")
    entry = f"{repository.directory}/.git/worktrees/{worktree.directory.name}"
    for leads in (entry, f"{repository.directory}/.git", "/etc", "../nothing"):
        planted.write(".git", f"gitdir: {leads}\n")
        with pytest.raises(CallError) as refused:
            carol.add_project(planted, build=["make"], test=["make test"], agents=AGENTS)
        assert refused.value.name.endswith("RepositoryUnsupported"), leads
        assert "worktree" in str(refused.value)


def test_a_gitfile_that_is_redirected_while_a_task_works_lands_nowhere(cofferd, instant_agent, carol, repository, worktree):
    with added(carol, worktree) as project:
        task = carol.create_task(project, "Say more")
        task.until("plan-ready")
        task.accept_plan()
        task.until("ready", seconds=180)
        before = repository.git("for-each-ref"), everything(repository)
        gitfile = worktree.run("cat", ".git").stdout
        worktree.write(".git", f"gitdir: {repository.directory}/.git\n")
        task.accept_work()
        assert task.until("parked") == "blocked"
        assert task.Waiting[0] == "RepositoryUnsupported" and "worktree" in task.Waiting[1]
        worktree.write(".git", gitfile)
        assert (repository.git("for-each-ref"), everything(repository)) == before
        commit = task.accept_work()
        until_done(task)
        assert worktree.head() == commit


def test_what_leads_from_a_worktree_to_its_repository_cannot_be_written_by_the_landing(cofferd, instant_agent, carol, repository, worktree):
    """A program that is put before the landing's own in its unit tries, as above."""
    with added(carol, worktree) as project:
        task = carol.create_task(project, "Say more")
        task.until("plan-ready")
        task.accept_plan()
        task.until("ready", seconds=180)
        repository.run("sh", "-c", f"mkdir -p .git/modules/x && touch .git/worktrees/{worktree.directory.name}/config.worktree")
        unit = Path(f"/run/systemd/system/coffer-{task.id}-0-land-1-write.service.d")
        unit.mkdir(parents=True)
        script = ("cd /in; for name in source/.git source-common/hooks/pre-commit source-common/config source-common/info/attributes "
                  "source-common/modules/x/config source-common/HEAD source-common/index source-common/worktrees/*/HEAD "
                  "source-own/config.worktree source-own/commondir source-own/gitdir; do "
                  "(echo >>$name) 2>/dev/null && echo $name >>/in/source-own/written; "
                  "mv $name $name-away 2>/dev/null && echo $name away >>/in/source-own/written; "
                  "done; echo control >>/in/source-own/written")
        (unit / "probe.conf").write_text(f"[Service]\nExecStartPre=/bin/sh -c '{script.replace('$', '$$').replace('%', '%%')}'\n")
        run("systemctl", "daemon-reload")
        try:
            task.accept_work()
            until_done(task)
        finally:
            (unit / "probe.conf").unlink()
            unit.rmdir()
            run("systemctl", "daemon-reload")
        assert repository.run("cat", f".git/worktrees/{worktree.directory.name}/written").stdout == "control\n"
