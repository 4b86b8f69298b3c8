"""Agents that misbehave and endpoints that do not answer: each ends in a named reason and a sentence that says what, why and what
to do, loses nothing, and goes on when it is mended.

The table below says how each case is made and what must be said; everything decides by policy, so that one `coffer retry` is all
there is between the trouble and the commit in the owner's repository.
"""

import re
import socket
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import TESTS, login_command, own_limits, reload_cofferd, run
from moments import until as wait
from people import CallError, variants
from people import request as once
from ports import free_port
from repository import Repository
from units import active
from yard import carol  # noqa: F401

pytestmark = pytest.mark.deadline(200)
PROGRAM = Path("/opt/agents/bin/cofferdam-frail")
INSTANT = TESTS / "agents" / "instant.sh"


def put(path, text, mode=0o644):
    """Writes a file at once, as it is while something runs from it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name("." + path.name + ".new")
    fresh.write_bytes(text if isinstance(text, bytes) else text.encode())
    fresh.chmod(mode)
    fresh.rename(path)


def coffer(*words, check=True):
    return run(*login_command("carol", ["coffer", *words]), check=check)


@pytest.fixture(scope="module")
def repository():
    directory = f"/home/carol/trouble-{uuid.uuid4().hex[:8]}"
    yield Repository.create("carol", directory)
    run("rm", "-rf", "--one-file-system", directory)


@pytest.fixture(scope="module")
def project(carol, repository, instant_agent):
    path = carol.add_project(repository, test=["true"], agents={role: "instant" for role in ("planner", "writer", "reviewer")},
                             policy={"plan": "auto", "landing": "auto"})
    yield path
    carol.end_project(path)


@pytest.fixture(scope="module")
def frail(instant_agent):
    """The agent "frail": the instant one until something else is put in its place."""
    description = Path("/etc/cofferdam/agents/frail.toml")
    text = (TESTS / "agents" / "instant.toml").read_text(encoding="utf-8")
    put(description, text.replace("cofferdam-instant", "cofferdam-frail").replace('"Instant"', '"Frail"'))
    reload_cofferd()
    yield "frail"
    PROGRAM.unlink(missing_ok=True)
    description.unlink()
    reload_cofferd()


@dataclass
class Bad:
    """An agent that is bad in one way."""

    name: str
    script: str | None  # None: it is not there
    code: str
    words: list = field(default_factory=list)
    parked: str = "blocked"


def python(text):
    return "#!/usr/bin/python3\nimport os, sys\n" + text


AGENTS = [
    Bad("not-there", None, "NoAgent", ["Frail", str(PROGRAM), "is not there", "coffer agent list"]),
    Bad("fails-at-start", "#!/bin/sh\necho 'no licence on this machine' >&2\nexit 1\n", "turn-failed",
        ["planner's turn", "Frail ended with exit status 1", "no licence on this machine"]),
    Bad("fails-without-a-word", "#!/bin/sh\nexit 3\n", "turn-failed", ["Frail", "exit status 3"]),
    Bad("cannot-be-run", "no program at all\n\x7f", "turn-failed", ["Frail"]),
    Bad("binary-garbage", python("os.write(1, os.urandom(300000)); os.write(2, os.urandom(300000))\n"), "turn-failed", ["Frail", "coffer log"]),
    Bad("broken-json", python("for i in range(5000): os.write(1, b'{\"type\":\\n\\xff\\xfe{\"a\\n[1,2\\n{\"type\": \"end\\x00\"}\\n')\n"),
        "turn-failed", ["Frail", "without saying that its turn was over"]),
    Bad("dies", "#!/bin/sh\nkill -SEGV $$\n", "turn-failed", ["Frail", "by signal SEGV"]),
]


def told(task):
    """What `coffer show` says, on one line."""
    return re.sub(r"\s+", " ", coffer("show", str(task.id)).stdout)


def lands(task, repository):
    task.until("done", seconds=60)
    assert f"Coffer-Task: {task.id}" in repository.git("log", "-1", "--format=%B")
    assert repository.git("status", "--porcelain") == ""


@pytest.mark.parametrize("bad", AGENTS, ids=lambda bad: bad.name)
def test_agent_that_misbehaves_is_told_and_the_task_goes_on_when_it_is_mended(carol, project, repository, frail, bad):
    if bad.script is None:
        # It goes away while the task waits: without it there would be no task.
        put(PROGRAM, INSTANT.read_bytes(), 0o755)
        task = carol.create_task(project, "Say more", agents={"writer": "frail"}, policy={"plan": "ask"})
        task.until("plan-ready")
        PROGRAM.unlink()
        with pytest.raises(CallError) as refused:
            carol.create_task(project, "Say more", agents={"writer": "frail"})
        assert refused.value.name == bad.code and all(words in refused.value.message for words in bad.words)
        task.accept_plan()
    else:
        put(PROGRAM, bad.script, 0o755)
        task = carol.create_task(project, "Say more", agents={"planner": "frail"})
    assert task.until("parked") == bad.parked
    assert task.Waiting[0] == bad.code
    shown = told(task)
    for words in bad.words:
        assert words in shown, shown
    assert f"coffer retry {task.id}" in shown
    put(PROGRAM, INSTANT.read_bytes(), 0o755)
    coffer("retry", str(task.id))
    lands(task, repository)


def serve(port, *options):
    """Starts the scripted model, and waits until it answers."""
    unit = f"trouble-model-{port}"
    run("systemd-run", "--quiet", "--collect", f"--unit={unit}", "python3", TESTS / "model" / "serve.py", "--port", port, *options)
    scheme = "https" if "--tls" in options else "http"
    run("curl", "--silent", "--insecure", "--fail", "--retry", "100", "--retry-delay", "1", "--retry-max-time", "30", "--retry-connrefused",
        f"{scheme}://127.0.0.1:{port}/v1/models")
    return unit


class Endpoint:
    """A place with models that behaves as a case wants: the model's name is the case's, its scenario a file that can be changed."""

    key = uuid.uuid4().hex

    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "log"
        self.ports = {name: free_port() for name in ("steady", "closed", "forged", "silent")}
        self.units = []
        self.paths = {}
        self.well = (TESTS / "model" / "scenarios" / "text-file.py").read_text(encoding="utf-8")

    def options(self):
        return "--key", self.key, "--scenarios", self.folder, "--log", self.log

    def url(self, name):
        return f"{'https' if name == 'forged' else 'http'}://127.0.0.1:{self.ports[name]}/v1"

    def answers(self, model, step):
        put(self.folder / f"{model}.py", f"BRANCHES = [{{'match': '', 'steps': [{step!r}] * 9}}]\n")

    def is_well(self, model, agent):
        if agent == "codex":
            put(self.folder / f"{model}.py", self.well)
        else:
            self.answers(model, {"text": "I am."})

    def start(self, name, *more):
        self.units.append(serve(self.ports[name], *self.options(), *more))


@pytest.fixture(scope="module")
def endpoint(carol, tmp_path_factory):
    it = Endpoint(tmp_path_factory.mktemp("endpoint"))
    it.start("steady")
    certificate, key = it.folder / "certificate", it.folder / "key"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=somebody else",
        "-keyout", key, "-out", certificate)
    it.start("forged", "--tls", certificate, key)
    silent = socket.create_server(("127.0.0.1", it.ports["silent"]))  # takes connections and says nothing
    addresses = ", ".join(f'"127.0.0.1:{port}"' for port in it.ports.values())
    put(Path("/etc/cofferdam/providers/trouble.toml"),
        f'title = "Trouble"\nkinds = ["openai-responses"]\nbase-url = "{it.url("steady")}"\nallow-addresses = [{addresses}]\n')
    reload_cofferd()
    it.paths = {name: carol.add_provider(name, "trouble", it.url(name), it.key) for name in it.ports}
    yield it
    for path in it.paths.values():
        carol.call(path, "Provider", "Remove", "(a{sv})", ({},))
    Path("/etc/cofferdam/providers/trouble.toml").unlink()
    reload_cofferd()
    silent.close()
    for unit in it.units:
        run("systemctl", "stop", unit)


def error(status, kind="error", message="no", **headers):
    return {"error": {"status": status, "type": kind, "message": message, "headers": {name.replace("_", "-"): text for name, text in headers.items()}}}


CALLER = f"""#!/bin/sh
# An agent that asks its model once, without the patience of a real one.
curl --silent --show-error --fail --no-buffer --header "Authorization: Bearer $KEY" --data '{{"model": "'"$MODEL"'", "stream": true,
"input": [{{"role": "user", "content": "Are you there?"}}]}}' "$ENDPOINT/v1/responses" >/dev/null || exit 1
exec {PROGRAM.with_name("cofferdam-instant")} "$@"
"""


@pytest.fixture(scope="module")
def caller(instant_agent):
    program, description = PROGRAM.with_name("cofferdam-caller"), Path("/etc/cofferdam/agents/caller.toml")
    text = (TESTS / "agents" / "instant.toml").read_text(encoding="utf-8")
    environment = '\n[environment]\nKEY = "{key}"\nMODEL = "{model}"\nENDPOINT = "{endpoint}"\n'
    put(program, CALLER, 0o755)
    put(description, text.replace("cofferdam-instant", "cofferdam-caller").replace('"Instant"', '"Caller"')
        .replace('["none"]', '["openai-responses"]').replace("\n[output]", environment + "\n[output]"))
    reload_cofferd()
    yield "caller"
    program.unlink()
    description.unlink()
    reload_cofferd()


@dataclass
class Answer:
    """What an endpoint does to who asks."""

    name: str
    code: str
    words: list
    parked: str
    step: dict = None  # what it answers; None: the provider of that name does it by itself
    provider: str = "steady"
    agent: str = "caller"


ANSWERS = [
    Answer("says-401", "auth-failed", ["steady", "HTTP 401", "coffer provider key steady"], "agent-paused",
           error(401, "invalid_api_key", "Incorrect API key provided"), agent="codex"),
    Answer("says-403", "auth-failed", ["steady", "HTTP 403", "coffer provider key steady"], "agent-paused", error(403, "permission_error")),
    Answer("says-429", "rate-limited", ["steady", "limit", "HTTP 429", "coffer retry"], "quota", error(429, "rate_limit_exceeded"), agent="codex"),
    Answer("says-500", "provider-unreachable", ["steady", "HTTP 500", "coffer retry"], "retry", error(500, "server_error"), agent="codex"),
    Answer("is-overloaded", "provider-unreachable", ["steady", "HTTP 503", "coffer retry"], "retry", error(503, "overloaded")),
    Answer("has-no-such-model", "turn-failed", ["steady", "HTTP 404"], "blocked", error(404, "model_not_found", "no such model")),
    Answer("cuts", "provider-unreachable", ["steady", "middle", "coffer retry"], "retry", {"cut": True}),
    Answer("redirects", "turn-failed", ["steady", "sent elsewhere", "is not followed"], "blocked", error(307, Location="http://127.0.0.1:1/v1/responses")),
    Answer("refuses", "provider-unreachable", ["closed", "cannot be reached", "coffer retry"], "retry", provider="closed"),
    Answer("forged", "provider-unreachable", ["forged", "certificate", "coffer retry"], "retry", provider="forged"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.name)
def test_endpoint_that_does_not_serve_is_told_and_the_task_goes_on_when_it_does(carol, project, repository, endpoint, caller, answer):
    if answer.step:
        endpoint.answers(answer.name, answer.step)
    task = carol.create_task(project, "Add a text file COFFERDAM.txt.", agents={"planner": f"{answer.agent}/{answer.name}@{answer.provider}"})
    parked = task.until("parked", seconds=60)
    assert (parked, task.Waiting[0]) == (answer.parked, answer.code)
    shown = told(task)
    for words in answer.words:
        assert words in shown, shown
    assert (task.Waiting[2] > 0) == (answer.parked == "retry"), "what passes is tried again by itself"
    if answer.step is None:
        carol.call(endpoint.paths[answer.provider], "Provider", "Set", "(a{sv})", (once() | variants({"base-url": endpoint.url("steady")}),))
        run(*login_command("carol", ["coffer", "provider", "key", answer.provider]), input=endpoint.key)
    endpoint.is_well(answer.name, answer.agent)
    coffer("retry", str(task.id))
    lands(task, repository)


def test_what_a_provider_says_of_its_limit_is_waited_for_and_goes_on_by_itself(carol, project, repository, endpoint, caller):
    endpoint.answers("comes-back", error(429, "rate_limit_exceeded", retry_after="1"))
    task = carol.create_task(project, "Add a text file COFFERDAM.txt.", agents={"planner": "caller/comes-back@steady"})
    assert task.until("parked", seconds=60) == "quota"
    code, words, until = task.Waiting
    assert code == "rate-limited" and "goes on by itself" in words
    # Not sooner than the limit of such waits, whatever the provider says.
    parked = next(event for event in reversed(task.events()) if event[3] == "parked")
    assert 9_000_000 < until - parked[2] < 12_000_000, (until, parked)
    endpoint.is_well("comes-back", "caller")
    wait(lambda: task.State == "done")
    lands(task, repository)


@pytest.fixture(scope="module")
def settings():
    """own_limits() of all tests here."""
    with own_limits() as say:
        yield say


@pytest.fixture(scope="module", autouse=True)
def endless(request, carol, settings):
    """The two that take their whole minute begin before everything else, and are looked at last."""
    wanted = {"endless", "silent"} & {item.callspec.id for item in request.session.items if getattr(item, "callspec", None)}
    if not wanted:
        return {}
    settings("turn-minutes = 1\ntasks-at-once = 4")
    project, endpoint = request.getfixturevalue("project"), request.getfixturevalue("endpoint")
    tasks = {"endless": carol.create_task(project, "hang-plan"),
             "silent": carol.create_task(project, "Say more", agents={"planner": f"{request.getfixturevalue('caller')}/silent@silent"})}
    for task in tasks.values():
        wait(lambda unit=f"coffer-{task.id}-0-planner-1": active(unit))
    settings("tasks-at-once = 4")
    assert endpoint
    return tasks


@pytest.mark.parametrize("which, words", [
    pytest.param("endless", ["Instant did not end in time and was stopped"], id="endless"),
    pytest.param("silent", ["Caller did not end in time and was stopped", "waiting for an answer of the provider silent"], id="silent")])
def test_turn_without_an_end_is_stopped_when_its_time_is_over(endless, carol, which, words):
    task = endless[which]
    assert task.until("parked", seconds=90) == "blocked"
    assert task.Waiting[0] == "turn-timeout", task.Waiting
    shown = told(task)
    for each in [*words, f"coffer retry {task.id}", "turn-minutes"]:
        assert each in shown, shown
    task.cancel()
