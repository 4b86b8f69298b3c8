"""What people do to a repository, a task or the machine at the wrong moment.

Each case is answered by one named error with a sentence that says what, why and what to do, and nothing is lost: what was there is
as it was, and the task goes on when the cause is gone.
"""

import os
import threading
from pathlib import Path

import pytest
from conftest import Daemon, run
from moments import Stored, until
from people import NAME, ROOT, CallError, Person, Task, request, variants
from repository import Repository
from yard import AGENTS, Yard, carol, project, refused, says, yard  # noqa: F401

ZEROS = "sha256:" + "0" * 64


# --- before a task begins

def away(repository):
    run("mount", "-t", "tmpfs", "-o", "ro", "away", repository.directory.parent)


def back(repository):
    run("umount", repository.directory.parent)


BEFORE = [
    ("branch deleted", "git update-ref -d refs/heads/main", "git update-ref refs/heads/main $KEPT", "NoCommit", ["main", "git commit"]),
    ("commit gone", "printf '%040d\\n' 1 >.git/refs/heads/main", "echo $KEPT >.git/refs/heads/main",
     "RepositoryUnsupported", ["damaged", "git fsck"]),
    ("mounted away", away, back, "NoRepository", ["No such file", "has to be there"]),
    ("home closed", lambda repository: run("chmod", "0", repository.directory.parent), lambda repository: run("chmod", "755", repository.directory.parent),
     "AccessDenied", ["may not open", "right to it"]),
    ("made shallow", "git rev-parse HEAD >.git/shallow", "rm .git/shallow", "RepositoryUnsupported", ["git fetch --unshallow"]),
]


def act(repository, what, kept):
    if callable(what):
        what(repository)
    else:
        repository.run("env", f"KEPT={kept}", "sh", "-ec", what)


@pytest.mark.parametrize("breaks, mends, code, sentence", [case[1:] for case in BEFORE], ids=[case[0] for case in BEFORE])
def test_a_task_whose_base_is_gone_waits_and_begins_when_it_is_back(carol, nested, breaks, mends, code, sentence):
    repository, project = nested
    kept = repository.head()
    act(repository, breaks, kept)
    try:
        task = carol.create_task(project, "Say more")
        assert task.until("parked", "plan-ready") == "blocked"
        assert task.Waiting[0] == code and all(word in task.Waiting[1] for word in sentence), task.Waiting
        assert "retry" in task.Actions
    finally:
        act(repository, mends, kept)
    carol.call(task.path, "Task", "Retry", "(a{sv})", (request(),))
    task.until("plan-ready")
    assert task.Base == kept and task.text("prompt")[0] == "Say more"
    task.cancel()


# --- before work lands

LANDING = [
    ("objects protected", "rm -f .git/objects/pack/pack-*; chmod a-w .git/objects/pack", "chmod u+w .git/objects/pack", "AccessDenied",
     ["objects", "Permission denied", "accept again"]),
    ("branches protected", "chmod a-w .git/refs/heads", "chmod u+w .git/refs/heads", "AccessDenied", ["refs/heads/main", "accept again"]),
    (".git protected", "chmod a-w .git", "chmod u+w .git", "AccessDenied", [".git", "accept again"]),
    ("log protected", "chmod a-w .git/logs/refs/heads/main", "chmod u+w .git/logs/refs/heads/main", "AccessDenied", ["log", "refs/heads/main"]),
    ("files protected", "chmod a-w .", "chmod u+w .", "AccessDenied", ["instant.txt", "Permission denied"]),
    ("index.lock left", ": >.git/index.lock", "rm .git/index.lock", "Busy", [".git/index.lock", "remove the file"]),
    ("branch's lock left", ": >.git/refs/heads/main.lock", "rm .git/refs/heads/main.lock", "Busy", [".git/refs/heads/main.lock", "remove"]),
    ("in a merge", "git rev-parse HEAD >.git/MERGE_HEAD", "rm .git/MERGE_HEAD", "WrongState", ["MERGE_HEAD", "git status", "accept again"]),
    ("in a rebase", "mkdir .git/rebase-merge", "rmdir .git/rebase-merge", "WrongState", ["rebase-merge", "accept again"]),
    ("checked out elsewhere", "git switch -q --detach; git worktree add -q ../elsewhere main",
     "git worktree remove --force ../elsewhere; git switch -q main", "WrongState", ["elsewhere", "another branch"]),
    ("commit of the base gone", "mkdir ../kept; mv .git/objects/[0-9a-f][0-9a-f] ../kept/", "mv ../kept/* .git/objects/; rmdir ../kept", "BaseGone",
     ["no longer among", "git fsck", "accept again"]),
    ("index broken", "mv .git/index ../index; echo x >.git/index", "mv ../index .git/index", "RepositoryUnsupported", ["git reset", "accept again"]),
    ("index gone", "mv .git/index ../index", "mv ../index .git/index", "RepositoryUnsupported", ["git reset", "accept again"]),
    ("mounted away", away, back, "NoRepository", ["No such file", "has to be there"]),
    ("home closed", lambda repository: run("chmod", "0", repository.directory.parent), lambda repository: run("chmod", "755", repository.directory.parent),
     "AccessDenied", ["may not open"]),
    ("no repository any more", "mv .git ../git", "mv ../git .git", "NoRepository", ["no .git"]),
]


