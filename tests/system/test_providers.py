"""Whose key a task's turns are paid with, and how much of it."""

import pytest
from conftest import run
from people import CallError, Person, request, variants
from units import active

pytestmark = pytest.mark.deadline(400)


@pytest.fixture
def people():
    opened = []

    def open_as(user):
        opened.append(Person(user))
        return opened[-1]
    yield open_as
    for person in opened:
        person.close()


@pytest.fixture
def machines_provider(cofferd, scripted_model, people):
    """The machine's provider with the scripted model behind it, and root, whose act it is."""
    root = people("root")
    kind = "scripted-" + scripted_model.url.removeprefix("http://127.0.0.1:").removesuffix("/v1")
    path = root.add_provider("common", kind, scripted_model.url, scripted_model.key, machine=True)
    yield root, path
    root.call(path, "Provider", "Remove", "(a{sv})", ({},))


def spenders(root, path, *names):
    root.call(path, "Provider", "Set", "(a{sv})", (request() | variants({"spenders": list(names)}),))


def task_with_a_model(person, make_repository, model="text-file", **options):
    repository = make_repository(person.user)
    agents = {role: f"codex/{model}" for role in ("planner", "writer", "reviewer")}
    project = person.add_project(repository, test=["grep -q '^finished' COFFERDAM.txt"], agents=agents)
    return person.create_task(project, "Add a text file COFFERDAM.txt that says that a task was here.", **options)


def retry(task, **options):
    task.person.call(task.path, "Task", "Retry", "(a{sv})", (request() | variants(options),))


def test_the_machines_key_is_spent_by_who_is_on_its_list(machines_provider, scripted_model, people, make_repository):
    root, provider = machines_provider
    carol = people("carol")
    assert carol.properties(provider, "Provider")["Spenders"] == []
    with pytest.raises(CallError) as refused:
        task_with_a_model(carol, make_repository)
    assert refused.value.name == "NoProvider" and "coffer provider allow" in refused.value.message
    spenders(root, provider, "%cofferdam")
    assert carol.properties(provider, "Provider")["Spenders"] == ["%cofferdam"]
    task = task_with_a_model(carol, make_repository)
    # Each turn looks again.
    task.until("plan-ready", seconds=200)
    asked = len(scripted_model.requests())
    spenders(root, provider, "alice", "%nogroup")
    task.accept_plan()
    assert task.until("parked", seconds=120) == "blocked", "others may, she may not"
    assert task.Waiting[0] == "NoProvider" and "coffer provider allow" in task.Waiting[1]
    assert len(scripted_model.requests()) == asked
    task.cancel()


def test_who_may_spend_is_no_users_to_say(machines_provider, people):
    root, provider = machines_provider
    carol = people("carol")
    for person, names, error in ((carol, ["carol"], "AccessDenied"), (root, ["nobody-of-that-name"], "NotFound"),
                                 (root, ["%"], "InvalidArgument")):
        with pytest.raises(CallError) as refused:
            spenders(person, provider, *names)
        assert refused.value.name == error
    own = carol.manager("AddProvider", "(ssa{sv})", ("own-one", "openai-chat", {}))[0]
    with pytest.raises(CallError) as refused:
        spenders(carol, own, "alice")
    assert refused.value.name == "InvalidArgument"
    carol.call(own, "Provider", "Remove", "(a{sv})", ({},))


def test_a_key_in_the_clear_is_refused_where_no_administrator_pointed(cofferd, scripted_model, people):
    carol = people("carol")
    kind = "scripted-" + scripted_model.url.removeprefix("http://127.0.0.1:").removesuffix("/v1")
    with pytest.raises(CallError) as refused:
        carol.manager("AddProvider", "(ssa{sv})", ("clear", kind, variants({"base-url": "http://models.example.org/v1"})))
    assert refused.value.name == "InvalidArgument"
    for words in ("no TLS", "allow-addresses", f"{kind}.toml", "https://"):
        assert words in refused.value.message, refused.value.message
    provider = carol.add_provider("clear", kind, scripted_model.url, scripted_model.key)
    try:
        with pytest.raises(CallError) as refused:
            carol.call(provider, "Provider", "Set", "(a{sv})", (request() | variants({"base-url": "http://127.0.0.1:1/v1"}),))
        assert refused.value.name == "InvalidArgument" and "no TLS" in refused.value.message
        kept = carol.properties(provider, "Provider")
        assert (kept["BaseUrl"], kept["HasKey"]) == (scripted_model.url, True), "and the key is not dropped"
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))


def test_a_budget_cuts_a_turn_off_and_a_larger_one_goes_on(cofferd, scripted_model, people, make_repository):
    carol = people("carol")
    kind = "scripted-" + scripted_model.url.removeprefix("http://127.0.0.1:").removesuffix("/v1")
    provider = carol.add_provider("paid", kind, scripted_model.url, scripted_model.key)
    try:
        task = task_with_a_model(carol, make_repository, budget=1000)
        assert task.until("parked", seconds=120) == "budget", task.Waiting
        assert task.Budget == 1000 and "retry" in task.Actions
        retry(task, budget=100_000_000)
        task.until("plan-ready", seconds=200)
        assert task.Budget == 100_000_000
        task.cancel()
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))


def test_no_turn_begins_when_the_budget_is_used_up(cofferd, instant_agent, people, make_repository, as_user):
    carol = people("carol")
    agents = {role: "instant" for role in ("planner", "writer", "reviewer")}
    project = carol.add_project(make_repository("carol"), test=["make test"], agents=agents, budget=500)
    task = carol.create_task(project, "Say more")
    task.until("plan-ready", seconds=120)
    task.accept_plan()
    assert task.until("parked", seconds=60) == "budget", "the planner's turn cost more than there was"
    assert [run_ for run_ in task.runs() if run_["Role"] == "writer"] == []
    as_user("carol", "coffer", "retry", str(task.id), "--budget", "0")
    task.until("ready", seconds=120)
    assert task.Budget == 0
    task.cancel()


def test_a_gateway_that_starts_again_gets_no_key_of_another_url(cofferd, scripted_model, people, make_repository, until_unit, bus):
    """In the middle of a turn the provider gets another URL and another key; then the gateway dies, and PID 1 starts it again with the
    settings of before."""
    carol = people("carol")
    kind = "scripted-" + scripted_model.url.removeprefix("http://127.0.0.1:").removesuffix("/v1")
    provider = carol.add_provider("moved", kind, scripted_model.url, scripted_model.key)
    try:
        task = task_with_a_model(carol, make_repository, model="held-file", policy={"plan": "auto"})
        gateway = f"coffer-{task.id}-0-writer-1-gateway.service"
        bus.until(lambda: active(gateway), seconds=120, sender="org.freedesktop.systemd1")
        carol.call(provider, "Provider", "Set", "(a{sv})", (request() | variants({"base-url": "https://203.0.113.1/v1"}),))
        carol.set_key(provider, "a-key-for-elsewhere")
        run("systemctl", "kill", "--signal=SIGKILL", gateway)
        assert until_unit(gateway, "failed", "inactive") in ("failed", "inactive")
        assert run("systemctl", "show", "--property=ExecMainStatus", "--value", gateway).stdout.strip() == "243", "EXIT_CREDENTIALS"
        task.cancel()
    finally:
        carol.call(provider, "Provider", "Remove", "(a{sv})", ({},))
