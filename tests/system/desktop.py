"""A person's desktop without a desktop: their own service manager, Xvfb, and dunst, which shows notifications there."""

import json
import os
import pwd
import select
import subprocess
import time
from pathlib import Path

import pytest
from conftest import WAIT_SECONDS, run

# What dunst asks which button of a notification is meant; it takes the one whose label is written in a file.
CHOOSER = """#!/bin/sh
grep -m1 -i "^#\\{0,1\\}$(cat "$HOME/chosen")"
"""

# A server that shows text and nothing else: no buttons, no markup. dunst cannot be one.
TEXT_SERVER = """
import dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib
NAME = "org.freedesktop.Notifications"
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
class Server(dbus.service.Object):
    number = 0
    @dbus.service.method(NAME, in_signature="", out_signature="as")
    def GetCapabilities(self):
        return ["body"]
    @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, summary, body, actions, hints, expires):
        self.number += 1
        return dbus.UInt32(replaces or self.number)
    @dbus.service.method(NAME, in_signature="u", out_signature="")
    def CloseNotification(self, number):
        self.NotificationClosed(number, 3)
    @dbus.service.signal(NAME, signature="uu")
    def NotificationClosed(self, number, reason):
        pass
bus = dbus.SessionBus()
name = dbus.service.BusName(NAME, bus)
server = Server(bus, "/org/freedesktop/Notifications")
GLib.MainLoop().run()
"""


# A server as Wayland's desktops have one: it gives whoever is pressed a token by which a window comes to the front. Anybody's
# word Press(number, key, token) is its user's.
TOKEN_SERVER = TEXT_SERVER.replace('return ["body"]', 'return ["body", "actions"]').replace("""    @dbus.service.signal(NAME, signature="uu")
""", """    @dbus.service.method(NAME, in_signature="uss", out_signature="")
    def Press(self, number, key, token):
        self.ActivationToken(number, token)
        self.ActionInvoked(number, key)
    @dbus.service.signal(NAME, signature="us")
    def ActivationToken(self, number, token):
        pass
    @dbus.service.signal(NAME, signature="us")
    def ActionInvoked(self, number, key):
        pass
    @dbus.service.signal(NAME, signature="uu")
""", 1)

# A terminal that can be read: tmux, which takes the command as terminals do.
TERMINAL = """#!/bin/sh
printenv XDG_ACTIVATION_TOKEN >"$HOME/token"
tmux -S "$HOME/terminal" -f /dev/null new-session -d -x 120 -y 40 "$@"
exec tmux -S "$HOME/terminal" wait-for never
"""


