"""Notifications on a desktop: cofferd's signals on the system bus, dunst on the session's, one service between them."""

import os

import pytest
from conftest import run
from desktop import TERMINAL, TEXT_SERVER, TOKEN_SERVER, Desktop, Watch
from gi.repository import GLib
from moments import until
from people import NAME, ROOT, Person

pytestmark = pytest.mark.deadline(300)
AGENTS = {"planner": "instant", "writer": "instant", "reviewer": "instant"}
UNIT = "coffer-notify.service"


@pytest.fixture
def desktop():
    it = Desktop("carol")
    yield it
    it.close()


@pytest.fixture
def watch(desktop):
    it = Watch(desktop)
    yield it
    it.close()


class Owner(Person):
    """carol, whose projects go with her; after cofferd was restarted she needs no new connection."""

    project = None

    def new(self, words, **options):
        return self.create_task(self.project, words, **options)


@pytest.fixture
def carol(cofferd, instant_agent, make_repository):
    person = Owner("carol")
    person.project = person.add_project(make_repository("carol"), build=["make"], test=["make test"], agents=AGENTS)
    yield person
    for row in person.manager("ListTasks", "(a{sv}tu)", ({}, 0, 100))[0]:
        if row["State"] not in ("done", "failed", "cancelled"):
            person.call(f"{ROOT}/task/{row['Id']}", "Task", "Cancel", "(a{sv})", ({},))
    person.call(person.project, "Project", "Remove", "(a{sv})", ({},))
    person.close()


@pytest.fixture
def notifications(desktop, cofferd):
    desktop.run("coffer", "notify", "on")


def summary(task, what):
    return f" {task.id}: {what}"


def test_it_is_off_until_somebody_switches_it_on(desktop):
    assert desktop.systemctl("is-enabled", UNIT, check=False).stdout.strip() == "disabled"
    assert desktop.systemctl("is-active", UNIT, check=False).stdout.strip() == "inactive"
    # Nor does whoever switches on what is to be on by default.
    desktop.systemctl("preset", UNIT)
    assert desktop.systemctl("is-enabled", UNIT, check=False).stdout.strip() == "disabled"
    shown = desktop.run("coffer", "notify", "status").stdout
    assert "off" in shown
    desktop.run("coffer", "notify", "on")
    assert desktop.show(UNIT, "ActiveState") == "active"
    assert desktop.systemctl("is-enabled", UNIT).stdout.strip() == "enabled"
    assert '"Active" : "active"' in desktop.run("coffer", "notify", "status", "--json").stdout
    desktop.run("coffer", "notify", "off")
    assert desktop.show(UNIT, "ActiveState") == "inactive"
    assert desktop.systemctl("is-enabled", UNIT, check=False).stdout.strip() == "disabled"


def test_help_has_an_example_and_another_machine_has_no_desktop_here(desktop):
    assert "coffer notify on" in desktop.run("coffer", "notify", "--help").stdout
    refused = desktop.run("coffer", "-H", "elsewhere", "notify", "on", check=False)
    assert refused.returncode == 2 and "not to another machine" in refused.stderr
    assert desktop.systemctl("is-enabled", UNIT, check=False).stdout.strip() == "disabled"


def test_what_waits_is_shown_and_goes_when_it_does_not_wait(desktop, watch, notifications, carol):
    task = carol.new("Say more")
    plan = watch.notify(summary(task, "plan to read"), seconds=90)
    asked = next(m for m in watch.messages if m.get("member") == "GetCapabilities")
    assert watch.messages.index(asked) < watch.messages.index(plan.message), "what the server can show is asked first"
    assert (plan.name, plan.replaces, plan.body, plan.urgency, plan.expires) == ("Cofferdam", 0, "Say more", 1, 0)
    assert plan.actions == {"default": "Show", "show": "Show", "later": "Later"}, "nothing that decides"
    assert desktop.displayed() == 1
    task.accept_plan()
    watch.closing(plan)
    work = watch.notify(summary(task, "work to review"), seconds=120)
    assert desktop.displayed() == 1
    task.accept_work()
    watch.closing(work)
    task.until("done", seconds=60)
    assert watch.notifies() == [plan.summary, work.summary], "each state once"