@pytest.fixture(scope="module")
def nested(carol, yard):
    """A repository with a folder of its own above it, and its project."""
    above = yard.top / "nested"
    run("install", "-d", "-o", "carol", "-g", "carol", above)
    repository = yard.repository("nested/repository")
    project = carol.add_project(repository, test=["true"], agents=AGENTS)
    yield repository, project
    carol.end_project(project)


@pytest.fixture(scope="module")
def ready(carol, nested):
    """One task whose work waits to be accepted, and does so again after each refusal."""
    task = carol.create_task(nested[1], "Say more", policy={"plan": "auto"})
    task.until("ready")
    return task


@pytest.mark.parametrize("breaks, mends, code, sentence", [case[1:] for case in LANDING], ids=[case[0] for case in LANDING])
def test_work_that_cannot_land_says_why_and_waits(nested, ready, breaks, mends, code, sentence):
    repository = nested[0]
    before, digest, refs = repository.git("status"), ready.WorkDigest, repository.git("for-each-ref")
    act(repository, breaks, repository.head())
    try:
        ready.accept_work()
        assert ready.until("parked", "done") == "blocked"
        assert ready.Waiting[0] == code and all(word in ready.Waiting[1] for word in sentence), ready.Waiting
    finally:
        act(repository, mends, None)
    assert (repository.git("status"), ready.WorkDigest, repository.git("for-each-ref")) == (before, digest, refs)
    assert not (repository.directory / "instant.txt").exists()
    assert "accept-work" in ready.Actions
    leftover = repository.run("find", ".git", "-name", "*coffer-land*", "-o", "-name", "*.lock").stdout
    assert leftover == ""


def test_work_lands_after_all_that_was_in_its_way(nested, ready):
    repository = nested[0]
    repository.run("sh", "-c", ": >.git/index.lock")
    ready.accept_work()
    assert ready.until("parked", "done") == "blocked"
    repository.run("rm", ".git/index.lock")
    commit = ready.accept_work()
    ready.until("done")
    assert repository.head() == commit and repository.git("status", "--porcelain") == ""


def test_history_that_was_rewritten_and_collected_takes_the_work(carol, yard):
    """The commit that the task began from is in nobody's repository any more but in ours."""
    repository = yard.repository("x")
    project = carol.add_project(repository, test=["true"], agents=AGENTS)
    try:
        task = carol.create_task(project, "Say more", policy={"plan": "auto"})
        task.until("ready")
        base = task.Base
        repository.git("commit", "--quiet", "--amend", "--message", "Said better")
        repository.git("reflog", "expire", "--expire=now", "--all")
        repository.git("gc", "--quiet", "--prune=now")
        assert repository.run("git", "cat-file", "-e", base, check=False).returncode != 0
        task.accept_work(branch="beside")
        assert task.until("parked", "done") == "blocked"
        assert task.Waiting[0] == "BaseGone" and "without --branch" in task.Waiting[1], task.Waiting
        better = repository.head()
        task.accept_work()
        task.until("ready")
        commit = task.accept_work()
        task.until("done")
        assert repository.head() == commit and repository.git("rev-parse", "HEAD^") == better
        assert repository.git("fsck", "--strict") == ""
    finally:
        carol.end_project(project)
        yard.remove("x")


