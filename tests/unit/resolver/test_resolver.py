"""coffer-resolver on real sockets, as under systemd.

    test_resolver.py /build/daemon/workers/resolver/coffer-resolver
"""

import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gateway"))
from rig import give, records, wait_for  # noqa: E402

PROGRAM = "/build/daemon/workers/resolver/coffer-resolver"


def query(name, kind=1, number=7):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


class Resolver(unittest.TestCase):
    def setUp(self):
        self.out = Path(tempfile.mkdtemp(prefix="resolver-test-"))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.tcp = socket.socket()
        self.tcp.bind(("127.0.0.1", 0))
        self.tcp.listen(16)
        for one in (self.udp, self.tcp):
            self.addCleanup(one.close)
        self.start()
        self.client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.client.settimeout(10)
        self.client.connect(self.udp.getsockname())
        self.addCleanup(self.client.close)

    def start(self):
        self.process = subprocess.Popen(["sh", "-c", 'exec env LISTEN_PID=$$ "$0" --out "$1"', PROGRAM, str(self.out)], close_fds=False,
                                        preexec_fn=give(self.udp, self.tcp), env={"PATH": "/usr/bin", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "dns-udp:dns-tcp"})
        self.addCleanup(lambda process=self.process: (process.kill(), process.wait()))

    def ask(self, data):
        self.client.send(data)
        return self.client.recv(4096)

    def report(self):
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(10), 0)
        return self.names("report")

    def names(self, name="names"):
        found, last = {}, None
        for key, value in records((self.out / name).read_bytes()):
            if key == "name":
                last = value
            elif key == "count":
                found[last] = int(value)
            else:
                found[key] = int(value)
        return found

    def test_says_no_and_writes_down_to_whom(self):
        for _ in range(3):
            answer = self.ask(query("api.github.com"))
            self.assertEqual(answer[3] & 15, 3)
        self.assertEqual(self.ask(query("localhost"))[-4:], bytes([127, 0, 0, 1]))
        # Before it answers, however it ends.
        self.assertEqual(self.names()["api.github.com"], 3)
        report = self.report()
        self.assertEqual((report["api.github.com"], report.get("localhost"), report["more"], report["dropped"]), (3, None, 0, 0))

    def test_speaks_tcp_in_pieces_and_more_than_once(self):
        with socket.create_connection(self.tcp.getsockname(), 10) as client:
            one = query("tcp.example")
            for _ in range(2):
                for byte in struct.pack(">H", len(one)) + one:
                    client.send(bytes([byte]))
                size = struct.unpack(">H", client.recv(2, socket.MSG_WAITALL))[0]
                self.assertEqual(client.recv(size, socket.MSG_WAITALL)[3] & 15, 3)
        self.assertEqual(self.report()["tcp.example"], 2)

    def test_tcp_clients_are_bounded(self):
        clients = [socket.create_connection(self.tcp.getsockname(), 10) for _ in range(60)]
        one = query("bounded.example")
        served = 0
        for client in clients:
            try:
                client.sendall(struct.pack(">H", len(one)) + one)
                served += len(client.recv(4096)) > 0
            except OSError:
                pass
        for client in clients:
            client.close()
        self.assertGreater(served, 0)
        self.assertLessEqual(served, 32)
        self.assertEqual(self.ask(query("after.example"))[3] & 15, 3)

    def test_junk_does_not_end_it(self):
        chance = random.Random(17)
        seed = query("a.b.c.example.com", 28)
        for _ in range(1500):
            data = bytearray(seed)
            for _ in range(chance.randrange(1, 6)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            self.client.send(bytes(data[:chance.randrange(len(data) + 1)]))
        self.client.send(b"\0" * 60000)
        with socket.create_connection(self.tcp.getsockname(), 10) as client:
            client.sendall(b"\xff\xff" + b"x" * 1000)
        time_is_up = time.monotonic() + 20
        while True:  # answers to junk come first
            answer = self.ask(query("still.here", number=0xBEEF))
            if answer[:2] == b"\xbe\xef":
                break
            self.assertLess(time.monotonic(), time_is_up)
        self.assertIsNone(self.process.poll())

    def test_a_flood_of_names_is_bounded(self):
        for i in range(700):
            self.ask(query(f"n{i}.example"))
        report = self.report()
        self.assertEqual((len(report), report["more"]), (512 + 2, 700 - 512))
        self.assertLess((self.out / "report").stat().st_size, 200_000)

    def test_a_restart_goes_on_counting(self):
        self.ask(query("twice.example"))
        self.process.kill()
        self.process.wait()
        self.client.send(query("twice.example"))
        self.start()
        self.client.recv(4096)
        self.assertEqual(self.report()["twice.example"], 2)


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
        PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