def test_text_of_an_agent_is_text(desktop, watch, notifications, carol):
    task = carol.new("ask-rude")
    asks = watch.notify(summary(task, "asks you something"), seconds=90)
    assert "rude" not in asks.summary
    assert "&lt;b&gt;bold&lt;/b&gt; &amp;amp; &lt;a href=&quot;http://example.org/&quot;&gt;" in asks.body
    assert "<" not in asks.body
    assert not [letter for letter in asks.body if letter != "\n" and (ord(letter) < 32 or letter in "\u202e\u200b")]
    assert "U+001B" in asks.body and "U+202E" in asks.body
    # What dunst makes of it is again what the agent wrote, letter by letter.
    desktop.run("dunstctl", "close-all")
    watch.until(lambda m: m.get("member") == "NotificationClosed")
    history = desktop.run("dunstctl", "history").stdout
    assert "&lt;b&gt;bold" in history


def test_a_notification_server_that_starts_again_is_shown_everything_once(desktop, watch, notifications, carol):
    one, two = carol.new("Say more"), carol.new("Say more")
    first = watch.notify(summary(one, "plan to read"), seconds=120)
    watch.notify(summary(two, "plan to read"), seconds=120)
    desktop.run("dunstctl", "close", first.number)
    watch.until(lambda m: m.get("member") == "NotificationClosed")
    mark = len(watch.messages)
    desktop.systemctl("restart", "dunst.service")
    again = watch.notify(summary(two, "plan to read"), after=mark)
    assert again.replaces == 0
    two.accept_plan()
    watch.closing(again)
    told = [m["payload"]["data"][3] for m in watch.messages[mark:] if m.get("member") == "Notify"]
    assert [text for text in told if text.endswith("plan to read")] == [again.summary], "once, and not what was closed by hand"


def test_a_server_without_buttons_and_markup_gets_plain_text_and_the_command(desktop, watch, notifications, carol):
    desktop.systemctl("stop", "dunst.service")
    script = desktop.write("text-server.py", TEXT_SERVER)
    desktop.run("systemd-run", "--user", "--quiet", "--unit=text-server", "--service-type=dbus",
                "--property=BusName=org.freedesktop.Notifications", "python3", script)
    try:
        task = carol.new("ask-rude")
        asks = watch.notify(summary(task, "asks you something"), seconds=90)
        assert asks.actions == {}
        assert "<b>bold</b> &amp; <a href=" in asks.body and asks.body.endswith(f"\ncoffer show {task.id}")
        assert "\x1b" not in asks.body
    finally:
        desktop.systemctl("stop", "text-server.service")


def test_no_notification_server_is_no_reason_to_end(desktop, watch, notifications, carol):
    pid = desktop.show(UNIT, "MainPID")
    desktop.systemctl("mask", "--runtime", "dunst.service")
    desktop.systemctl("stop", "dunst.service")
    try:
        task = carol.new("Say more")
        task.until("plan-ready")
        watch.until(lambda m: m["type"] == "error")
    finally:
        desktop.systemctl("unmask", "--runtime", "dunst.service")
    assert watch.notifies() == []
    desktop.systemctl("start", "dunst.service")
    watch.notify(summary(task, "plan to read"))
    assert desktop.show(UNIT, "MainPID") == pid


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_a_daemon_that_starts_again_is_listened_to_again(desktop, watch, notifications, carol, cofferd, how):
    task = carol.new("Say more")
    plan = watch.notify(summary(task, "plan to read"), seconds=90)
    if how == "restart":
        cofferd.restart()
    else:
        cofferd.kill()
        cofferd.start()
    task.accept_plan()
    watch.closing(plan)
    assert watch.notifies() == [plan.summary], "what is shown is not shown again"


def test_a_daemon_that_is_not_there_is_waited_for(desktop, watch, carol, cofferd):
    task = carol.new("Say more")
    task.until("plan-ready")
    cofferd.stop()
    desktop.run("coffer", "notify", "on")
    assert desktop.show(UNIT, "ActiveState") == "active"
    assert run("systemctl", "is-active", "cofferd.service", check=False).stdout.strip() == "inactive", "and not started"
    cofferd.start()
    watch.notify(summary(task, "plan to read"))


def test_later_is_quiet_until_the_task_changes(desktop, watch, notifications, carol, cofferd):
    task = carol.new("Say more")
    plan = watch.notify(summary(task, "plan to read"), seconds=90)
    desktop.press("Later")
    watch.until(lambda m: m.get("member") == "ActionInvoked" and m["payload"]["data"] == [plan.number, "later"])
    watch.until(lambda m: m.get("member") == "NotificationClosed")
    mark = len(watch.messages)
    # Neither another server nor another daemon makes it louder.
    desktop.systemctl("restart", "dunst.service")
    watch.until(lambda m: m.get("member") == "GetCapabilities", after=mark)
    cofferd.restart()
    task.accept_plan()
    watch.notify(summary(task, "work to review"), seconds=120)
    assert watch.notifies().count(plan.summary) == 1


