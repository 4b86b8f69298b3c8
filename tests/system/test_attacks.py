"""What an agent, a neighbour and a user's own trickery can try, along one whole task of carol's that tries all of it.

The task ("attacked") is run once: its agent has a key-holding gateway beside it and runs the programs of tests/system/attacks; a
second task of the same project runs beside it; bob listens from before its beginning until after its end. Each test looks at one
part of what came of it.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import threading
import uuid
from pathlib import Path

import pytest
from conftest import TESTS, Bus, Daemon, Journal, Repository, reload_cofferd, run
from hold import Hold
from people import NAME, ROOT, CallError, Person
from test_bus import Listener
from units import active, main_pid

pytestmark = pytest.mark.deadline(200)
PROGRAMS = Path("/usr/local/lib/cofferdam-tests")
PROBE = PROGRAMS / "probe"


@contextlib.contextmanager
def reachable_on_the_host():
    """Sockets, files and a process on the host that a sandbox must not reach; tells programs where they are."""
    name = f"cofferdam-attacks-{uuid.uuid4().hex}"
    with contextlib.ExitStack() as stack:
        def listener(family, address, kind=socket.SOCK_STREAM):
            mine = stack.enter_context(socket.socket(family, kind))
            mine.bind(address)
            if kind == socket.SOCK_STREAM:
                mine.listen(64)
            return mine
        tcp = listener(socket.AF_INET, ("127.0.0.1", 0))
        tcp6 = listener(socket.AF_INET6, ("::1", 0))
        udp = listener(socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM)
        listener(socket.AF_UNIX, "\0" + name)

        def answer():
            while (received := udp.recvfrom(16))[0] == b"ping":
                udp.sendto(b"pong", received[1])
        answering = threading.Thread(target=answer)
        answering.start()
        victim = subprocess.Popen(["sleep", "infinity"], executable="/usr/bin/sleep")
        named = subprocess.Popen(["bash", "-c", f"exec -a {name} sleep infinity"])
        files = {"run": f"/run/{name}", "tmp": f"/tmp/{name}", "var-tmp": f"/var/tmp/{name}"}
        for path in files.values():
            Path(path).touch()
        try:
            yield {"abstract": name, "victim": name, "victim-pid": named.pid, "tcp": tcp.getsockname()[1], "tcp6": tcp6.getsockname()[1],
                   "udp": udp.getsockname()[1], **files}
        finally:
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"end", udp.getsockname())
            answering.join()
            for process in (victim, named):
                process.kill()
                process.wait()
            for path in files.values():
                Path(path).unlink()


def install_programs(planted):
    for file in (TESTS / "system" / "attacks").iterdir():
        run("install", "-D", "-m", "0755", file, PROGRAMS / file.name)
    run("gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", PROGRAMS / "preload.so", PROGRAMS / "preload.c")
    # Says where it ran, in the journal and wherever it may write.
    (PROGRAMS / "planted").write_text(
        f'echo "{planted} ran as $(id -u) in $PWD" >&2\n'
        f'for place in /task/out/planted /out/{planted} /in/source/{planted} ./{planted}; do touch "$place" 2>/dev/null; done\nexit 0\n')


def say_facts(facts, **more):
    fresh = PROGRAMS / "facts.new"
    fresh.write_text(json.dumps(facts | more))
    fresh.chmod(0o644)
    fresh.rename(PROGRAMS / "facts.json")


def all_told(text, word):
    """The lines that one of the programs printed, one for each turn, as what they say."""
    return [json.loads(line.strip()[len(word) + 1:]) for line in text.splitlines() if line.strip().startswith(word + " ")]


def told(text, word):
    return all_told(text, word)[0]


def uid_of(pid):
    return int(re.search(r"^Uid:\t(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE).group(1))


def as_uid(uid, *command):
    return run("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs", *command, check=False)


def key_probes(mine, other):
    """What the uid of one gateway gets of the unit of another, by every way there is on the host: name -> whether it worked."""
    unit, pid = other["unit"], other["pid"]
    ways = {"credential": ("cat", f"/run/credentials/{unit}/key"),
            "credential by the root of the process": ("cat", f"/proc/{pid}/root/run/credentials/{unit}/key"),
            "environment": ("cat", f"/proc/{pid}/environ"),
            "memory": ("dd", f"if=/proc/{pid}/mem", "of=/dev/null", "bs=1", "count=0"),
            "descriptors": ("ls", f"/proc/{pid}/fd/"),
            "signal": ("kill", "-0", str(pid)),
            "its output": ("ls", f"/var/lib/cofferdam/work/{unit.removesuffix('.service')}")}
    return {way: as_uid(mine, *command).returncode == 0 for way, command in ways.items()}


def objects_of_bob(bob, path, task_id):
    """Everything bob tries on a task that is not his: name -> the error's name, or what he got."""
    def tried(call, *arguments, **options):
        try:
            return call(*arguments, **options)
        except CallError as error:
            return error.name
    tries = {"properties": tried(bob.properties, path, "Task"), "get": tried(bob.manager, "GetTask", "(t)", (task_id,))}
    for member, signature, values in (("Wait", "(tt)", (0, 1)), ("ReadText", "(stua{sv})", ("prompt", 0, 0, {})), ("ListRuns", "(a{sv})", ({},)),
                                      ("ListFindings", "(a{sv})", ({},)), ("Cancel", "(a{sv})", ({},)), ("Reply", "(sa{sv})", ("x", {})),
                                      ("AcceptPlan", "(sa{sv})", ("x", {})), ("AcceptWork", "(sa{sv})", ("x", {})),
                                      ("Delete", "(a{sv})", ({},))):
        tries[member] = tried(bob.call, path, "Task", member, signature, values)
    tries["introspection"] = tried(bob.call, path, "org.freedesktop.DBus.Introspectable", "Introspect")
    tries["ping"] = tried(bob.call, path, "org.freedesktop.DBus.Peer", "Ping")
    listed = {"objects": tried(bob.call, ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"),
              "nodes": tried(bob.call, ROOT + "/task", "org.freedesktop.DBus.Introspectable", "Introspect"),
              "tasks": tried(bob.manager, "ListTasks", "(a{sv}tu)", ({}, 0, 100)),
              "events": tried(bob.manager, "ListEvents", "(tua{sv})", (0, 1000, {}))}
    return tries, json.dumps(listed, default=str)


class Attacked:
    """All that came of it."""


@pytest.fixture(scope="module")
def attacked(instant_agent):
    it = Attacked()
    it.project = None
    it.planted = f"planted-{uuid.uuid4().hex}"
    it.secret = f"secret{uuid.uuid4().hex}"
    it.keys = [f"sk-{uuid.uuid4().hex}" for _ in range(2)]
    install_programs(it.planted)
    # The instant agent with a provider, and with a library for every process that its descriptor can give one to.
    descriptor = Path("/etc/cofferdam/agents/instant-keyed.toml")
    text = (TESTS / "agents" / "instant.toml").read_text().replace('providers = ["none"]', 'providers = ["openai-chat"]')
    descriptor.write_text(text.replace("[output]", f'[environment]\nLD_PRELOAD = "{PROGRAMS}/preload.so"\nDUMMY = "{{key}}"\n\n[output]'))
    provider_file = Path("/etc/cofferdam/providers/nowhere.toml")
    provider_file.parent.mkdir(exist_ok=True)
    provider_file.write_text('title = "Nowhere"\nkinds = ["openai-chat"]\nbase-url = "http://127.0.0.1:9/v1"\nallow-addresses = ["127.0.0.1:9"]\n')
    Daemon().start()
    reload_cofferd()
    it.journal = Journal()
    people = {name: Person(name) for name in ("carol", "bob")}
    carol, bob = people["carol"], people["bob"]
    bus = Bus()
    providers = []
    directory = f"/home/carol/attacked-{os.getpid()}"
    try:
        with reachable_on_the_host() as facts, Hold() as hold, Hold() as other_hold:
            run_attacked(it, facts, carol, bob, bus, providers, directory, hold, other_hold)
        yield it
    finally:
        if it.project:
            carol.end_project(it.project)
        for provider in providers:
            carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))
        for person in people.values():
            person.close()
        bus.close()
        for file in (descriptor, provider_file):
            file.unlink()
        run("rm", "-rf", directory, PROGRAMS)
        reload_cofferd()


