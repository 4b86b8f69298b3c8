"""The real agents, each a turn and a resumed turn with a commit: codex, claude and opencode in a network namespace that has only
loopback, through coffer-gateway and coffer-resolver, to the scripted model over TLS.

    test_agents.py /build/daemon/workers/gateway/coffer-gateway /build/daemon/workers/resolver/coffer-resolver
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from rig import DUMMY_KEY, ROOT, Authority, Gateway, Model, give, records, wait_for

GATEWAY = "/build/daemon/workers/gateway/coffer-gateway"
RESOLVER = "/build/daemon/workers/resolver/coffer-resolver"
AGENTS = Path("/opt/agents/bin")
USER = 64001
PORT = 4180
PROMPT = "Role: writer\nRound: 0\nTurn: {turn}\n\nAdd a file that says a task was here.\n"

# What the sandbox does for an agent: its repository, its exchange, the resolver's address, its own user.
ENTER = """
set -e
mount --bind "$REPOSITORY" /src
mkdir -p /task && mount --bind "$TASK" /task
echo 'nameserver 127.0.0.1' > "$TASK/resolv.conf"
mount --bind "$TASK/resolv.conf" /etc/resolv.conf
cd /src
exec setpriv --reuid "$AGENT_USER" --regid "$AGENT_USER" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
"""


class Namespace:
    """A network namespace with loopback only, and sockets that were made in it."""

    def __init__(self):
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        os.unshare(os.CLONE_NEWNET)
        try:
            self.fd = os.open("/proc/self/ns/net", os.O_RDONLY)
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            self.model = self._bind(socket.SOCK_STREAM, PORT, 128)
            self.dns_udp = self._bind(socket.SOCK_DGRAM, 53)
            self.dns_tcp = self._bind(socket.SOCK_STREAM, 53, 16)
        finally:
            os.setns(home, os.CLONE_NEWNET)
            os.close(home)

    @staticmethod
    def _bind(kind, port, backlog=None):
        made = socket.socket(socket.AF_INET, kind)
        made.bind(("127.0.0.1", port))
        if backlog:
            made.listen(backlog)
        return made

    def enter(self):
        os.setns(self.fd, os.CLONE_NEWNET)

    def close(self):
        for one in (self.model, self.dns_udp, self.dns_tcp):
            one.close()
        os.close(self.fd)


@unittest.skipUnless(os.geteuid() == 0, "makes namespaces")
class Agents(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="agents-test-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.directory.chmod(0o755)
        self.repository, self.task, self.home = (self.directory / name for name in ("src", "task", "home"))
        for path in (self.repository, self.home, self.task, self.task / "in", self.task / "out"):
            path.mkdir()
        (self.repository / "README").write_text("A repository.\n")
        git = ["git", "-c", "safe.directory=*", "-C", str(self.repository)]
        subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
        for name, value in (("user.name", "Ada"), ("user.email", "ada@example.invalid")):
            subprocess.run([*git, "config", name, value], check=True)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "Begin"], check=True)
        self.git = git
        for path in (self.repository, self.home, self.task):
            subprocess.run(["chown", "-R", f"{USER}:{USER}", str(path)], check=True)

        self.space = Namespace()
        self.addCleanup(self.space.close)
        authority = Authority(self.directory)
        self.model = Model(self.directory, ROOT / "tests/model/scenarios", authority.sign("model.example"))
        self.addCleanup(self.model.stop)
        self.gateway = Gateway(GATEWAY, self.directory, f"https://model.example:{self.model.port}/v1", listener=self.space.model,
                               authority=authority.certificate, more=[("address", f"127.0.0.1:{self.model.port}")])
        self.addCleanup(self.gateway.close)
        self.resolver = self._resolve()

    def _resolve(self):
        out = self.directory / "names"
        out.mkdir()
        process = subprocess.Popen(["sh", "-c", 'exec env LISTEN_PID=$$ "$0" --out "$1"', RESOLVER, str(out)], close_fds=False,
                                   preexec_fn=give(self.space.dns_udp, self.space.dns_tcp), env={"PATH": "/usr/bin", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "dns-udp:dns-tcp"})
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def turn(self, command, turn, environment=None, stdin=True):
        """Runs one turn of an agent and returns its output, one JSON object a line."""
        prompt = PROMPT.format(turn=turn)
        begun = time.monotonic()
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c", ENTER, "enter", *command, *([] if stdin else [prompt])],
            input=prompt if stdin else None, stdin=None if stdin else subprocess.DEVNULL, text=True, capture_output=True, timeout=300,
            preexec_fn=self.space.enter,
            env={"PATH": f"{AGENTS}:/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8", "REPOSITORY": str(self.repository), "TASK": str(self.task),
                 "AGENT_USER": str(USER), "HOME": str(self.home), **(environment or {})})
        print(f"\n{' '.join(command)}\n{turn}: exit {done.returncode} in {time.monotonic() - begun:.2f} s\n{done.stdout}{done.stderr}",
              file=sys.stderr if os.environ.get("SHOW") else open(os.devnull, "w"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = []
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                lines.append(json.loads(line))
        return lines

    def assert_turn(self, subject, text, requests):
        """The commit is there, the model was asked nothing it did not expect, the gateway counted every request."""
        log = subprocess.run([*self.git, "log", "-1", "--format=%s"], check=True, capture_output=True, text=True).stdout.strip()
        self.assertEqual(log, subject)
        self.assertTrue((self.repository / "COFFERDAM.txt").read_text().startswith(text))
        self.assertEqual([entry for entry in self.model.entries() if "unexpected" in entry], [])
        usage = wait_for(lambda: len(self.gateway.usage()) >= requests and self.gateway.usage())
        # On a busy machine an agent may hang up between the last event and the end of the stream; what counts is there by then.
        self.assertFalse([one for one in usage if "estimated" in one or one.get("error", "client-gone") != "client-gone"], usage)
        return usage

    def assert_names_refused(self):
        self.resolver.send_signal(signal.SIGTERM)
        self.assertEqual(self.resolver.wait(10), 0)
        return [value for key, value in records((self.directory / "names/report").read_bytes()) if key == "name"]

    def test_codex(self):
        command = [str(AGENTS / "codex"), "exec"]
        options = ["--json", "--dangerously-bypass-approvals-and-sandbox", "-m", "text-file",
                   "-c", "model_provider=coffer",
                   "-c", f'model_providers.coffer={{name="coffer",base_url="http://127.0.0.1:{PORT}/v1",env_key="COFFER_MODEL_KEY",wire_api="responses"}}']
        key = {"COFFER_MODEL_KEY": DUMMY_KEY}
        lines = self.turn([*command, *options, "-"], "write", key)
        thread = next(line["thread_id"] for line in lines if line["type"] == "thread.started")
        self.assertEqual(lines[-1]["type"], "turn.completed")
        self.assert_turn("Add COFFERDAM.txt", "draft", 2)
        lines = self.turn([*command, "resume", *options, thread, "-"], "fix-gate", key)
        self.assertEqual(lines[-1]["type"], "turn.completed")
        usage = self.assert_turn("Finish COFFERDAM.txt", "finished", 4)
        self.assertEqual(sum(int(one["input"]) for one in usage if one["path"] == "/v1/responses"), 4 * 600)
        self.assert_names_refused()

    def test_claude(self):
        command = [str(AGENTS / "claude"), "-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", "--model", "text-file"]
        environment = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}", "ANTHROPIC_API_KEY": DUMMY_KEY,
                       "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "2", "DISABLE_AUTOUPDATER": "1"}
        lines = self.turn(command, "write", environment)
        result = lines[-1]
        self.assertEqual((result["type"], result["is_error"]), ("result", False))
        self.assert_turn("Add COFFERDAM.txt", "draft", 2)
        lines = self.turn([*command, "--resume", result["session_id"]], "fix-gate", environment)
        self.assertFalse(lines[-1]["is_error"])
        usage = self.assert_turn("Finish COFFERDAM.txt", "finished", 4)
        self.assertEqual(sum(int(one["output"]) for one in usage if one["path"] == "/v1/messages"), 4 * 42)

    def test_opencode(self):
        configuration = self.home / "opencode.json"
        configuration.write_text(json.dumps({
            "$schema": "https://opencode.ai/config.json", "autoupdate": False, "share": "disabled", "permission": "allow",
            "provider": {"coffer": {"npm": "@ai-sdk/openai-compatible", "name": "coffer",
                                    "options": {"baseURL": f"http://127.0.0.1:{PORT}/v1", "apiKey": "{env:COFFER_MODEL_KEY}"},
                                    "models": {"text-file": {"name": "text-file"}}}}}))
        command = [str(AGENTS / "opencode"), "run", "--format", "json", "-m", "coffer/text-file"]
        environment = {"OPENCODE_CONFIG": str(configuration), "COFFER_MODEL_KEY": DUMMY_KEY, "OPENCODE_DISABLE_AUTOUPDATE": "1",
                       "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
        lines = self.turn(command, "write", environment)
        session = next(line["sessionID"] for line in lines if "sessionID" in line)
        self.assert_turn("Add COFFERDAM.txt", "draft", 2)
        self.turn([*command, "-s", session], "fix-gate", environment)
        self.assert_turn("Finish COFFERDAM.txt", "finished", 4)


if __name__ == "__main__":
    paths = [argument for argument in sys.argv[1:] if "/coffer-" in argument]
    sys.argv = [argument for argument in sys.argv if argument not in paths]
    if paths:
        GATEWAY, RESOLVER = paths
    if not AGENTS.exists():
        print("no agents in /opt/agents")
        sys.exit(77)
    unittest.main(verbosity=2)
