"""What people hand over that cannot be used: requests, calls, directories.

Each case is answered by one named error with a sentence that says what, why and what to do; nothing is made, and what was there is as
it was. What can be used although it looks odd is used to the end.
"""

import os
import re
import time
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import run
from gi.repository import GLib
from people import NAME, ROOT, variants
from yard import AGENTS, carol, project, refused, says, yard  # noqa: F401

MANAGER = "Manager"
TEXT_BYTES = 256 * 1024
PATH_BYTES = 4095
ZEROS = "sha256:" + "0" * 64


def names(carol):
    return sorted(carol.properties(path, "Project")["Name"] for path, _ in carol.call(ROOT, "org.freedesktop.DBus.ObjectManager",
                                                                                   "GetManagedObjects")[0].items() if "/project/" in path)


def numbers(carol):
    return [row["Id"] for row in carol.manager("ListTasks", "(a{sv}tu)", ({}, 0, 1000))[0]]


# --- requests

REQUESTS = [
    ("unknown project", ["new", "-p", "nothere", "Say more"], None, 4, "UnknownObject", ["nothere", "coffer project list"]),
    ("project whose name is no UTF-8", ["new", "-p", b"no/t\xff\n", "Say more"], None, 2, "org.freedesktop.DBus.Error.InvalidArgs",
     ["not UTF-8", "name"]),
    ("project of another name than can be", ["new", "-p", "no/t\n", "Say more"], None, 4, "UnknownObject", ["no/t\\x0a", "coffer project list"]),
    ("empty prompt", ["new", "-p", "base", ""], None, 2, "", ["empty", "what is to be done"]),
    ("blank prompt", ["new", "-p", "base", "-"], b" \t\r\n\n", 2, "", ["empty"]),
    ("huge prompt", ["new", "-p", "base", "-"], b"x" * (TEXT_BYTES + 1), 1, "", ["256.0 KiB"]),
    ("prompt that is no UTF-8", ["new", "-p", "base", "-"], b"Say \xff more", 2, "", ["not UTF-8", "iconv"]),
    ("words that are no UTF-8", ["new", "-p", "base", b"Say \xff more"], None, 2, "", ["not UTF-8"]),
    ("prompt with a zero byte", ["new", "-p", "base", "-"], b"Say \0 more", 2, "", ["zero byte"]),
    ("unknown task", ["show", "999999"], None, 4, "UnknownObject", ["999999", "coffer list"]),
    ("decision on an unknown task", ["accept", "999999", "--digest", ZEROS], None, 4, "UnknownObject", ["999999"]),
    ("directory that is not there", ["project", "add", b"nothere\xff\n", "--name", "x"], None, 4, "", ["nothere", "No such file"]),
    ("directory whose path is too long", ["project", "add", "/" + "x/" * 2100], None, 4, "", ["cannot be opened"]),
    ("name that is taken", ["project", "add", "base", "--name", "base"], None, 1, "NameTaken", ["base", "another name"]),
    ("name that is none", ["project", "add", "base", "--name", "No Name"], None, 2, "InvalidArgument", ["small letters"]),
]


@pytest.fixture(scope="module")
def base(yard):
    """The project "base" of the yard's first repository, for `coffer -p base`."""
    added = yard.coffer("project", "add", "base", "--name", "base", "--test", "true")
    assert added.code == 0, added.notes
    yield added.object
    yard.coffer("project", "remove", "base")


@pytest.mark.parametrize("words, input, code, name, sentence", [case[1:] for case in REQUESTS], ids=[case[0] for case in REQUESTS])
def test_a_request_that_cannot_be_used_makes_nothing(carol, yard, base, words, input, code, name, sentence):
    before = names(carol), numbers(carol), yard.everything("base")
    answer = yard.coffer(*words, input=input)
    says(answer, name, *sentence)
    assert answer.code == answer.object["Error"]["ExitCode"] == code
    assert (names(carol), numbers(carol), yard.everything("base")) == before