def owners_repository(it, directory):
    """A repository whose owner's Git would run what the agent commits: hooks from the tree, filters, drivers, a monitor."""
    repository = Repository.create("carol", directory)
    it.base = repository.commit("Say who is greeted", **{"notes.txt": "the world\n"})
    script = f"sh {PROGRAMS}/planted"
    for setting, value in (("core.hooksPath", ".husky"), ("core.fsmonitor", script), ("filter.planted.clean", script),
                           ("filter.planted.smudge", script), ("diff.planted.command", script), ("diff.external", script),
                           ("merge.planted.driver", script)):
        repository.git("config", setting, value)
    return repository


def run_attacked(it, facts, carol, bob, bus, providers, directory, hold, other_hold):
    for number, key in enumerate(it.keys):
        providers.append(carol.add_provider(f"key-{number}", "nowhere", "http://127.0.0.1:9/v1", key))
    repository = it.repository = owners_repository(it, directory)
    say_facts(facts, others={})
    it.outside = told(run(PROBE).stdout, "PROBES")

    listener = Listener("bob")
    it.unicast = []
    bob.connection.add_filter(lambda _bus, message, incoming: (it.unicast.append(message.print_(0)) if incoming else None, message)[1])
    for person in (carol, bob):  # so that there is content on its way
        person.manager("Subscribe", "(a{sv})", ({},))
    agents = {role: "instant-keyed/none@key-0" for role in ("planner", "writer", "reviewer")}
    project = it.project = carol.add_project(repository, build=["make"], test=[f"LD_PRELOAD={PROGRAMS}/preload.so {PROBE}"], agents=agents)
    other = carol.create_task(project, f"{other_hold.word}, and a note", agents={"writer": "instant-keyed/none@key-1"})
    task = it.task = carol.create_task(
        project, f"Do {hold.word} run-keys run-objects run-probe run-tree after-plant {it.secret} LD_PRELOAD={PROGRAMS}/preload.so")
    it.bob = []
    for each in (other, task):
        each.until("plan-ready")
        each.accept_plan()

    # Both writers run, each beside a gateway with a key of its own.
    gateways = it.gateways = [{"unit": f"coffer-{each.id}-0-writer-1-gateway.service"} for each in (task, other)]
    for gateway in gateways:
        agent = gateway["unit"].replace("-gateway", "")
        bus.until(lambda: active(agent) and active(gateway["unit"]), seconds=60, sender="org.freedesktop.systemd1")
        gateway["pid"] = main_pid(gateway["unit"])
        gateway["uid"] = uid_of(gateway["pid"])
    it.own_key = key_probes(gateways[0]["uid"], gateways[0])
    it.others_key = key_probes(gateways[1]["uid"], gateways[0])
    inside = ("nsenter", "-t", str(gateways[1]["pid"]), "-m", "-p", "-i", "-n", "-r", "setpriv", f"--reuid={gateways[1]['uid']}", "--clear-groups",
              "--no-new-privs", "sh", "-c", "cat /run/credentials/*/key; echo; ls /proc | grep -c '^[0-9]'; kill -0 -1 2>&1")
    it.inside_other = run(*inside, check=False).stdout
    it.bob.append(objects_of_bob(bob, task.path, task.id))

    # The other task is done first, so that its candidate is there to be looked for.
    other_hold.let_go()
    other.until("ready")
    it.other = other.id
    it.other_candidate = other.Candidate
    say_facts(facts, others={"candidate": other.Candidate})
    hold.let_go()
    task.until("ready")
    it.bob.append(objects_of_bob(bob, task.path, task.id))
    it.gate_log = gate_log(task)
    it.transcripts = transcripts(task)
    it.events = task.events()
    it.candidate = task.Candidate
    it.diff = task.text("diff")[0]
    it.landed = task.accept_work()
    task.until("done")
    it.bob.append(objects_of_bob(bob, task.path, task.id))
    it.heard = listener.heard()
    it.told = repository.run("git", "cat-file", "blob", f"{it.landed}:told.txt").stdout