def test_work_of_a_rebase_that_goes_on_lands_on_a_branch_that_is_named(carol, yard):
    yard.shell("cp -a base x; cd x; git switch -q -c side HEAD^; echo mine >again.txt; git add .; git commit -q -m mine; ! git rebase -q main 2>&1")
    repository = Repository("carol", yard.top / "x")
    project = carol.add_project(repository, test=["true"], agents=AGENTS)
    try:
        before = repository.git("status")
        task = carol.create_task(project, "Say more", policy={"plan": "auto"})
        task.until("ready")
        task.accept_work()
        assert task.until("parked") == "blocked"
        assert task.Waiting[0] == "WrongState" and "detached HEAD" in task.Waiting[1] and "--branch NAME" in task.Waiting[1]
        commit = task.accept_work(branch="found")
        task.until("done")
        assert repository.git("rev-parse", "found") == commit
        assert repository.git("status") == before, "the rebase goes on as if nothing had been"
    finally:
        carol.end_project(project)
        yard.remove("x")


# --- decisions

@pytest.fixture(scope="module")
def waiting(carol, project):
    """A task whose plan waits to be read."""
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    return task


@pytest.fixture(scope="module")
def standing(carol, project, waiting):
    """A task in each state, by the state's name."""
    tasks = {"plan-ready": waiting}
    tasks["question"] = carol.create_task(project, "ask")
    tasks["cancelled"], tasks["deleted"] = (carol.create_task(project, "Say more") for _ in range(2))
    tasks["done"] = carol.create_task(project, "Say more", policy={"plan": "auto", "landing": "branch"})
    tasks["done"].until("done")
    tasks["ready"] = carol.create_task(project, "Say more", policy={"plan": "auto"})
    assert tasks["question"].until("parked") == "question"
    for name in ("cancelled", "deleted"):
        tasks[name].until("plan-ready")
        tasks[name].cancel()
        until(lambda task=tasks[name]: "delete" in task.Actions)
    carol.call(tasks["deleted"].path, "Task", "Delete", "(a{sv})", (request(),))
    tasks["ready"].until("ready")
    tasks["writing"] = carol.create_task(project, "hang", policy={"plan": "auto"})
    tasks["writing"].until("writing")
    yield tasks
    tasks["writing"].cancel()


DECISIONS = [
    ("question", "AcceptPlan", "WrongState", ["parked: question", "plan-ready"]),
    ("question", "AcceptWork", "WrongState", ["parked: question"]),
    ("question", "Retry", "WrongState", ["Answer the question with a reply"]),
    ("question", "Delete", "WrongState", ["Cancel it first"]),
    ("plan-ready", "AcceptWork", "WrongState", ["plan-ready"]),
    ("plan-ready", "Retry", "WrongState", ["Accept the plan"]),
    ("plan-ready", "Delete", "WrongState", ["Cancel it first"]),
    ("writing", "AcceptPlan", "Stale", ["accepted is another one", "reply"]),
    ("writing", "AcceptWork", "WrongState", ["writing", "Wait"]),
    ("writing", "Reply", "WrongState", ["writing", "Wait"]),
    ("writing", "Retry", "WrongState", ["writing"]),
    ("writing", "Delete", "WrongState", ["Cancel it first"]),
    ("ready", "AcceptPlan", "Stale", ["accepted is another one"]),
    ("ready", "AcceptWork", "Stale", ["changed since it was shown", "coffer diff"]),
    ("ready", "Retry", "WrongState", ["Accept the work"]),
    ("ready", "Delete", "WrongState", ["Cancel it first"]),
    ("done", "AcceptPlan", "Stale", ["coffer plan"]),
    ("done", "AcceptWork", "Stale", ["Nothing more can be accepted"]),
    ("done", "Reply", "WrongState", ["done", "new task"]),
    ("done", "Retry", "WrongState", ["landed", "new task"]),
    ("done", "Cancel", "WrongState", ["delete it"]),
    ("cancelled", "AcceptPlan", "WrongState", ["cancelled", "Retry takes it up again"]),
    ("cancelled", "AcceptWork", "WrongState", ["cancelled", "Retry takes it up again"]),
    ("cancelled", "Reply", "WrongState", ["cancelled", "Retry takes it up again"]),
    *(("deleted", method, "UnknownObject", ["may see"]) for method in ("AcceptPlan", "AcceptWork", "Reply", "Retry", "Cancel")),
    ("deleted", "Delete", "UnknownObject", ["There is no task"]),
]