def test_show_opens_a_terminal_that_outlives_the_notifier(desktop, watch, notifications, carol, until_file):
    opened = desktop.home / "opened"
    script = f'#!/bin/sh\necho "$$ $*" >"{opened}.new"; mv "{opened}.new" "{opened}"; exec sleep infinity\n'
    desktop.write("xdg-terminal-exec", script, "0755")
    run("install", "-m", "0755", desktop.home / "xdg-terminal-exec", "/usr/local/bin/xdg-terminal-exec")
    unit = None
    try:
        task = carol.new("Say more")
        watch.notify(summary(task, "plan to read"), seconds=90)
        desktop.run("dunstctl", "action")
        until_file(opened)
        pid, words = opened.read_text(encoding="utf-8").split(" ", 1)
        assert "coffer show" in words and words.strip().endswith(f"coffer {task.id}")
        unit = desktop.run("systemctl", "--user", "whoami", pid).stdout.strip()
        assert unit.startswith("app-coffer@") and desktop.show(unit, "Slice") == "app.slice"
        desktop.systemctl("stop", UNIT)
        assert desktop.show(unit, "ActiveState") == "active" and os.path.exists(f"/proc/{pid}")
    finally:
        run("rm", "-f", "/usr/local/bin/xdg-terminal-exec", opened)
        if unit:
            desktop.systemctl("stop", unit)


@pytest.fixture
def tokens(desktop):
    """A notification server that gives tokens; tokens(notification, "show", "token") presses a button."""
    desktop.systemctl("stop", "dunst.service")
    script = desktop.write("token-server.py", TOKEN_SERVER)
    desktop.run("systemd-run", "--user", "--quiet", "--unit=token-server", "--service-type=dbus",
                "--property=BusName=org.freedesktop.Notifications", "python3", script)
    server = "org.freedesktop.Notifications"
    yield lambda notification, key, token: desktop.run("busctl", "--user", "call", server, "/org/freedesktop/Notifications", server, "Press", "uss",
                                                       str(notification.number), key, token)
    desktop.systemctl("stop", "token-server.service")


@pytest.fixture
def terminal(desktop):
    """The user's terminal is tmux; terminal() is what it shows, or nothing while there is none."""
    path, command = desktop.write("xdg-terminal-exec", TERMINAL, "0755"), "/usr/local/bin/xdg-terminal-exec"
    run("install", "-m", "0755", path, command)
    yield lambda: desktop.run("tmux", "-S", desktop.home / "terminal", "capture-pane", "-p", check=False).stdout
    desktop.run("tmux", "-S", desktop.home / "terminal", "kill-server", check=False)
    run("rm", "-f", command, desktop.home / "terminal", desktop.home / "token")


def test_show_is_a_terminal_with_the_task_and_a_shell_that_comes_to_the_front(desktop, watch, notifications, carol, tokens, terminal):
    task = carol.new("Say more")
    plan = watch.notify(summary(task, "plan to read"), seconds=90)
    tokens(plan, "show", "token-of-this-press_1")
    until(lambda: f"coffer plan {task.id}" in terminal() and "$" in terminal())
    assert (desktop.home / "token").read_text(encoding="utf-8").strip() == "token-of-this-press_1"
    send = ["tmux", "-S", desktop.home / "terminal", "send-keys"]
    desktop.run(*send, f"clear; coffer plan {task.id} | cat; echo \"token <$XDG_ACTIVATION_TOKEN>\"", "Enter")
    until(lambda: "Acceptance criteria" in terminal() and "token <>" in terminal())


def test_what_is_no_token_is_not_passed_on(desktop, watch, notifications, carol, tokens, terminal):
    task = carol.new("Say more")
    plan = watch.notify(summary(task, "plan to read"), seconds=90)
    tokens(plan, "show", "two words\x1b[2J")
    until(lambda: f"coffer plan {task.id}" in terminal())
    assert (desktop.home / "token").read_text(encoding="utf-8") == ""


def test_retry_is_done_by_the_daemon_and_its_refusal_is_said(desktop, watch, notifications, carol, cofferd):
    task = carol.new("crash")
    plan = watch.notify(summary(task, "plan to read"), seconds=90)
    task.accept_plan()
    failed = watch.notify(summary(task, "does not go on"), seconds=120)
    assert failed.actions["retry"] and plan.number
    before = len(task.runs())
    desktop.press("Retry")
    watch.closing(failed)
    # The agent fails again, so it is told again.
    again = watch.notify(summary(task, "does not go on"), after=watch.messages.index(failed.message) + 1, seconds=120)
    assert len(task.runs()) == before + 1
    cofferd.stop()
    try:
        desktop.press("Retry")
        said = watch.notify(summary(task, "does not go on"), after=watch.messages.index(again.message) + 1)
        assert "cofferd is not there" in said.body
    finally:
        cofferd.start()