def gate_log(task):
    return "".join(task.text("log", run=row["Id"])[0] for row in task.runs() if row["Kind"] == "gate")


def transcripts(task):
    return "".join(task.text("transcript", run=row["Id"])[0] for row in task.runs() if row["Kind"] == "turn")


# --- (7) sandboxes

def test_every_probe_works_outside_of_a_sandbox(attacked):
    failed = {name: why for name, why in attacked.outside["forbidden"].items() if why != "ok"}
    assert failed == {}, "a probe that fails everywhere shows nothing"


@pytest.mark.parametrize("where", ["writer", "gate"])
def test_no_probe_works_in_a_sandbox(attacked, where):
    inside = told(attacked.told if where == "writer" else attacked.gate_log, "PROBES")
    assert {name for name, why in inside["forbidden"].items() if why == "ok"} == set()
    assert set(inside["forbidden"]) == set(attacked.outside["forbidden"])
    assert inside["own"] == {"model_endpoint": "ok", "resolver": "ok"}
    assert inside["interfaces"] == [[1, "lo"]]
    assert len(inside["processes"]) < 10 < len(attacked.outside["processes"])


# --- (4) keys

def test_no_gateway_gets_the_key_of_another_and_none_can_end_another(attacked):
    assert attacked.gateways[0]["uid"] != attacked.gateways[1]["uid"]
    # The same ways with the same uid: what it would be like if all gateways had one.
    assert attacked.own_key["credential"] and attacked.own_key["signal"]
    assert {way for way, worked in attacked.others_key.items() if worked} == set()
    shown = attacked.inside_other.split()
    assert shown[0] == attacked.keys[1], "in its own unit it finds its own"
    assert attacked.keys[0] not in attacked.inside_other


