"""A repository of one user, as tests use it."""

from pathlib import Path

from command import run


class Repository:
    """A small Git repository of one user with a build and a test that work."""

    files = {
        "greet.c": '#include <stdio.h>\n#include "greet.h"\n\nint greet(const char* name) { return printf("hello %s\\n", name); }\n',
        "greet.h": "int greet(const char* name);\n",
        "main.c": '#include "greet.h"\n\nint main(void) { return greet("world") > 0 ? 0 : 1; }\n',
        "Makefile": "greet: main.c greet.c greet.h\n\tcc -Wall -Werror -o greet main.c greet.c\n\n"
                    "test: greet\n\t./greet | grep -q 'hello world'\n\n.PHONY: test\n",
        ".gitignore": "/greet\n",
    }
    build = "make"
    test = "make test"

    def __init__(self, user, directory):
        self.user = user
        self.directory = Path(directory)

    @classmethod
    def create(cls, user, directory):
        """A new one with one commit on main; a directory that is there has to be the user's."""
        run("install", "-d", "-o", user, "-g", user, directory)
        repository = cls(user, directory)
        repository.git("init", "--quiet", "--initial-branch=main")
        repository.git("config", "user.name", f"{user.title()} Example")
        repository.git("config", "user.email", f"{user}@example.org")
        repository.commit("Greet the world", **cls.files)
        return repository

    def run(self, *command, check=True, input=None, timeout=60):
        """A command as the owner in the repository, without a session."""
        return run("setpriv", "--reuid", self.user, "--regid", self.user, "--init-groups",
                   "env", "-i", f"--chdir={self.directory}", "PATH=/usr/bin:/bin", f"HOME=/home/{self.user}", "LANG=C.UTF-8",
                   *command, check=check, input=input, timeout=timeout)

    def git(self, *arguments, check=True):
        return self.run("git", *arguments, check=check).stdout.strip()

    def write(self, name, text):
        """A file as the owner."""
        self.run("mkdir", "-p", str(Path(name).parent))
        self.run("tee", name, input=text)

    def commit(self, message, **files):
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.head()

    def head(self):
        return self.git("rev-parse", "HEAD")
