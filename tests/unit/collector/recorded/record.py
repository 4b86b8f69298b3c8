#!/usr/bin/env python3
"""Records what the agents' command lines write, by their own descriptors, against the scripted model. Run in the root, from the tree:

    tests/machine/enter python3 tests/unit/collector/recorded/record.py [AGENT[.TURN]...]

For each agent: NAME.first.jsonl (a turn that runs commands), NAME.second.jsonl (the same conversation resumed), NAME.429.jsonl and NAME.401.jsonl (the
provider refuses). Look at the differences before committing them: they are what a new version of an agent changed.
"""

import os
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[3]
PORT = 4180
KEY = "coffer-recording"


def fill(text, values):
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def run(agent, descriptor, name, model, text, session=""):
    home, source, files = Path("/home/agent"), Path("/home/source"), Path("/home/files")
    values = {"model": model, "endpoint": f"http://127.0.0.1:{PORT}", "key": KEY, "session": session, "home": str(home),
              "files": str(files)}
    for folder in (home, source, files):
        folder.mkdir(parents=True, exist_ok=True)
    if not (source / ".git").exists():
        subprocess.run(["git", "init", "-q", "-b", "main", source], check=True)
    for file, content in descriptor.get("files", {}).items():
        (files / file).write_text(fill(content, values))
    argv = [fill(word, values) for word in descriptor["resume" if session else "command"]]
    environment = {"HOME": str(home), "PATH": "/opt/agents/bin:/usr/bin", "LANG": "C.UTF-8", "TERM": "dumb", "CI": "1", "NO_COLOR": "1"}
    environment |= {key: fill(value, values) for key, value in descriptor.get("environment", {}).items()}
    started = time.monotonic()
    done = subprocess.run(argv, cwd=source, env=environment, input=text.encode(), capture_output=True, timeout=300)
    print(f"{agent} {name}: exit {done.returncode} in {time.monotonic() - started:.1f} s", done.stderr.decode(errors="replace")[-300:])
    (HERE / f"{agent}.{name}.jsonl").write_bytes(done.stdout)
    return done.stdout


def main():
    server = subprocess.Popen([sys.executable, TOP / "tests/model/serve.py", "--port", str(PORT), "--key", KEY, "--scenarios", HERE / "scenarios",
                               "--log", "/tmp/model.log"])
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/v1/models").close()
            break
        except OSError:
            time.sleep(0.1)
    try:
        for wanted in sys.argv[1:] or ("codex", "claude", "opencode"):
            agent, _, turn = wanted.partition(".")
            descriptor = tomllib.loads((TOP / f"daemon/data/agents/{agent}.toml").read_text())
            for status in ("429", "401"):
                if turn in ("", status):
                    run(agent, descriptor, status, f"recorded-{status}", "Turn: write\n")
            if turn not in ("", "first", "second"):
                continue
            first = run(agent, descriptor, "first", "recorded", "Role: writer\nTurn: write\nRound: 0\n\nthe first turn\n")
            session = ""
            for line in first.decode().splitlines():
                for key in ('"thread_id":"', '"session_id":"', '"sessionID":"'):
                    if not session and key in line:
                        session = line.split(key)[1].split('"')[0]
            run(agent, descriptor, "second", "recorded", "Role: writer\nTurn: fix-gate\nRound: 1\n\nthe second turn\n", session)
    finally:
        server.terminate()
        print(Path("/tmp/model.log").read_text()[-1500:])


if __name__ == "__main__":
    main()