def test_an_agent_finds_no_key_and_no_process_but_its_own(attacked):
    found = told(attacked.told, "KEYS")
    text = json.dumps(found)
    assert found["environment"]["DUMMY"].startswith("coffer-"), "a key in the environment would be found"
    for key in attacked.keys:
        assert key not in text and key not in attacked.transcripts and key not in attacked.diff
    assert not [path for path in found if path.startswith("/run/credentials")]
    assert set(found["signalled"]) <= {1, *found["own"]}, "its own, and the first of its namespace, which no signal of its own reaches"


# --- (5) stores

def test_no_object_of_another_task_is_in_reach_of_a_writer(attacked):
    seen = told(attacked.told, "OBJECTS")
    assert "by id" in seen["found"]["base"] and "in the list of all objects" in seen["found"]["base"], "what is there is found"
    assert any(where.endswith(".idx") for where in seen["found"]["base"])
    assert seen["found"]["candidate"] == []
    assert set(seen["stores"]) >= {"/store/base/objects", "/store/task/objects"}
    for lent in seen["alternates"].values():
        assert set(lent.split()) <= {"/store/base/objects", "/store/task/objects"}
    # It is in the store of its own task, and in no other.
    for number, there in ((attacked.other, True), (attacked.task.id, False)):
        objects = f"/var/lib/cofferdam/tasks/{number}/store.git/objects"
        result = run("env", f"GIT_ALTERNATE_OBJECT_DIRECTORIES={objects}", "git", "-c", "safe.directory=*", f"--git-dir={attacked.repository.directory}/.git",
                     "cat-file", "-t", attacked.other_candidate, check=False)
        assert (result.returncode == 0) == there


# --- (6) what a writer plants

