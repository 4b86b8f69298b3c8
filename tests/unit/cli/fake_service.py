"""A stand-in for cofferd, for tests of the command line alone: the bus names and types of the interface files, no rules.

What a test wants it to hold is read from a JSON file named in argv[1]; every call that changes something is appended to the file
in argv[2], one JSON object a line. It prints "ready" when it owns the name.
"""

import json
import os
import sys
import time

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

BUS = "org.cofferdam.Cofferdam1"
ROOT = "/org/cofferdam/Cofferdam1"
ERROR = BUS + ".Error."

TYPES = {
    # Signatures of properties that Python's own types would not give.
    "Id": "t", "Owner": "u", "Round": "u", "Rounds": "u", "Created": "t", "Changed": "t", "Sequence": "t", "CostMicro": "x",
    "Project": "o", "Actions": "as", "Build": "as", "Test": "as", "Policy": "a{ss}", "Agents": "a{ss}", "Networks": "a{ss}",
    "Usage": "a{st}", "Waiting": "(sst)", "Problem": "(ss)", "Pending": "a(ss)", "Landed": "a(sss)", "Refusals": "a(ssssqst)",
    "Directory": "ay", "Running": "u", "Attempt": "u", "Started": "t", "Ended": "t", "Code": "i", "Conversation": "t", "Line": "t",
    "Path": "o", "Spenders": "as", "Budget": "t",
}


def typed(name, value, kind):
    signature = TYPES.get(name)
    if name == "Path" and kind == "finding":
        return value
    # The same name is text in another interface.
    if signature is None or (isinstance(value, str) and signature not in ("o", "ay")):
        return value
    if signature == "ay":
        return dbus.ByteArray(value.encode())
    makers = {"t": dbus.UInt64, "u": dbus.UInt32, "x": dbus.Int64, "i": dbus.Int32, "o": dbus.ObjectPath}
    if signature in makers:
        return makers[signature](value)
    if signature == "(sst)":
        # In a variant a structure has the types of what is in it, whatever signature it was made with.
        return dbus.Struct((value[0], value[1], dbus.UInt64(value[2])), signature="sst")
    if signature == "(ss)":
        return dbus.Struct(value, signature="ss")
    if signature.startswith("a("):
        inner = signature[2:-1]
        return dbus.Array([dbus.Struct(v, signature=inner) for v in value], signature=signature[1:])
    if signature.startswith("a{"):
        return dbus.Dictionary(value, signature=signature[2:-1])
    return dbus.Array(value, signature=signature[1:])


def dictionary(values, kind="object"):
    return dbus.Dictionary({k: typed(k, v, kind) for k, v in values.items()}, signature="sv")


def refuse(name, message):
    raise dbus.exceptions.DBusException(message, name=ERROR + name)