class Desktop:
    def __init__(self, user):
        self.user = user
        self.uid = pwd.getpwnam(user).pw_uid
        self.home = Path(f"/home/{user}")
        self.environment = {}
        run("loginctl", "enable-linger", user)
        run("systemctl", "start", f"user@{self.uid}.service")
        reader, writer = os.pipe()
        self.display = subprocess.Popen(self.command("Xvfb", "-displayfd", str(writer), "-screen", "0", "800x600x24", "-nolisten", "tcp"),
                                        pass_fds=[writer], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(writer)
        with os.fdopen(reader) as said:
            assert select.select([said], [], [], WAIT_SECONDS)[0], "Xvfb does not start"
            self.environment["DISPLAY"] = ":" + said.readline().strip()
        self.systemctl("set-environment", f"DISPLAY={self.environment['DISPLAY']}")
        self.write(".local/bin/choose", CHOOSER, "0755")
        configuration = Path("/etc/xdg/dunst/dunstrc").read_text(encoding="utf-8")
        self.write(".config/dunst/dunstrc", configuration.replace("dmenu = /usr/bin/dmenu -p dunst:", f"dmenu = {self.home}/.local/bin/choose"))
        self.systemctl("start", "dunst.service")

    def close(self):
        self.run("coffer", "notify", "off", check=False)
        self.systemctl("stop", "dunst.service", check=False)
        self.systemctl("unset-environment", "DISPLAY", check=False)
        self.display.terminate()
        self.display.wait(timeout=WAIT_SECONDS)

    def command(self, *words):
        runtime = f"/run/user/{self.uid}"
        settings = {"XDG_RUNTIME_DIR": runtime, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus", "HOME": str(self.home),
                    "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"} | self.environment
        return ["setpriv", "--reuid", self.user, "--regid", self.user, "--init-groups", "env", "-i", f"--chdir={self.home}",
                *(f"{name}={value}" for name, value in settings.items()), *map(str, words)]

    def run(self, *words, check=True, timeout=60):
        """A command in the session, as a terminal on the desktop would run it."""
        return run(*self.command(*words), check=check, timeout=timeout)

    def systemctl(self, *words, check=True):
        return self.run("systemctl", "--user", *words, check=check)

    def show(self, unit, name):
        return self.systemctl("show", f"--property={name}", "--value", unit).stdout.strip()

    def write(self, name, text, mode="0644"):
        path = self.home / name
        self.run("mkdir", "-p", path.parent)
        path.write_text(text, encoding="utf-8")
        run("chown", f"{self.user}:", path)
        run("chmod", mode, path)
        return path

    def press(self, label):
        """Chooses a button of the notifications that are shown, in dunst's own menu."""
        self.write("chosen", label)
        self.run("dunstctl", "context")

    def displayed(self):
        return int(self.run("dunstctl", "count", "displayed").stdout)


class Watch:
    """Everything that is said to and by the notification server, from now on."""

    def __init__(self, desktop):
        self.messages = []
        self.rest = b""
        self.process = subprocess.Popen(desktop.command(
            "busctl", "--user", "--json=short", "--match=interface='org.freedesktop.Notifications'", "--match=type='method_return'",
            "--match=type='error'", "monitor"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        # It does not say when it listens; it does when it hears what we say.
        for _ in range(WAIT_SECONDS):
            desktop.run("busctl", "--user", "emit", "/", "org.freedesktop.Notifications", "WatchBegins")
            if select.select([self.process.stdout], [], [], 1)[0]:
                break
        self.until(lambda m: m.get("member") == "WatchBegins")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def until(self, what, seconds=WAIT_SECONDS, after=0):
        """The first message from number `after` on for which `what` is true; it is asked once for each message."""
        end = time.monotonic() + seconds
        at = after
        while True:
            for number, message in list(enumerate(self.messages))[at:]:
                at = number + 1
                if what(message):
                    return message
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                said = "\n".join(str(message)[:300] for message in self.messages[-12:])
                pytest.fail(f"no such message after {seconds} s; the last were:\n{said}")
            piece = os.read(self.process.stdout.fileno(), 65536)
            assert piece, "the monitor ended"
            *lines, self.rest = (self.rest + piece).split(b"\n")
            self.messages += [json.loads(line) for line in lines if line.startswith(b"{")]

    def notify(self, summary, seconds=WAIT_SECONDS, after=0):
        """The first Notify whose summary ends so, as a Notification."""
        message = self.until(lambda m: m.get("member") == "Notify" and m["type"] == "method_call"
                             and m["payload"]["data"][3].endswith(summary), seconds, after)
        answer = self.until(lambda m: m["type"] == "method_return" and m.get("reply_cookie") == message["cookie"]
                            and m.get("destination") == message["sender"], seconds)
        return Notification(message, answer)

    def closing(self, notification, seconds=WAIT_SECONDS):
        return self.until(lambda m: m.get("member") == "CloseNotification" and m["payload"]["data"] == [notification.number], seconds)

    def notifies(self):
        return [m["payload"]["data"][3] for m in self.messages if m.get("member") == "Notify"]


class Notification:
    def __init__(self, message, answer):
        self.message = message
        self.number = answer["payload"]["data"][0]
        self.name, self.replaces, self.icon, self.summary, self.body, actions, hints, self.expires = message["payload"]["data"]
        self.actions = dict(zip(actions[::2], actions[1::2]))
        self.urgency = hints["urgency"]["data"]