@pytest.mark.parametrize("state, method, name, sentence", DECISIONS, ids=[f"{case[1]} of what is {case[0]}" for case in DECISIONS])
def test_a_decision_that_does_not_fit_decides_nothing(carol, standing, state, method, name, sentence):
    task = standing[state]
    signature, values = ("(sa{sv})", (ZEROS if method.startswith("Accept") else "Well.", {}))
    if method in ("Retry", "Cancel", "Delete"):
        signature, values = "(a{sv})", ({},)
    before = None if state == "deleted" else (task.State, task.Parked, task.Sequence)
    says(refused(carol, task.path, "Task", method, signature, values), name, *sentence)
    if before:
        assert (task.State, task.Parked, task.Sequence) == before


def test_one_kind_of_digest_accepts_nothing_of_the_other_kind(carol, yard, standing):
    plan, work = standing["plan-ready"].PlanDigest, standing["ready"].WorkDigest
    for state, method, digest in (("plan-ready", "AcceptWork", plan), ("ready", "AcceptPlan", work), ("ready", "AcceptWork", standing["ready"].PlanDigest),
                                  ("plan-ready", "AcceptPlan", work)):
        error = refused(carol, standing[state].path, "Task", method, "(sa{sv})", (digest, {}))
        assert error.name in ("Stale", "WrongState"), error
    says(yard.coffer("accept", standing["plan-ready"].id, "--digest", work), "Stale", "coffer plan")
    says(yard.coffer("accept", standing["ready"].id, "--digest", plan + "0"), "Stale", "coffer diff")
    assert standing["plan-ready"].State == "plan-ready" and standing["ready"].State == "ready"


def test_somebody_elses_task_is_no_task(standing):
    task = standing["ready"]
    for words in (["show", task.id], ["accept", task.id, "--digest", task.WorkDigest], ["cancel", task.id]):
        answer = run("setpriv", "--reuid", "bob", "--regid", "bob", "--init-groups", "coffer", *words, check=False)
        assert answer.returncode == 4 and f"no task {task.id} that you may see" in answer.stderr, answer.stderr
    assert task.State == "ready"


def test_a_plan_that_changed_meanwhile_is_not_the_one_that_was_read(carol, yard, project):
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    read = task.text("plan")[1]
    task.reply("Say even more")
    error = refused(carol, task.path, "Task", "AcceptPlan", "(sa{sv})", (read, {}))
    assert error.name in ("WrongState", "Stale")
    task.until("plan-ready")
    assert task.PlanDigest != read
    answer = yard.coffer("accept", task.id, "--digest", read)
    says(answer, "Stale", "changed since it was shown", "coffer plan")
    assert answer.code == 5 and task.State == "plan-ready"
    task.cancel()