def plain(value):
    """What a test can compare: no types of the bus."""
    if isinstance(value, (dbus.Boolean,)):
        return bool(value)
    if isinstance(value, (int,)):
        return int(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        if getattr(value, "signature", "") == "y":
            return bytes(value).decode()
        return [plain(v) for v in value]
    return str(value)


class Fake:
    def __init__(self, state, calls):
        self.state = state
        self.calls = calls

    def record(self, call, **arguments):
        arguments = {k: plain(v) for k, v in arguments.items()}
        options = arguments.get("options", {})
        assert options.pop("request-id", None), "a changing call without request-id"
        with open(self.calls, "a") as file:
            file.write(json.dumps({"call": call, **arguments}) + "\n")
        planned = self.state.get("errors", {}).get(call)
        if planned:
            refuse(*planned)
        self.delay(call)

    def delay(self, call):
        """As long as a test says that this call takes."""
        time.sleep(self.state.get("slow", {}).get(call, 0))


class Object(dbus.service.Object):
    interface = None

    def __init__(self, bus, path, properties):
        super().__init__(bus, path)
        self.path = path
        self.values = properties

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        return dictionary(self.values)


class Project(Object):
    interface = BUS + ".Project"

    @dbus.service.method(BUS + ".Project", in_signature="a{sv}")
    def Set(self, options):
        fake.record("Project.Set", path=self.path, options=options)

    @dbus.service.method(BUS + ".Project", in_signature="a{sv}")
    def Remove(self, options):
        fake.record("Project.Remove", path=self.path, options=options)


class Provider(Object):
    interface = BUS + ".Provider"

    @dbus.service.method(BUS + ".Provider", in_signature="ha{sv}")
    def SetKey(self, key, options):
        with os.fdopen(key.take(), "rb") as file:
            fake.record("Provider.SetKey", path=self.path, key=file.read(), options=options)

    @dbus.service.method(BUS + ".Provider", in_signature="a{sv}")
    def Set(self, options):
        fake.record("Provider.Set", path=self.path, options=options)

    @dbus.service.method(BUS + ".Provider", in_signature="a{sv}")
    def Remove(self, options):
        fake.record("Provider.Remove", path=self.path, options=options)


class Agent(Object):
    interface = BUS + ".Agent"

    @dbus.service.method(BUS + ".Agent", in_signature="a{sv}", out_signature="a{sv}")
    def Test(self, options):
        fake.record("Agent.Test", path=self.path, options=options)
        return dictionary(fake.state["test"])


class Task(Object):
    interface = BUS + ".Task"

    def step(self, call):
        """What the state becomes after a call, as the test says."""
        self.values.update(fake.state.get("then", {}).get(call, {}))

    @dbus.service.method(BUS + ".Task", in_signature="sa{sv}")
    def AcceptPlan(self, digest, options):
        fake.record("Task.AcceptPlan", path=self.path, digest=digest, options=options)
        if digest != self.values.get("PlanDigest"):
            refuse("Stale", "The plan is another by now.")

    @dbus.service.method(BUS + ".Task", in_signature="sa{sv}", out_signature="s")
    def AcceptWork(self, digest, options):
        fake.record("Task.AcceptWork", path=self.path, digest=digest, options=options)
        if digest != self.values.get("WorkDigest"):
            refuse("Stale", "It is other work by now.")
        self.step("AcceptWork")
        return self.values.get("Candidate", "")

    @dbus.service.method(BUS + ".Task", in_signature="sa{sv}")
    def Reply(self, text, options):
        fake.record("Task.Reply", path=self.path, text=text, options=options)

    @dbus.service.method(BUS + ".Task", in_signature="a{sv}")
    def Retry(self, options):
        fake.record("Task.Retry", path=self.path, options=options)

    @dbus.service.method(BUS + ".Task", in_signature="a{sv}")
    def Cancel(self, options):
        fake.record("Task.Cancel", path=self.path, options=options)

    @dbus.service.method(BUS + ".Task", in_signature="a{sv}")
    def Delete(self, options):
        fake.record("Task.Delete", path=self.path, options=options)

    @dbus.service.method(BUS + ".Task", in_signature="stua{sv}", out_signature="sts")
    def ReadText(self, what, offset, limit, options):
        fake.delay("Task.ReadText")
        key = what + (":%d" % options["run"] if "run" in options else "")
        text = fake.state.get("texts", {}).get(key)
        if text is None:
            refuse("NotFound", "There is no %s yet." % what)
        data = text.encode()
        digest = self.values.get({"plan": "PlanDigest", "diff": "WorkDigest"}.get(what, ""), "sha256:text")
        if fake.state.get("changing"):
            # Another text with each answer, as long as the one before.
            number = fake.state["changing"] = fake.state["changing"] + 1
            data = b"".join(b"text %06d line %06d\n" % (number, line) for line in range(100))
            digest = "sha256:%d" % number
        if "growing" in fake.state and what == "log":
            # A run that goes on has printed more with every call, until it has printed all of it.
            end = fake.state["growing"][0] = min(sum(fake.state["growing"]), len(data))
            data, digest = data[:end], ""
        # Pieces far smaller than asked for, so that putting them together is tested; ASCII texts only then.
        size = fake.state.get("piece", limit)
        end = min(offset + size, len(data))
        return data[offset:end].decode(), dbus.UInt64(0 if end == len(data) else end), digest

    @dbus.service.method(BUS + ".Task", in_signature="a{sv}", out_signature="aa{sv}")
    def ListRuns(self, options):
        # What happens between two calls of whoever reads the task, told before this one is answered.
        if "meanwhile" in fake.state:
            self.values.update(fake.state.pop("meanwhile"))
            manager.TaskChanged(self.values["Id"], self.values["Sequence"])
        return dbus.Array([dictionary(r, "run") for r in fake.state.get("runs", [])], signature="a{sv}")

    @dbus.service.method(BUS + ".Task", in_signature="a{sv}", out_signature="aa{sv}")
    def ListFindings(self, options):
        return dbus.Array([dictionary(f, "finding") for f in fake.state.get("findings", [])], signature="a{sv}")

    @dbus.service.method(BUS + ".Task", in_signature="tt", out_signature="tss")
    def Wait(self, after, timeout):
        self.step("Wait")
        return dbus.UInt64(after + 1), self.values["State"], self.values.get("Parked", "")


class Manager(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.ObjectManager", out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        result = dbus.Dictionary(signature="oa{sa{sv}}")
        for path, item in objects.items():
            result[dbus.ObjectPath(path)] = dbus.Dictionary({item.interface: dictionary(item.values)}, signature="sa{sv}")
        return result

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        kinds = dbus.Array(["anthropic", "openai", "openai-chat"], signature="s")
        return dbus.Dictionary({"ConfigurationProblems": dbus.Array(fake.state.get("problems", []), signature="s"),
                                "Features": dbus.Dictionary({"provider-kinds": kinds}, signature="sv")}, signature="sv")

    @dbus.service.method(BUS + ".Manager", in_signature="a{sv}", out_signature="aa{sv}")
    def CheckSystem(self, options):
        return dbus.Array([dbus.Dictionary(check, signature="sv") for check in fake.state.get("checks", [])], signature="a{sv}")

    def find(self, cls, key, value):
        for path, item in objects.items():
            if isinstance(item, cls) and item.values.get(key) == value:
                return dbus.ObjectPath(path)
        refuse("UnknownObject", "There is no %s %s." % (cls.__name__.lower(), value))

    @dbus.service.method(BUS + ".Manager", in_signature="t", out_signature="o")
    def GetTask(self, number):
        fake.delay("Manager.GetTask")
        return self.find(Task, "Id", number)

    @dbus.service.method(BUS + ".Manager", in_signature="s", out_signature="o")
    def GetProject(self, name):
        return self.find(Project, "Name", name)

    @dbus.service.method(BUS + ".Manager", in_signature="aysa{sv}", out_signature="o")
    def AddProject(self, directory, name, options):
        fake.record("Manager.AddProject", directory=directory, name=name, options=options)
        number = next(n for n in range(9, 99) if "%s/project/%d" % (ROOT, n) not in objects)
        path = "%s/project/%d" % (ROOT, number)
        objects[path] = Project(bus, path, {"Id": number, "Name": str(name), "Owner": os.getuid(), "Directory": plain(directory),
                                            "DirectoryText": plain(directory), "Base": "0" * 40})
        return dbus.ObjectPath(path)

    @dbus.service.method(BUS + ".Manager", in_signature="osa{sv}", out_signature="ot")
    def CreateTask(self, project, prompt, options):
        fake.record("Manager.CreateTask", project=project, prompt=prompt, options=options)
        return dbus.ObjectPath(ROOT + "/task/99"), dbus.UInt64(99)

    @dbus.service.method(BUS + ".Manager", in_signature="ssa{sv}", out_signature="o")
    def AddProvider(self, name, kind, options):
        fake.record("Manager.AddProvider", name=name, kind=kind, options=options)
        path = ROOT + "/provider/9"
        objects[path] = Provider(bus, path, {"Name": str(name), "Kind": str(kind), "BaseUrl": "https://api.example", "Owner": os.getuid()})
        return dbus.ObjectPath(path)

    @dbus.service.method(BUS + ".Manager", in_signature="a{sv}tu", out_signature="aa{sv}t")
    def ListTasks(self, options, cursor, limit):
        if options.get("all-users") and (planned := fake.state.get("errors", {}).get("Manager.ListTasks all-users")):
            refuse(*planned)
        tasks = [o.values for o in objects.values() if isinstance(o, Task)]
        ended = ("done", "failed", "cancelled")
        if "ended" in options:
            tasks = [t for t in tasks if (t["State"] in ended) == bool(options["ended"])]
        if not options.get("deleted"):
            tasks = [t for t in tasks if not t.get("Deleted")]
        if options.get("waiting"):
            tasks = [t for t in tasks if t.get("Pending") or t.get("Parked")]
        if "state" in options:
            tasks = [t for t in tasks if t["State"] in options["state"]]
        tasks.sort(key=lambda t: -t["Id"])
        # One a call, so that the cursor is followed.
        rest = tasks[int(cursor):]
        following = int(cursor) + 1 if len(rest) > 1 else 0
        return dbus.Array([dictionary(t) for t in rest[:1]], signature="a{sv}"), dbus.UInt64(following)

    @dbus.service.method(BUS + ".Manager", in_signature="tua{sv}", out_signature="a(tttsa{sv})t")
    def ListEvents(self, after, limit, options):
        events = [e for e in fake.state.get("events", []) if e[0] > after]
        rows = [dbus.Struct((e[0], e[1], e[2], e[3], dbus.Dictionary(e[4], signature="sv")), signature="tttsa{sv}") for e in events]
        return dbus.Array(rows, signature="(tttsa{sv})"), dbus.UInt64(events[-1][0] if events else after)

    @dbus.service.method(BUS + ".Manager", in_signature="a{sv}")
    def Subscribe(self, options):
        # The state moves only after the subscription, by the script of the test, and each move is told.
        for index, values in enumerate(fake.state.get("script", [])):
            GLib.timeout_add(50 * (index + 1), self.move, int(options.get("task", 17)), values)

    def move(self, number, values):
        task = objects[ROOT + "/task/%d" % number]
        fake.state["runs"] = values.pop("runs", fake.state.get("runs", []))
        task.values.update(values)
        self.TaskChanged(number, 1)
        return False

    @dbus.service.signal(BUS + ".Manager", signature="tt")
    def TaskChanged(self, number, sequence):
        pass


if __name__ == "__main__":
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    with open(sys.argv[1]) as source:
        fake = Fake(json.load(source), sys.argv[2])
    bus = dbus.bus.BusConnection(os.environ["DBUS_SYSTEM_BUS_ADDRESS"])
    objects = {}
    for kind, cls in (("project", Project), ("task", Task), ("agent", Agent), ("provider", Provider)):
        for number, values in enumerate(fake.state.get(kind + "s", [])):
            path = "%s/%s/%s" % (ROOT, kind, values.get("Id", number + 1))
            objects[path] = cls(bus, path, values)
    manager = Manager(bus, ROOT)
    name = dbus.service.BusName(BUS, bus)
    print("ready", flush=True)
    GLib.MainLoop().run()