def test_who_is_logged_in_twice_is_told_once(desktop, watch, carol, as_user):
    """Two sessions, as at the desk and over ssh; both switch it on."""
    for active in (True, False):
        environment = {"XDG_RUNTIME_DIR": f"/run/user/{desktop.uid}", "DBUS_SESSION_BUS_ADDRESS": f"unix:path=/run/user/{desktop.uid}/bus"}
        as_user("carol", "coffer", "notify", "on", active=active, environment=environment)
    pids = run("pgrep", "--uid", str(desktop.uid), "--full", "coffer-notify$").stdout.split()
    assert len(pids) == 1
    task = carol.new("Say more")
    plan = watch.notify(summary(task, "plan to read"), seconds=90)
    task.accept_plan()
    watch.closing(plan)
    work = watch.notify(summary(task, "work to review"), seconds=120)
    assert watch.notifies() == [plan.summary, work.summary] and desktop.displayed() == 1


def test_without_a_terminal_show_says_what_to_type(desktop, watch, notifications, carol):
    task = carol.new("Say more")
    watch.notify(summary(task, "plan to read"), seconds=90)
    mark = len(watch.messages)
    desktop.run("dunstctl", "action")
    again = watch.notify(summary(task, "plan to read"), after=mark)
    assert again.body == f"Say more\nThere is no terminal to open. Type: coffer show {task.id}"


def test_what_is_shown_goes_with_the_notifier(desktop, watch, notifications, carol):
    task = carol.new("Say more")
    plan = watch.notify(summary(task, "plan to read"), seconds=90)
    desktop.run("coffer", "notify", "off")
    watch.closing(plan)
    assert desktop.show(UNIT, "Result") == "success"


def test_nobody_else_tells_it_anything(desktop, watch, notifications, carol):
    """bob sends alone to the notifier what cofferd and the bus would say: sd-bus lets that through a match by name."""
    task = carol.new("hang-plan")
    pid = int(desktop.show(UNIT, "MainPID"))
    bob = Person("bob")

    def ask(method, signature, values):
        return bob.call_bus(method, signature, values)

    try:
        mine = [name for name in ask("ListNames", "()", ()) if name.startswith(":")
                and ask("GetConnectionUnixProcessID", "(s)", (name,)) == pid]
        assert len(mine) == 1
        forged = {"Id": GLib.Variant("t", task.id), "Title": GLib.Variant("s", "forged"), "ProjectName": GLib.Variant("s", "forged"),
                  "State": GLib.Variant("s", "plan-ready"), "Actions": GLib.Variant("as", ["accept-plan"])}
        daemon = ask("GetNameOwner", "(s)", (NAME,))
        for path, interface, member, values in [
                (task.path, "org.freedesktop.DBus.Properties", "PropertiesChanged", ("(sa{sv}as)", (f"{NAME}.Task", forged, []))),
                (ROOT, "org.freedesktop.DBus.ObjectManager", "InterfacesAdded", ("(oa{sa{sv}})", (task.path, {f"{NAME}.Task": forged}))),
                ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", ("(sss)", (NAME, daemon, "")))]:
            bob.connection.emit_signal(mine[0], path, interface, member, GLib.Variant(*values))
        bob.connection.flush_sync(None)
    finally:
        bob.close()
    # Had it believed that cofferd went, it would not hear of what comes now.
    other = carol.new("Say more")
    watch.notify(summary(other, "plan to read"), seconds=90)
    assert watch.notifies() == [watch.notifies()[-1]] and "forged" not in str(watch.messages)


def test_it_is_exposed_little(desktop, notifications):
    shown = desktop.run("systemd-analyze", "--user", "security", "--no-pager", UNIT, check=False).stdout
    line = next(line for line in shown.splitlines() if "Overall exposure level" in line)
    # What a user's manager cannot take away (capabilities that nobody has) counts for the rest.
    assert float(line.split(":")[1].split()[0]) <= 3.2
    pid = desktop.show(UNIT, "MainPID")
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status", encoding="utf-8").read().splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and int(status["CapEff"], 16) == 0
    assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net"), "no network"
    assert desktop.run("nsenter", "--preserve-credentials", "--user", "--mount", f"--target={pid}", "touch", "/home/carol/touched", check=False).returncode != 0
