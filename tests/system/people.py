"""A person on the bus: a connection that the bus knows by that user's uid, as any program of theirs would have."""

import os
import pwd
import uuid

from gi.repository import Gio, GLib

NAME = "org.cofferdam.Cofferdam1"
ROOT = "/org/cofferdam/Cofferdam1"


class CallError(Exception):
    """A call that was refused: .name is the D-Bus error's last part, .message its sentence."""

    def __init__(self, error):
        self.full = Gio.DBusError.get_remote_error(error) or ""
        self.name = self.full.rsplit(".", 1)[-1]
        self.message = error.message.split(": ", 1)[-1]
        super().__init__(f"{self.name}: {self.message}")


class Person:
    def __init__(self, user):
        self.user = user
        self.projects = []
        entry = pwd.getpwnam(user)
        groups = os.getgrouplist(user, entry.pw_gid)
        old = os.getgroups()
        # The bus takes the identity from the socket at the moment it is connected.
        os.setgroups(groups)
        os.setegid(entry.pw_gid)
        os.seteuid(entry.pw_uid)
        try:
            address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SYSTEM, None)
            self.connection = Gio.DBusConnection.new_for_address_sync(
                address, Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(old)
        self.connection.set_exit_on_close(False)

    def close(self):
        """Ends what it added, unless the bus has gone meanwhile."""
        if self.connection.is_closed():
            return
        for project in self.projects:
            self.end_project(project)
        self.connection.close_sync(None)

    def call(self, path, interface, method, signature="()", values=(), timeout=60):
        try:
            answer = self.connection.call_sync(NAME, path, f"{NAME}.{interface}" if "." not in interface else interface, method,
                                               GLib.Variant(signature, values), None, Gio.DBusCallFlags.NONE, timeout * 1000, None)
        except GLib.Error as error:
            raise CallError(error) from None
        return answer.unpack()

    def answers(self, *calls, timeout=60):
        """Makes calls of the root object, (interface, method, signature, values) each, without waiting between them; gives (method, answer)
        in the order in which they were answered, the answer of a refused one as its CallError."""
        context, answered = GLib.MainContext.new(), []

        def arrived(connection, result, method):
            try:
                answered.append((method, connection.call_finish(result).unpack()))
            except GLib.Error as error:
                answered.append((method, CallError(error)))
        context.push_thread_default()
        try:
            for interface, method, signature, values in calls:
                self.connection.call(NAME, ROOT, f"{NAME}.{interface}", method, GLib.Variant(signature, values), None, Gio.DBusCallFlags.NONE,
                                     timeout * 1000, None, arrived, method)
            while len(answered) < len(calls):  # each call has an end of its own
                context.iteration(True)
        finally:
            context.pop_thread_default()
        return answered

    def call_bus(self, method, signature="()", values=()):
        """A call of the bus itself."""
        bus = "org.freedesktop.DBus"
        return self.connection.call_sync(bus, "/org/freedesktop/DBus", bus, method, GLib.Variant(signature, values), None,
                                         Gio.DBusCallFlags.NONE, 10000, None).unpack()[0]

    def manager(self, method, signature="()", values=(), timeout=60):
        return self.call(ROOT, "Manager", method, signature, values, timeout)

    def properties(self, path, interface):
        return self.call(path, "org.freedesktop.DBus.Properties", "GetAll", "(s)", (f"{NAME}.{interface}",))[0]

    def add_project(self, repository, **options):
        name = f"{os.path.basename(str(repository.directory)).lower()[:20]}-{uuid.uuid4().hex[:8]}"
        given = {"author-name": "Carol Example", "author-email": "carol@example.org"} | options
        self.projects.append(self.manager("AddProject", "(aysa{sv})", (str(repository.directory).encode(), name, variants(given)), timeout=120)[0])
        return self.projects[-1]

    def end_project(self, project):
        """Ends what is left of its tasks and forgets it, if that has not been done."""
        for row in self.manager("ListTasks", "(a{sv}tu)", (variants({"ended": False}), 0, 100))[0]:
            if row["Project"] != project:
                continue
            task = Task(self, row["Path"])
            if row["State"] in ("landing", "landed") and not row["Parked"]:
                task.until("done", "parked", seconds=60)
            else:
                task.cancel()
        if project in dict(self.call(ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")[0]):
            self.call(project, "Project", "Remove", "(a{sv})", ({},))

    def create_task(self, project, prompt, **options):
        path, _ = self.manager("CreateTask", "(osa{sv})", (project, prompt, variants(options)))
        return Task(self, path)

    def add_provider(self, name, kind, url, key, **options):
        path = self.manager("AddProvider", "(ssa{sv})", (name, kind, variants({"base-url": url} | options)))[0]
        self.set_key(path, key)
        return path

    def set_key(self, path, key):
        reader, writer = os.pipe()
        os.write(writer, key.encode())
        os.close(writer)
        descriptors = Gio.UnixFDList.new()
        handle = descriptors.append(reader)
        os.close(reader)
        try:
            self.connection.call_with_unix_fd_list_sync(NAME, path, f"{NAME}.Provider", "SetKey",
                                                        GLib.Variant("(ha{sv})", (handle, {})), None, Gio.DBusCallFlags.NONE,
                                                        60000, descriptors, None)
        except GLib.Error as error:
            raise CallError(error) from None


class Task:
    """One task, seen by its owner."""

    def __init__(self, person, path):
        self.person = person
        self.path = path
        self.id = int(path.rsplit("/", 1)[1])

    def __getattr__(self, name):
        # Properties by their names on the bus: task.State.
        if not name[0].isupper():
            raise AttributeError(name)
        return self.person.call(self.path, "org.freedesktop.DBus.Properties", "Get", "(ss)", (f"{NAME}.Task", name))[0]

    def until(self, *states, seconds=90):
        """Waits until the task is in one of the states, or parked (which is told), without polling."""
        sequence = 0
        while True:
            sequence, state, parked = self.person.call(self.path, "Task", "Wait", "(tt)", (sequence, seconds * 1_000_000),
                                                       timeout=seconds + 10)
            if state in states:
                return state
            if parked and "parked" in states:
                return parked
            assert not parked, f"parked: {parked}, {self.Waiting}, {self.Problem}"
            assert state not in ("failed", "cancelled", "done"), f"it is {state}: {self.Problem}"

    def text(self, what, **options):
        bytes_, offset, digest = "", 0, ""
        while True:
            piece, following, digest = self.person.call(self.path, "Task", "ReadText", "(stua{sv})", (what, offset, 65536, variants(options)))
            bytes_ += piece
            if following == 0 or following == offset:
                return bytes_, digest
            offset = following

    def accept_plan(self):
        digest = self.text("plan")[1]
        self.person.call(self.path, "Task", "AcceptPlan", "(sa{sv})", (digest, request()))

    def accept_work(self, **options):
        digest = self.text("diff")[1]
        return self.person.call(self.path, "Task", "AcceptWork", "(sa{sv})", (digest, request() | variants(options)))[0]

    def reply(self, text):
        self.person.call(self.path, "Task", "Reply", "(sa{sv})", (text, request()))

    def cancel(self):
        self.person.call(self.path, "Task", "Cancel", "(a{sv})", (request(),))

    def runs(self):
        return self.person.call(self.path, "Task", "ListRuns", "(a{sv})", ({},))[0]

    def findings(self):
        return self.person.call(self.path, "Task", "ListFindings", "(a{sv})", ({},))[0]

    def events(self):
        return self.person.manager("ListEvents", "(tua{sv})", (0, 1000, variants({"task": self.id})))[0]


def variants(options):
    """Plain values as a{sv}."""
    def one(value):
        if isinstance(value, GLib.Variant):
            return value
        if isinstance(value, bool):
            return GLib.Variant("b", value)
        if isinstance(value, int):
            return GLib.Variant("t", value)
        if isinstance(value, list):
            return GLib.Variant("as", value)
        if isinstance(value, dict):
            return GLib.Variant("a{ss}", value)
        return GLib.Variant("s", value)
    return {name: one(value) for name, value in options.items()}


def request():
    return {"request-id": GLib.Variant("s", str(uuid.uuid4()))}