def test_what_a_writer_plants_in_its_clone_takes_effect_nowhere(attacked):
    works = told(attacked.transcripts, "PLANTED")
    assert {name for name, worked in works.items() if not worked} == set(), "Git obeys all of it where it is planted"
    ran = [entry["MESSAGE"] for entry in attacked.journal.entries() if attacked.planted in str(entry.get("MESSAGE", ""))]
    assert ran == []
    directory = attacked.repository.directory
    assert list(directory.rglob(attacked.planted)) == []
    git = attacked.repository.git
    assert git("rev-list", "--count", attacked.landed) == "3", "neither shallow nor grafts cut the history"
    assert git("rev-parse", f"{attacked.landed}^") == attacked.base
    assert attacked.landed == attacked.candidate
    names = set(git("ls-tree", "-r", "--name-only", attacked.landed).split())
    assert names == {"greet.c", "greet.h", "main.c", "Makefile", ".gitignore", "notes.txt", "instant.txt", "told.txt", "planted.sh", ".gitattributes",
                     ".env", ".envrc", ".gitconfig", ".mailmap"} | {name for name in names if name.startswith(".husky/")}
    assert not any("evil" in name or "lent" in name for name in names)
    # The checkout is what the commit says, byte for byte, in spite of attributes and filters.
    for name in names:
        blob = git("rev-parse", f"{attacked.landed}:{name}")
        assert git("hash-object", "--no-filters", name) == blob, name
    assert git("log", "-1", "--no-use-mailmap", "--format=%an <%ae>", attacked.landed) == "Carol Example <carol@example.org>"
    # And the owner's Git does obey: what was planted would have run.
    git("status", check=False)
    assert list(directory.rglob(attacked.planted)) != []


def test_a_redirected_gitfile_is_refused_and_the_writer_is_told(attacked):
    refused = [event[4] for event in attacked.events if event[3] == "import-refused"]
    assert [event["code"] for event in refused] == ["RepositoryUnsupported"]
    assert ".git is a file" in refused[0]["words"]
    assert attacked.task.Round == 1


@pytest.mark.parametrize("planted, word", [("shallow", "shallow"), ("objects/info/alternates", "alternates")])
def test_an_owners_repository_that_is_cut_or_borrows_is_refused(cofferd, make_repository, planted, word):
    repository = make_repository("carol")
    head = repository.commit("Again", **{"again.txt": "again\n"})
    repository.write(f".git/{planted}", head + "\n")
    carol = Person("carol")
    with pytest.raises(CallError) as refused:
        carol.add_project(repository)
    carol.close()
    assert refused.value.name == "RepositoryUnsupported" and word in refused.value.message


# --- (2) libraries

def test_a_preloaded_library_runs_in_the_sandbox_and_nowhere_as_root(attacked):
    # It is loaded, by the agent and by the gate's command, as the sandbox's uid; and as root it would be heard.
    loaded = [int(uid) for turn in all_told(attacked.told, "KEYS") for uid in re.findall(r"uid=(\d+) ", turn["/home/agent/preloaded"])]
    assert len(loaded) > 10 and len(set(loaded)) == 1 and loaded[0] >= 0x7A000000
    run("systemd-run", "--wait", "--quiet", f"--setenv=LD_PRELOAD={PROGRAMS}/preload.so", "/bin/true")
    heard = [entry for entry in attacked.journal.entries() if str(entry.get("MESSAGE", "")).startswith("preloaded-library")]
    assert len(heard) == 1 and heard[0]["_UID"] == "0", "the one of systemd-run, which shows that it would be heard"
    Path("/run/preloaded").unlink()
    Path("/var/tmp/preloaded").unlink()
    for place in ("/run/cofferdam/preloaded", "/var/lib/cofferdam/preloaded"):
        Path(place).unlink()


# --- (3) listening

def test_bob_hears_numbers_alone_and_finds_nothing(attacked):
    heard = attacked.heard + "\n" + "\n".join(text for text in attacked.unicast if re.match(r"Type:\s+signal", text))
    ours = [text for text in re.split(r"(?m)^Type:", heard) if f"interface -> '{NAME}" in text or "path -> objectpath '/org/cofferdam" in text]
    assert len(ours) > 10, "it is told that tasks change"
    for text in ours:
        assert "member -> 'TaskChanged'" in text and "signature -> signature 'tt'" in text
    for word in (attacked.secret, attacked.planted, "instant.txt", attacked.base, attacked.candidate, str(attacked.repository.directory), *attacked.keys):
        assert word not in heard and word not in "".join(attacked.unicast)
    for tries, listed in attacked.bob:
        assert {name: got for name, got in tries.items() if got != "UnknownObject"} == {}
        assert attacked.secret not in listed and f"/task/{attacked.task.id}" not in listed and "attacked" not in listed
