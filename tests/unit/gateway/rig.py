"""What the gateway's tests stand on: certificates, the scripted model, a gateway whose listener somebody else made."""

import contextlib
import fcntl
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SERVE = ROOT / "tests/model/serve.py"
REAL_KEY = "real-key-of-the-provider"
DUMMY_KEY = "dummy-key-of-the-sandbox"


def records(text):
    """Parses `KEY LENGTH\\nBYTES\\n`... into pairs."""
    if isinstance(text, str):
        text = text.encode()
    pairs, at = [], 0
    while at < len(text):
        line = text.index(b"\n", at)
        key, size = text[at:line].split(b" ")
        begin, end = line + 1, line + 1 + int(size)
        assert text[end:end + 1] == b"\n", "record cut short"
        pairs.append((key.decode(), text[begin:end].decode()))
        at = end + 1
    return pairs


def serialize(pairs):
    return b"".join(f"{key} {len(str(value).encode())}\n{value}\n".encode() for key, value in pairs)


def wait_for(what, seconds=20):
    """Polls: what is waited for is another process's doing, and most of it says nothing when done."""
    until = time.monotonic() + seconds
    while True:
        result = what()
        if result:
            return result
        if time.monotonic() > until:
            raise AssertionError(f"did not happen in {seconds} s")
        time.sleep(0.01)


class Authority:
    """A certificate authority for one test run, and a certificate it signed for names."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.certificate = self.directory / "ca.pem"
        self.key = self.directory / "ca.key"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                      "/CN=test authority", "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", self.key, "-out", self.certificate)

    def sign(self, name):
        """Certificate and key for `name`."""
        key, request, out = (self.directory / f"{name}.{end}" for end in ("key", "csr", "pem"))
        extension = self.directory / f"{name}.ext"
        extension.write_text(f"subjectAltName=DNS:{name}\n")
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", key,
                      "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days", "2",
                      "-extfile", extension, "-out", out)
        return out, key

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Model:
    """The scripted model as a process."""

    def __init__(self, directory, scenarios, tls=None, key=REAL_KEY):
        self.port = free_port()
        self.log = Path(directory) / f"model-{self.port}.log"
        command = [sys.executable, str(SERVE), "--port", str(self.port), "--key", key, "--scenarios", str(scenarios), "--log", str(self.log)]
        if tls:
            command += ["--tls", *map(str, tls)]
        self.process = subprocess.Popen(command)
        wait_for(self._listens)

    def _listens(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def entries(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def requests(self):
        return [entry for entry in self.entries() if "path" in entry]

    def stop(self):
        self.process.kill()
        self.process.wait()


class Gateway:
    """coffer-gateway with a listener that outlives it, as under systemd."""

    def __init__(self, program, directory, base_url, listener=None, authority=None, kinds=("openai-responses", "openai-chat", "anthropic"),
                 more=(), key=REAL_KEY):
        self.program = program
        self.directory = Path(tempfile.mkdtemp(dir=directory, prefix="gateway-"))
        for name in ("in", "out", "credentials"):
            (self.directory / name).mkdir()
        (self.directory / "credentials/key").write_text(key)
        (self.directory / "in/request").write_bytes(serialize(
            [("base-url", base_url), ("dummy-key", DUMMY_KEY), *(("kind", kind) for kind in kinds), *more]))
        self.authority = authority
        self.listener = listener or self._listen()
        self.port = self.listener.getsockname()[1]
        self.process = None
        self.start()

    @staticmethod
    def _listen():
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        return listener

    def start(self, wait=True):
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = str(self.directory / "notify")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(address)
        notify.bind(address)
        notify.settimeout(20)
        environment = {"PATH": "/usr/bin", "CREDENTIALS_DIRECTORY": str(self.directory / "credentials"), "NOTIFY_SOCKET": address,
                       "LISTEN_FDS": "1", "LISTEN_FDNAMES": "model"}
        if self.authority:
            environment["SSL_CERT_FILE"] = str(self.authority)
        command = 'exec env LISTEN_PID=$$ "$0" --in "$1" --out "$2"'
        self.errors = open(self.directory / "stderr", "a")
        self.process = subprocess.Popen(["sh", "-c", command, self.program, str(self.directory / "in"), str(self.directory / "out")],
                                        env=environment, stderr=self.errors, close_fds=False,
                                        preexec_fn=give(self.listener))
        if wait:
            assert b"READY=1" in notify.recv(100)
        notify.close()

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(20)
        self.errors.close()
        return code

    def close(self):
        self.stop(signal.SIGKILL)
        self.listener.close()
        shutil.rmtree(self.directory)

    def usage(self):
        """The requests that ended, as dictionaries."""
        groups = []
        for key, value in records((self.directory / "out/usage").read_bytes()):
            if key in ("begin", "request", "refused"):
                groups.append({})
            groups[-1][key] = value
        return [group for group in groups if "request" in group]

    def report(self):
        return dict(records((self.directory / "out/report").read_bytes()))

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def post(self, path, body, headers=None, connection=None):
        """Status, headers and body of one request with the right dummy key."""
        own = connection is None
        connection = connection or self.connect()
        key = {"x-api-key": DUMMY_KEY} if path.startswith("/v1/messages") else {"Authorization": f"Bearer {DUMMY_KEY}"}
        data = body if isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request("POST", path, data, {**key, "Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        try:
            return response.status, response.headers, response.read()
        finally:
            if own:
                connection.close()

    def raw(self, data, seconds=10):
        """Sends bytes and returns everything that comes back until the gateway closes."""
        with socket.create_connection(("127.0.0.1", self.port), seconds) as client:
            with contextlib.suppress(OSError):
                client.sendall(data)
            return drain(client)


def give(*files):
    """For preexec_fn: makes the files descriptors 3, 4, ... of the child, as systemd does."""
    numbers = [one.fileno() for one in files]

    def place():
        # Away first: one may lie where another is to go, and dup2 onto itself would leave it to be closed.
        high = [fcntl.fcntl(number, fcntl.F_DUPFD, 100) for number in numbers]
        for target, number in enumerate(high, 3):
            os.dup2(number, target, inheritable=True)
            os.close(number)
    return place


def drain(client):
    got = b""
    with contextlib.suppress(OSError):
        while piece := client.recv(65536):
            got += piece
    return got


def server_tls(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