def both(*acts):
    """Does all at once, each in a thread of its own; gives what each returned or raised."""
    barrier, outcomes = threading.Barrier(len(acts)), [None] * len(acts)

    def go(at):
        barrier.wait()
        try:
            outcomes[at] = acts[at]()
        except CallError as error:
            outcomes[at] = error
    threads = [threading.Thread(target=go, args=(at,)) for at in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_two_who_accept_at_once_land_it_once(carol, yard):
    repository = yard.repository("x")
    project = carol.add_project(repository, test=["true"], agents=AGENTS)
    other = Person("carol")
    try:
        before = repository.head()
        for options in ({}, {"branch": "beside"}):
            task = carol.create_task(project, "Say more", policy={"plan": "auto"})
            task.until("ready")
            digest = task.text("diff")[1]
            outcomes = both(*(lambda person=person, more=more: person.call(task.path, "Task", "AcceptWork", "(sa{sv})", (digest, request() | variants(more)))[0]
                              for person, more in ((carol, {}), (other, options))))
            task.until("done")
            if options:
                # Only one of two places can be meant.
                error = next(outcome for outcome in outcomes if isinstance(outcome, CallError))
                says(error, "AlreadyDecided", "accepted already", "beside", "git branch")
                outcomes.remove(error)
            assert set(outcomes) == {task.Landed[0][0]}
            assert [event[3] for event in task.events()].count("work-accepted") == 1 == len(task.Landed)
        assert int(repository.git("rev-list", "--count", "--all", f"^{before}", "--exclude=refs/notes/*", "--branches")) >= 1
        assert repository.git("fsck", "--strict") == ""
    finally:
        other.close()
        carol.end_project(project)
        yard.remove("x")


def test_an_error_is_no_line_of_the_journal_where_nothing_was_wrong(carol, project, journal):
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    task.cancel()
    until(lambda: "delete" in task.Actions)
    carol.call(task.path, "Task", "Delete", "(a{sv})", (request(),))
    until(lambda: not Path(f"/var/lib/cofferdam/tasks/{task.id}").exists())
    until(lambda: Stored(task.id).events("erased"))
    said = journal.entries(_SYSTEMD_UNIT="cofferd.service")
    assert any(f"task {task.id} is cancelled" in entry["MESSAGE"] for entry in said), "what it says is seen"
    wrong = [entry["MESSAGE"] for entry in [*said, *journal.entries(_PID="1", UNIT="cofferd.service")] if int(entry.get("PRIORITY", 6)) <= 4]
    assert wrong == []


# --- the machine around it

@pytest.fixture
def leaver():
    """A user of the group who is to go; everything of theirs is taken away after the test."""
    run("useradd", "--create-home", "--groups", "cofferdam", "leaver")
    person, yard = Person("leaver"), Yard("leaver")
    uid = os.stat("/home/leaver").st_uid
    root = Person("root")
    yield person, yard, uid, root
    for path, interfaces in root.call(ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")[0].items():
        if f"{NAME}.Project" in interfaces and interfaces[f"{NAME}.Project"]["Owner"] == uid:
            for row in root.manager("ListTasks", "(a{sv}tu)", (variants({"all-users": True, "ended": False}), 0, 1000))[0]:
                if row["Project"] == path:
                    Task(root, row["Path"]).cancel()
            root.call(path, "Project", "Remove", "(a{sv})", ({},))
    person.close()
    root.close()
    run("userdel", "--force", "leaver", check=False)
    run("rm", "-rf", "--one-file-system", "/home/leaver")


def test_a_user_who_is_deleted_loses_nothing_and_goes_on_when_back(leaver, hold):
    person, yard, uid, root = leaver
    project = person.add_project(yard.base, test=["true"], agents=AGENTS)
    waits = person.create_task(project, "Say more")
    works = person.create_task(project, f"Say more, {hold.word}", policy={"plan": "auto", "landing": "auto"})
    waits.until("plan-ready")
    works.until("writing")
    head = yard.base.head()
    run("userdel", "leaver")
    # An administrator goes on in their place; the work of agents is nobody's but Cofferdam's until it lands.
    waits, works = Task(root, waits.path), Task(root, works.path)
    hold.let_go()
    assert works.until("parked", "done", seconds=60) == "blocked"
    assert works.Waiting[0] == "NotFound" and str(uid) in works.Waiting[1] and "make that user again" in works.Waiting[1], works.Waiting
    assert waits.State == "plan-ready"
    assert run("git", "-c", "safe.directory=*", "-C", yard.base.directory, "rev-parse", "HEAD").stdout.strip() == head
    waits.cancel()
    run("useradd", "--no-create-home", "--uid", uid, "--groups", "cofferdam", "leaver")
    commit = works.accept_work()
    works.until("done")
    assert yard.base.head() == commit
    assert run("stat", "--format=%u", yard.base.directory / "instant.txt").stdout.strip() == str(uid)


def test_a_daemon_that_is_stopped_comes_back_and_one_that_is_masked_says_so(yard):
    daemon = Daemon()
    daemon.stop()
    try:
        assert yard.coffer("list").code == 0, "the bus starts it"
        daemon.stop()
        run("systemctl", "mask", "--runtime", daemon.unit)
        for words in (["list"], ["new", "-p", "base", "Say more"], []):
            answer = yard.coffer(*words)
            assert answer.code == 7 and "does not answer" in answer.message and "masked" in answer.message
            assert answer.next == "systemctl unmask cofferd"
    finally:
        run("systemctl", "unmask", "--runtime", daemon.unit)
        daemon.start()