def add(directory, name="x", **options):
    return "AddProject", "(aysa{sv})", (directory, name, variants({"author-name": "C", "author-email": "c@example.org"} | options))


CALLS = [
    ("relative path", lambda _: add(b"home/carol"), "InvalidArgument", ["whole path", "/"]),
    ("empty path", lambda _: add(b""), "InvalidArgument", ["whole path"]),
    ("path with a zero byte", lambda _: add(b"/home\0/carol"), "InvalidArgument", ["whole path"]),
    ("longest path", lambda _: add(b"/" + b"x/" * (PATH_BYTES // 2)), "NoRepository", ["No such file", "top of its checkout"]),
    ("path that is too long", lambda _: add(b"/" + b"x/" * (PATH_BYTES // 2) + b"y"), "TooLarge", ["4095"]),
    ("path that is a file", lambda world: add(os.fsencode(world.yard.top / "base/greet.c")), "NoRepository", ["Not a directory"]),
    ("author that is none", lambda world: add(os.fsencode(world.yard.top / "base"), **{"author-name": "A <b>"}), "InvalidArgument", ["<, >"]),
    ("author that is missing", lambda world: ("AddProject", "(aysa{sv})", (os.fsencode(world.yard.top / "base"), "x", {})),
     "InvalidArgument", ["git config user.name"]),
    ("empty prompt", lambda world: world.new(""), "InvalidArgument", ["empty"]),
    ("huge prompt", lambda world: world.new("x" * (TEXT_BYTES + 1)), "TooLarge", [str(TEXT_BYTES), "file of the repository"]),
    ("task of a project that is none", lambda _: ("CreateTask", "(osa{sv})", (f"{ROOT}/project/999999", "x", {})), "UnknownObject", ["999999"]),
    ("task of what is no project", lambda _: ("CreateTask", "(osa{sv})", ("/", "x", {})), "UnknownObject", ["project /"]),
    ("option of another type", lambda world: world.new("x", rounds="three"), "InvalidArgument", ["rounds", "u, not s"]),
    ("option of a type of no option", lambda world: world.new("x", rounds=GLib.Variant("d", 3)), "InvalidArgument", ["rounds", "type d"]),
    ("unknown option", lambda world: world.new("x", turns=3), "InvalidArgument", ["turns"]),
    ("more options than any call has", lambda world: world.new("x", **{f"o{n}": n for n in range(65)}), "InvalidArgument", ["limit"]),
    ("unknown flow", lambda world: world.new("x", flow="nothere"), "InvalidArgument", ["nothere", "supervisor"]),
    ("unknown role", lambda world: world.new("x", agents={"cook": "instant"}), "InvalidArgument", ["cook", "reviewer"]),
    ("unknown agent", lambda world: world.new("x", agents={"writer": "nothere"}), "NoAgent", ["nothere", "coffer agent list"]),
    ("unknown policy", lambda world: world.new("x", policy={"lunch": "ask"}), "InvalidArgument", ["lunch", "landing"]),
    ("more rounds than may be", lambda world: world.new("x", rounds=GLib.Variant("u", 21)), "Limit", ["20"]),
    ("request-id that is too long", lambda world: world.new("x", **{"request-id": "r" * 65}), "InvalidArgument", ["64"]),
    ("unknown state in a filter", lambda _: ("ListTasks", "(a{sv}tu)", (variants({"state": ["asleep"]}), 0, 0)), "InvalidArgument", ["asleep"]),
    ("unknown task", lambda _: ("GetTask", "(t)", (999999,)), "UnknownObject", ["999999"]),
    ("unknown name of a project", lambda _: ("GetProject", "(s)", ("nothere",)), "UnknownObject", ["nothere"]),
]


class World:
    def __init__(self, yard, project):
        self.yard, self.project = yard, project

    def new(self, prompt, **options):
        return "CreateTask", "(osa{sv})", (self.project, prompt, variants(options))


@pytest.mark.parametrize("call, name, sentence", [case[1:] for case in CALLS], ids=[case[0] for case in CALLS])
def test_a_call_that_cannot_be_used_makes_nothing(carol, yard, project, call, name, sentence):
    before = names(carol), numbers(carol)
    method, signature, values = call(World(yard, project))
    says(refused(carol, ROOT, MANAGER, method, signature, values), name, *sentence)
    assert (names(carol), numbers(carol)) == before


VALUES = {"s": "plan", "t": 0, "u": 0, "o": "/", "ay": b"/", "a{sv}": {}}


def test_every_call_with_options_refuses_what_it_does_not_know(carol, project):
    """Before anything else, so that whatever else is wrong with the call, nothing is done."""
    task = carol.create_task(project, "Say more")
    task.until("plan-ready")
    objects = {"Manager": ROOT, "Project": project, "Task": task.path}
    asked = 0
    for interface, path in objects.items():
        description = ElementTree.parse(f"/usr/share/dbus-1/interfaces/{NAME}.{interface}.xml").getroot()
        for method in description.iter("method"):
            types = [part.get("type") for part in method.iter("arg") if part.get("direction") != "out"]
            # Reload is the administrator's, who is not asked here.
            if "a{sv}" not in types or method.get("name") == "Reload":
                continue
            at = types.index("a{sv}")
            for options, word in ((variants({"no-such": True}), "no-such"), ({"request-id": GLib.Variant("t", 1)}, "request-id")):
                values = [VALUES[type_] for type_ in types]
                values[at] = options
                error = refused(carol, path, interface, method.get("name"), f"({''.join(types)})", tuple(values))
                says(error, "InvalidArgument", word)
                asked += 1
    assert asked >= 30
    assert task.State == "plan-ready"
    task.cancel()


# --- directories that cannot be a project

SUPPORTED = "git -C base config uploadpack.allowFilter true; "
DIRECTORIES = [
    ("no repository", "mkdir x", "NoRepository", ["no .git", "top of a checkout"]),
    ("file", "touch x", "NoRepository", ["Not a directory", "top of its checkout"]),
    ("no commit", "git init -q -b main x", "NoCommit", ["main", "git commit"]),
    ("bare", "git clone -q --bare base x", "RepositoryUnsupported", ["bare", "git clone it"]),
    ("shallow", "git clone -q --depth 1 file://$PWD/base x", "RepositoryUnsupported", ["shallow", "git fetch --unshallow"]),
    ("partial", SUPPORTED + "git clone -q --filter=blob:none file://$PWD/base x", "RepositoryUnsupported", ["partial clone", "without --filter"]),
    ("partial without files", SUPPORTED + "git clone -q --filter=tree:0 --no-checkout file://$PWD/base x", "RepositoryUnsupported", ["partial clone"]),
    ("borrowing", "git clone -q --shared base x", "RepositoryUnsupported", ["borrows", "git repack"]),
    ("LFS", "git clone -q base x; cd x; echo '*.bin filter=lfs diff=lfs merge=lfs -text' >.gitattributes; printf "
     "'version https://git-lfs.github.com/spec/v1\\noid sha256:00\\nsize 12\\n' >x.bin; git add .; git commit -q -m lfs",
     "RepositoryUnsupported", ["Git LFS (.gitattributes)", "git lfs migrate export"]),
    ("SHA-256", "git init -q --object-format=sha256 x; git -C x commit -q --allow-empty -m one", "RepositoryUnsupported", ["SHA-256", "SHA-1"]),
    ("reftable", "git init -q --ref-format=reftable x; git -C x commit -q --allow-empty -m one", "RepositoryUnsupported",
     ["reftable", "git refs migrate --ref-format=files"]),
    ("inside of a submodule", "git clone -q base y; git -C y submodule --quiet add ../base sub; ln -s y/sub x", "RepositoryUnsupported",
     ["submodule is not supported"]),
    ("worktree that was moved", "git clone -q base y; git -C y worktree add -q ../z -b z; mv z x", "RepositoryUnsupported", ["git worktree repair"]),
    (".git that is a link", "git clone -q base x; mv x/.git y; ln -s ../y x/.git", "RepositoryUnsupported", ["symbolic link", "Replace it"]),
    ("branch without its commit", "git clone -q base x; printf '%040d\\n' 1 >x/.git/refs/heads/main", "RepositoryUnsupported",
     ["damaged", "git fsck"]),
    ("file without its object", "cp -a base x; cd x; f=$(git rev-parse HEAD:again.txt); rm -f .git/objects/${f%${f#??}}/${f#??}",
     "RepositoryUnsupported", ["damaged", "git fsck"]),
    ("no HEAD", "git clone -q base x; rm x/.git/HEAD", "NoRepository", ["no HEAD", "git fsck"]),
    ("HEAD that is none", "git clone -q base x; echo x >x/.git/HEAD", "RepositoryUnsupported", ["names no branch", "git switch"]),
    ("HEAD on a tag", "git clone -q base x; git -C x tag t; echo ref: refs/tags/t >x/.git/HEAD", "RepositoryUnsupported", ["git switch"]),
    (".git that may not be read", "git clone -q base x; chmod 0 x/.git", "NoRepository", ["cannot be read"]),
    ("may not be entered", "git clone -q base x; chmod 0 x", "AccessDenied", ["may not open", "right to it"]),
    ("branches protected", "git clone -q base x; chmod a-w x/.git/refs/heads", "AccessDenied", [".git/refs/heads", "chmod"]),
    ("objects protected", "git clone -q base x; chmod a-w x/.git/objects/pack", "AccessDenied", [".git/objects/pack", "chmod"]),
]


@pytest.mark.parametrize("made, name, sentence", [case[1:] for case in DIRECTORIES], ids=[case[0] for case in DIRECTORIES])
def test_a_directory_that_cannot_be_a_project_says_why(carol, yard, made, name, sentence):
    yard.shell(made)
    try:
        before = names(carol), yard.everything("x"), yard.everything("y")
        answer = yard.coffer("project", "add", "x", "--name", "x", "--test", "true")
        says(answer, name, *sentence)
        assert answer.code != 0
        assert (names(carol), yard.everything("x"), yard.everything("y")) == before
    finally:
        yard.coffer("project", "remove", "x")
        yard.remove("x", "y", "z")


def test_a_repository_of_somebody_else_says_so_before_any_work(carol, yard):
    yard.shell("git clone -q base x")
    run("chown", "-R", "bob:bob", yard.top / "x")
    try:
        says(yard.coffer("project", "add", "x", "--name", "x", "--test", "true"), "AccessDenied", "may not write", "somebody else", "git clone it")
        assert "x" not in names(carol)
    finally:
        yard.coffer("project", "remove", "x")
        yard.remove("x")


# --- what looks odd and works

NAMES = [b"with spaces", b"it's \"quoted\"", b"co:lo:ns", b"two\nlines", b"ends in one\n", b"no text \xff\xfe", b"-rf", b"%h $HOME `id` \\x",
         "\u202eturned".encode()]


@pytest.mark.parametrize("name", NAMES, ids=[os.fsdecode(name).encode("unicode_escape", "surrogateescape").decode() for name in NAMES])
def test_a_directory_of_any_name_is_a_project(yard, name):
    place = os.fsencode(yard.top) + b"/" + name
    yard.run("cp", "-a", "base", place)
    added = yard.coffer("project", "add", "--name", "odd", "--test", "true", cwd=place)
    try:
        assert added.code == 0, added.notes
        shown = yard.coffer("project", "show", cwd=place)
        assert shown.code == 0, shown.notes
        assert shown.object["Name"] == "odd" and shown.object["Base"] == yard.base.head()
        directory = shown.object["Directory"]
        assert (bytes(directory) if isinstance(directory, list) else directory.encode()) == place
        text = shown.object["DirectoryText"]
        assert text.isascii() or text.isprintable() or "\u202e" in text
        assert "\n" not in text
    finally:
        yard.coffer("project", "remove", "odd")
        yard.remove(name)


def whole(carol, yard, place, **options):
    """A task from request to commit in the repository at `place`; gives it when it is done."""
    directory = os.fsencode(place)
    added = add(directory, f"whole-{os.getpid()}-{time.monotonic_ns()}"[:31], test=["test -e greet.c"], agents=AGENTS, **options)
    project = carol.manager(*added)[0]
    try:
        task = carol.create_task(project, "Say more", policy={"plan": "auto", "landing": "auto"})
        task.until("done", seconds=90)
        task.commit = task.Landed[0][0]
        assert yard.run("git", "rev-parse", "HEAD", cwd=directory).stdout.strip() == task.commit
        assert "instant.txt" in yard.run("git", "show", "--stat", "HEAD", cwd=directory).stdout
        assert yard.run("git", "fsck", "--strict", cwd=directory).returncode == 0
        return task
    finally:
        carol.end_project(project)


ODD = [
    ("every character", "true", b"a b'\"c:d\ne\xfff%h$x\\`id`\n"),
    ("group-writable and packed behind a symbolic link", "cp -a base y; git -C y config core.sharedRepository group; git -C y gc -q; "
     "git -C y pack-refs --all; chmod -R g+w y; ln -s y x", b"x"),
]


@pytest.mark.parametrize("made, name", [case[1:] for case in ODD], ids=[case[0] for case in ODD])
def test_an_odd_repository_goes_from_a_task_to_its_commit(carol, yard, made, name):
    place = os.fsencode(yard.top) + b"/" + name
    yard.shell(made)
    if made == "true":
        yard.run("cp", "-a", "base", place)
    try:
        task = whole(carol, yard, place)
        assert [os.fsencode(landed[2]).decode(errors="replace") for landed in task.Landed] == [place.decode(errors="replace")]
        assert yard.run("git", "status", "--porcelain", cwd=place).stdout == ""
    finally:
        yard.remove(name, "y")


def test_a_repository_with_submodules_works_and_says_what_is_empty(carol, yard):
    yard.shell("cp -a base x; git -C x submodule --quiet add ../base sub/module; git -C x commit -q -m sub")
    try:
        added = yard.run("coffer", "project", "add", "x", "--name", "x", "--test", "true")
        assert "1 submodule" in added.stderr and "sub/module" in added.stderr and "empty folder" in added.stderr
        yard.coffer("project", "remove", "x")
        whole(carol, yard, yard.top / "x")
        assert (yard.top / "x/sub/module/greet.c").exists()
    finally:
        yard.remove("x")


def test_what_is_not_in_the_commit_is_named_and_left_alone(yard, base):
    yard.shell("echo mine >mine.txt; echo mine >>again.txt; git add again.txt; i=0; "
               "while [ $i -lt 2000 ]; do : >\"$(printf 'long-%0120d' $i)\"; i=$((i + 1)); done", cwd=yard.top / "base")
    before = yard.everything("base")
    try:
        made = yard.run("coffer", "new", "Say more", "--agent", "planner=instant", cwd=yard.top / "base")
        assert "Works on HEAD" in made.stderr and "again.txt" in made.stderr and re.search(r"  and \d+ more\n", made.stderr)
        yard.coffer("cancel", made.stdout.split()[1])
        assert yard.everything("base") == before
    finally:
        yard.shell("git reset -q --hard; git clean -q -f -d", cwd=yard.top / "base")
