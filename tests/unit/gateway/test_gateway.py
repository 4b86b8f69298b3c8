"""coffer-gateway against clients and providers that behave, and against those that do not.

    test_gateway.py /build/daemon/workers/gateway/coffer-gateway
"""

import concurrent.futures
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from rig import DUMMY_KEY, REAL_KEY, Authority, Gateway, Model, drain, free_port, records, serialize, server_tls, wait_for

PROGRAM = "/build/daemon/workers/gateway/coffer-gateway"

SCENARIO = {"branches": [
    {"match": "^hello", "steps": [{"text": "Good day."}]},
    {"match": "^limited", "steps": [{"error": {"status": 429, "type": "rate_limit_error", "message": "slower", "headers": {"Retry-After": "20"}}}]},
    {"match": "^broken", "steps": [{"error": {"status": 500, "type": "api_error", "message": "oops"}}]},
    {"match": "^cut", "steps": [{"cut": True}]},
    {"match": "^hold", "steps": [{"hold": 30}]},
    {"match": "^short hold", "steps": [{"hold": 1, "text": "done"}]},
    {"match": "^redirect", "steps": [{"error": {"status": 307, "type": "moved", "headers": {"Location": "https://elsewhere.example/v1/responses"}}}]},
]}


def responses(text, stream=True):
    return {"model": "test", "stream": stream, "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}]}


def chat(text, stream=True):
    return {"model": "test", "stream": stream, "messages": [{"role": "user", "content": text}]}


def messages(text, stream=True):
    return {"model": "test", "max_tokens": 100, "stream": stream, "messages": [{"role": "user", "content": text}]}


def head(*lines, path="/v1/responses", method="POST", host=True, port=0):
    """A request's header with the right key, by hand."""
    first = [f"{method} {path} HTTP/1.1"] + ([f"Host: 127.0.0.1:{port}"] if host else [])
    return ("\r\n".join([*first, f"Authorization: Bearer {DUMMY_KEY}", *lines]) + "\r\n\r\n").encode()


def read_request(stream):
    """A whole request: closing with bytes unread would reset the connection and take the answer with it."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += stream.recv(65536)
    header, body = got.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)content-length: (\d+)", header)[1])
    while len(body) < length:
        body += stream.recv(65536)
    return header


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="gateway-test-")
        scenarios = Path(cls.directory) / "scenarios"
        scenarios.mkdir()
        (scenarios / "test.json").write_text(json.dumps(SCENARIO))
        cls.scenarios = scenarios
        cls.authority = Authority(cls.directory)
        cls.tls = cls.authority.sign("model.example")
        cls.model = Model(cls.directory, scenarios, cls.tls)

    @classmethod
    def tearDownClass(cls):
        cls.model.stop()
        shutil.rmtree(cls.directory)

    def gateway(self, base=None, more=(), address=None, **options):
        options.setdefault("authority", self.authority.certificate)
        gateway = Gateway(PROGRAM, self.directory, base or f"https://model.example:{self.model.port}/v1",
                          more=[("address", address or f"127.0.0.1:{self.model.port}"), *more], **options)
        self.addCleanup(gateway.close)
        return gateway

    def seen(self):
        return len(self.model.requests())

    def play(self, script):
        """Listens; `script(socket)` speaks on each connection after the request arrived."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        self.addCleanup(listener.close)
        context = server_tls(*self.tls)

        def speak():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                try:
                    stream = context.wrap_socket(client, server_side=True)
                    read_request(stream)
                    try:
                        script(stream)
                    finally:
                        os.close(stream.detach())  # without TLS's farewell
                except OSError:
                    pass
        threading.Thread(target=speak, daemon=True).start()
        return listener.getsockname()[1]

    def against(self, script, **options):
        port = self.play(script)
        return self.gateway(f"https://model.example:{port}", address=f"127.0.0.1:{port}", **options)


class Carrying(Case):
    def test_carries_the_three_protocols_with_the_real_key_and_counts_them(self):
        gateway = self.gateway()
        for stream in (True, False):
            for path, body in (("/v1/responses", responses), ("/v1/chat/completions", chat), ("/v1/messages?beta=true", messages)):
                status, headers, got = gateway.post(path, body("hello", stream))
                self.assertEqual(status, 200, got)
                self.assertIn(b"Good day.", got)
        self.assertEqual([entry for entry in self.model.entries() if "unexpected" in entry], [])
        usage = wait_for(lambda: len(gateway.usage()) == 6 and gateway.usage())
        counts = [tuple(int(one[key]) for key in ("input", "cached", "cache-write", "output")) for one in usage]
        self.assertEqual(counts, [(600, 400, 0, 50), (600, 400, 0, 50), (100, 300, 200, 42)] * 2)
        self.assertEqual({one["model"] for one in usage}, {"test"})
        self.assertFalse([one for one in usage if "error" in one or "estimated" in one])
        self.assertEqual(gateway.stop(), 0)
        report = gateway.report()
        self.assertEqual((report["requests"], report["input"], report["output"]), ("6", "2600", "284"))

    def test_streams_as_it_comes(self):
        gateway = self.gateway()
        connection = gateway.connect()
        connection.request("POST", "/v1/responses", json.dumps(responses("hold")), {"Authorization": f"Bearer {DUMMY_KEY}"})
        self.assertIn(b"response.created", connection.getresponse().read1())
        connection.close()

    def test_one_connection_serves_many_requests_and_many_connections_at_once(self):
        gateway = self.gateway()
        connection = gateway.connect()
        for _ in range(5):
            self.assertEqual(gateway.post("/v1/responses", responses("hello"), connection=connection)[0], 200)
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            self.assertEqual({status for status, _, _ in pool.map(lambda _: gateway.post("/v1/responses", responses("short hold")), range(20))},
                             {200})
        self.assertEqual(len(wait_for(lambda: len(gateway.usage()) == 25 and gateway.usage())), 25)

    def test_requests_sent_ahead_are_answered_in_order(self):
        gateway = self.gateway()
        data = json.dumps(responses("short hold")).encode()
        answer = gateway.raw(head(f"Content-Length: {len(data)}", port=gateway.port) + data +
                             head("Connection: close", method="GET", path="/v1/models", port=gateway.port), 30)
        self.assertEqual(answer.count(b"HTTP/1.1 200 "), 2)
        self.assertLess(answer.index(b"response.completed"), answer.index(b'"list"'))

    def test_large_and_chunked_bodies_arrive_whole(self):
        gateway = self.gateway()
        body = responses("hello")
        body["padding"] = "x" * 3_000_000
        self.assertEqual(gateway.post("/v1/responses", body)[0], 200)
        connection = gateway.connect()
        data = json.dumps(body).encode()
        connection.request("POST", "/v1/responses", iter([data[:1000], data[1000:]]), {"Authorization": f"Bearer {DUMMY_KEY}"}, encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 200)

    def test_waits_for_the_word_to_go_on(self):
        gateway = self.gateway()
        data = json.dumps(responses("hello")).encode()
        with socket.create_connection(("127.0.0.1", gateway.port), 10) as client:
            client.sendall(head(f"Content-Length: {len(data)}", "Expect: 100-continue", "Connection: close", port=gateway.port))
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 100"))
            client.sendall(data)
            self.assertIn(b"Good day.", drain(client))

    def test_lists_models_and_counts_tokens_for_nothing(self):
        gateway = self.gateway()
        connection = gateway.connect()
        connection.request("GET", "/v1/models?client_version=0.171.0", headers={"Authorization": f"Bearer {DUMMY_KEY}"})
        self.assertEqual(connection.getresponse().status, 200)
        self.assertEqual(gateway.post("/v1/messages/count_tokens?beta=true", messages("hello"))[0], 200)
        usage = wait_for(lambda: len(gateway.usage()) == 2 and gateway.usage())
        self.assertEqual({one["input"] for one in usage}, {"0"})

    def test_a_plain_http_provider_works_where_an_administrator_named_it(self):
        plain = Model(self.directory, self.scenarios)
        self.addCleanup(plain.stop)
        gateway = self.gateway(f"http://127.0.0.1:{plain.port}", address=f"127.0.0.1:{plain.port}")
        self.assertEqual(gateway.post("/v1/responses", responses("hello"))[0], 200)

    def test_tells_no_key_to_anyone(self):
        gateway = self.gateway()
        gateway.post("/v1/responses", responses("hello"))
        gateway.post("/v1/responses", responses("hello"), {"Authorization": "Bearer wrong"})
        gateway.stop()
        for path in gateway.directory.rglob("*"):
            if path.is_file() and path.parent.name not in ("in", "credentials"):
                text = path.read_bytes()
                for secret in (REAL_KEY, DUMMY_KEY, "hello", "Good day"):
                    self.assertNotIn(secret.encode(), text, path)


class Refusing(Case):
    def test_what_an_agent_needs_not_is_refused_with_the_reason(self):
        gateway = self.gateway()
        before = self.seen()
        for method, path, status in (("GET", "/v1/files", 403), ("POST", "/v1/files", 403), ("POST", "/v1/../admin", 403),
                                     ("POST", "/v1%2fresponses", 403), ("POST", "//v1/responses", 403), ("DELETE", "/v1/responses", 403),
                                     ("GET", "http://169.254.169.254/latest", 421), ("CONNECT", "example.com:443", 421)):
            answer = gateway.raw(head("Connection: close", "Content-Length: 0", method=method, path=path, port=gateway.port))
            self.assertEqual(answer.split(b" ")[1], str(status).encode(), (method, path, answer))
            body = json.loads(answer.split(b"\r\n\r\n", 1)[1])
            self.assertEqual(body["type"], "error")
            self.assertTrue(body["error"]["message"].endswith("."))
        self.assertEqual(self.seen(), before)
        gateway.stop()
        self.assertEqual(gateway.report()["refused"], "8")

    def test_a_wrong_key_is_refused(self):
        gateway = self.gateway()
        before = self.seen()
        for headers in ({"Authorization": "Bearer wrong"}, {"Authorization": ""}, {"Authorization": f"Basic {DUMMY_KEY}"},
                        {"x-api-key": "wrong"}, {"Authorization": f"Bearer {REAL_KEY}"}, {"Authorization": f"Bearer {DUMMY_KEY}x"}):
            self.assertEqual(gateway.post("/v1/responses", responses("hello"), headers)[0], 401, headers)
        self.assertEqual(self.seen(), before)

    def test_another_host_is_refused(self):
        gateway = self.gateway()
        for lines in (["Host: api.openai.com"], [], [f"Host: 127.0.0.1:{gateway.port}", "Host: other"], ["Host: 127.0.0.1:1"]):
            answer = gateway.raw(head(*lines, "Content-Length: 0", "Connection: close", host=False))
            self.assertEqual(answer.split(b" ")[1], b"421", answer)

    def test_a_websocket_is_answered_so_that_codex_goes_on_at_once(self):
        gateway = self.gateway()
        answer = gateway.raw(head("Connection: Upgrade, close", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                                  method="GET", port=gateway.port), 2)
        self.assertTrue(answer.startswith(b"HTTP/1.1 426 "), answer)

    def test_ambiguous_requests_never_reach_the_provider(self):
        gateway = self.gateway()
        before = self.seen()
        smuggled = b"0\r\n\r\nPOST /v1/responses HTTP/1.1\r\n"
        for lines in (["Content-Length: 5", "Transfer-Encoding: chunked"], ["Transfer-Encoding: chunked", "Content-Length: 5"],
                      ["Content-Length: 5", "Content-Length: 6"], ["Content-Length: -1"], ["Content-Length: 99999999999999999999"],
                      ["Transfer-Encoding: chunked, identity"], ["Bad Header: x"], ["Content-Length : 5"]):
            answer = gateway.raw(head(*lines, port=gateway.port) + smuggled, 5)
            self.assertIn(answer.split(b" ")[1], (b"400", b"413", b"431"), (lines, answer))
            self.assertEqual(answer.count(b"HTTP/1.1"), 1, answer)
        bare = head("Content-Length: 5", port=gateway.port).replace(b"\r\n", b"\n") + b"hello"
        self.assertTrue(gateway.raw(bare, 5).startswith(b"HTTP/1.1 400 "))
        self.assertTrue(gateway.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(200), 5).startswith(b"HTTP/1.1 400 "))
        old = head("Content-Length: 0", port=gateway.port).replace(b"HTTP/1.1", b"HTTP/1.0")
        self.assertTrue(gateway.raw(old, 5).startswith(b"HTTP/1.1 505 "))
        self.assertEqual(self.seen(), before)

    def test_an_endless_header_is_cut(self):
        gateway = self.gateway()
        with socket.create_connection(("127.0.0.1", gateway.port), 10) as client:
            sent = 0
            try:
                client.sendall(b"POST /v1/responses HTTP/1.1\r\n")
                while sent < 20_000_000:
                    client.sendall(b"X-Filler: " + b"a" * 1000 + b"\r\n")
                    sent += 1012
            except OSError:
                pass
        self.assertLess(sent, 8_000_000)
        self.assertEqual(gateway.post("/v1/responses", responses("hello"))[0], 200)

    def test_a_body_over_the_limit_is_refused_or_cut(self):
        gateway = self.gateway(more=[("request-bytes", "100000")])
        before = self.seen()
        self.assertEqual(gateway.post("/v1/responses", b"x" * 100001)[0], 413)
        self.assertEqual(self.seen(), before)
        chunk = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
        answer = gateway.raw(head("Transfer-Encoding: chunked", port=gateway.port) + chunk * 40)
        self.assertIn(answer[:12], (b"HTTP/1.1 413", b""))
        self.assertEqual(wait_for(gateway.usage)[-1]["error"], "body")
        self.assertEqual(gateway.post("/v1/responses", responses("hello"))[0], 200)

    def test_compressed_bodies_are_refused(self):
        gateway = self.gateway()
        self.assertEqual(gateway.post("/v1/responses", b"\x28\xb5\x2f\xfd", {"Content-Encoding": "zstd"})[0], 415)


class Provider(Case):
    """A provider that is played by hand, to do what a decent server cannot."""

    def test_an_untrusted_certificate_gets_nothing(self):
        other = Authority(tempfile.mkdtemp(dir=self.directory))
        gateway = self.gateway(authority=other.certificate)
        before = self.seen()
        status, _, body = gateway.post("/v1/responses", responses("hello"))
        self.assertEqual((status, json.loads(body)["error"]["type"]), (502, "provider_tls"))
        self.assertEqual(self.seen(), before)
        self.assertEqual(gateway.usage()[0]["error"], "tls")

    def test_a_certificate_for_another_name_gets_nothing(self):
        gateway = self.gateway(f"https://other.example:{self.model.port}/v1")
        before = self.seen()
        self.assertEqual(gateway.post("/v1/responses", responses("hello"))[0], 502)
        self.assertEqual(self.seen(), before)

    def test_an_address_nobody_named_is_not_dialled(self):
        for host in ("127.0.0.1", "localhost", "[::1]"):
            gateway = Gateway(PROGRAM, self.directory, f"https://{host}:{self.model.port}/v1", authority=self.authority.certificate)
            self.addCleanup(gateway.close)
            connections = len(self.model.entries())
            status, _, body = gateway.post("/v1/responses", responses("hello"))
            self.assertEqual((status, json.loads(body)["error"]["type"]), (502, "provider_unreachable"))
            self.assertEqual(len(self.model.entries()), connections)

    def test_a_redirect_is_not_followed_nor_passed_on(self):
        gateway = self.gateway()
        status, headers, body = gateway.post("/v1/responses", responses("redirect"))
        self.assertEqual((status, json.loads(body)["error"]["type"]), (502, "provider_redirect"))
        self.assertNotIn("Location", headers)
        self.assertEqual(gateway.usage()[0]["error"], "redirect")

    def test_limits_and_faults_pass_untouched_and_are_told_apart(self):
        gateway = self.gateway()
        status, headers, body = gateway.post("/v1/messages", messages("limited"))
        self.assertEqual((status, headers["Retry-After"]), (429, "20"))
        self.assertEqual(json.loads(body)["error"]["message"], "slower")
        self.assertEqual(gateway.post("/v1/messages", messages("broken"))[0], 500)
        usage = wait_for(lambda: len(gateway.usage()) == 2 and gateway.usage())
        self.assertEqual((usage[0]["error"], usage[0]["retry-after"], usage[0]["input"]), ("rate-limit", "20", "0"))
        self.assertEqual((usage[1]["error"], usage[1]["status"]), ("server", "500"))
        gateway.stop()
        self.assertEqual(gateway.report()["error"], "server")

    def test_an_agent_that_leaves_on_seeing_a_refusal_does_not_hide_it(self):
        left = threading.Event()

        def refuse(stream):
            stream.sendall(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1000\r\n\r\n{")
            left.wait(10)
        gateway = self.against(refuse)
        connection = gateway.connect()
        connection.request("POST", "/v1/responses", json.dumps(responses("hello")), {"Authorization": f"Bearer {DUMMY_KEY}"})
        response = connection.getresponse()
        self.assertEqual(response.status, 500)
        response.close()
        connection.close()
        usage = wait_for(gateway.usage)[0]
        left.set()
        self.assertEqual((usage["status"], usage["error"]), ("500", "server"))

    def test_a_cut_stream_is_cut_for_the_agent_too_and_charged(self):
        gateway = self.gateway()
        answer = gateway.raw(head(f"Content-Length: {len(json.dumps(responses('cut')))}", port=gateway.port) + json.dumps(responses("cut")).encode())
        self.assertIn(b"response.created", answer)
        self.assertFalse(answer.endswith(b"0\r\n\r\n"))
        usage = wait_for(gateway.usage)[0]
        self.assertEqual((usage["error"], usage["estimated"]), ("cut", "yes"))
        self.assertGreater(int(usage["output"]), 0)

    def test_an_end_without_tlss_farewell_ends_a_body_without_length(self):
        gateway = self.against(lambda stream: stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"usage\":{\"input_tokens\":7}}"))
        status, _, body = gateway.post("/v1/responses", responses("hello"))
        self.assertEqual((status, json.loads(body)["usage"]["input_tokens"]), (200, 7))
        usage = wait_for(gateway.usage)[0]
        self.assertNotIn("error", usage)
        self.assertEqual(usage["input"], "7")

    def test_an_end_in_the_middle_of_a_body_with_length_is_a_cut(self):
        gateway = self.against(lambda stream: stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"usage\""))
        answer = gateway.raw(head("Content-Length: 2", port=gateway.port) + b"{}")
        self.assertIn(b"Content-Length: 1000", answer)
        self.assertEqual(wait_for(gateway.usage)[0]["error"], "cut")

    def test_a_provider_that_hangs_up_or_talks_nonsense_is_a_502(self):
        for words in (b"", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                      b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20000 + b"\r\n"):
            gateway = self.against(lambda stream, words=words: stream.sendall(words))
            self.assertEqual(gateway.post("/v1/responses", responses("hello"))[0], 502, words[:60])
            self.assertEqual(gateway.usage()[0]["error"], "cut")

    def test_a_provider_cannot_switch_protocols_or_set_what_stays(self):
        gateway = self.against(lambda stream: stream.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"))
        self.assertEqual(gateway.post("/v1/responses", responses("hello"))[0], 502)
        gateway = self.against(lambda stream: stream.sendall(
            b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nAlt-Svc: h3=\":443\"\r\nX-Private: 1\r\nConnection: X-Private\r\nX-Id: 5\r\nContent-Length: 2\r\n\r\n{}"))
        _, headers, _ = gateway.post("/v1/responses", responses("hello"))
        self.assertEqual([headers[name] for name in ("Set-Cookie", "Alt-Svc", "X-Private", "X-Id")], [None, None, None, "5"])

    def test_words_before_the_answer_are_skipped(self):
        gateway = self.against(lambda stream: stream.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
        self.assertEqual(gateway.post("/v1/responses", responses("hello"))[0], 200)

    def test_an_endless_event_stays_within_its_memory(self):
        def flood(stream):
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: ")
            for _ in range(1000):
                stream.sendall(b"x" * 65536)
        gateway = self.against(flood)
        self.assertGreater(len(gateway.post("/v1/responses", responses("hello"))[2]), 65_000_000)
        peak = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{gateway.process.pid}/status").read_text())[1])
        self.assertLess(peak, 60_000)
        self.assertIn("estimated", wait_for(gateway.usage)[0])

    def test_keys_are_sent_by_the_header_the_protocol_wants(self):
        asked = []
        port = None

        def script(stream):
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        self.addCleanup(listener.close)
        port = listener.getsockname()[1]

        def speak():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                asked.append(read_request(client).decode())
                script(client)
                client.close()
        threading.Thread(target=speak, daemon=True).start()
        gateway = self.gateway(f"http://127.0.0.1:{port}", address=f"127.0.0.1:{port}")
        secret = {"Cookie": "a=b", "Accept-Encoding": "zstd", "X-Forwarded-For": "1.2.3.4", "Connection": "X-Hop, keep-alive", "X-Hop": "1",
                  "User-Agent": "agent/1"}
        gateway.post("/v1/responses", responses("hello"), secret)
        gateway.post("/v1/messages?beta=true", messages("hello"), secret)
        for one in asked:
            for name in ("cookie", "accept-encoding", "x-forwarded-for", "x-hop", DUMMY_KEY):
                self.assertNotIn(name, one.lower())
            self.assertIn("agent/1", one)
            self.assertIn(f"Host: 127.0.0.1:{port}", one)
        self.assertIn(f"Authorization: Bearer {REAL_KEY}", asked[0])
        self.assertNotIn("x-api-key", asked[0].lower())
        self.assertIn(f"x-api-key: {REAL_KEY}", asked[1])
        self.assertNotIn("authorization", asked[1].lower())


class Accounting(Case):
    def test_an_agent_that_hangs_up_stops_the_model_and_pays(self):
        gateway = self.gateway()
        before = len([entry for entry in self.model.entries() if "gone" in entry])
        connection = gateway.connect()
        connection.request("POST", "/v1/responses", json.dumps(responses("hold")), {"Authorization": f"Bearer {DUMMY_KEY}"})
        response = connection.getresponse()
        response.read1()
        response.close()
        connection.close()
        usage = wait_for(gateway.usage)[0]
        self.assertEqual((usage["error"], usage["estimated"]), ("client-gone", "yes"))
        self.assertGreater(int(usage["input"]) + int(usage["output"]), 0)
        wait_for(lambda: len([entry for entry in self.model.entries() if "gone" in entry or "broken" in entry]) > before)

    def test_hanging_up_while_the_model_is_silent_is_seen_at_once(self):
        left = threading.Event()

        def silent(stream):
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n: on\n\r\n")
            stream.settimeout(15)
            try:
                stream.recv(1)
                left.set()
            except TimeoutError:
                pass
            except OSError:
                left.set()
        gateway = self.against(silent)
        connection = gateway.connect()
        connection.request("POST", "/v1/responses", json.dumps(responses("hello")), {"Authorization": f"Bearer {DUMMY_KEY}"})
        response = connection.getresponse()
        response.read1()
        response.close()
        connection.close()
        self.assertTrue(left.wait(10))
        self.assertEqual(wait_for(gateway.usage)[0]["error"], "client-gone")

    def test_a_budget_holds_in_the_middle_of_a_turn_and_against_parallel_requests(self):
        gateway = self.gateway(more=[("budget", "20000")])
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            got = list(pool.map(lambda _: gateway.post("/v1/responses", responses("short hold")), range(10)))
        self.assertEqual(sorted(status for status, _, _ in got), [200] * 2 + [429] * 8)
        refused = next(one for one in got if one[0] == 429)
        self.assertEqual(refused[1]["x-should-retry"], "false")
        self.assertEqual(json.loads(refused[2])["error"]["type"], "insufficient_quota")
        self.assertEqual(wait_for(lambda: len(gateway.usage()) == 10 and gateway.usage())[0]["error"], "budget")

    def test_what_costs_nothing_is_counted_too(self):
        gateway = self.gateway()
        gateway.stop()
        (gateway.directory / "out/usage").write_bytes(serialize([("begin", 3999), ("path", "/v1/models"), ("reserve", 0)]))
        gateway.start()
        for expected in (200, 429, 429):
            connection = gateway.connect()
            connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {DUMMY_KEY}"})
            self.assertEqual(connection.getresponse().status, expected)
            connection.close()
        self.assertEqual(gateway.post("/v1/messages/count_tokens?beta=true", messages("hello"))[0], 429)
        self.assertEqual(gateway.post("/v1/responses", responses("hello"))[0], 429)

    def test_a_restart_refuses_nobody_and_counts_once(self):
        gateway = self.gateway()
        gateway.post("/v1/responses", responses("hello"))
        connection = gateway.connect()
        connection.request("POST", "/v1/responses", json.dumps(responses("hold")), {"Authorization": f"Bearer {DUMMY_KEY}"})
        connection.getresponse().read1()
        gateway.stop(signal.SIGKILL)
        connection.close()
        waiting = concurrent.futures.ThreadPoolExecutor(1).submit(gateway.post, "/v1/responses", responses("hello"))
        gateway.start()
        self.assertEqual(waiting.result()[0], 200)
        usage = wait_for(lambda: len(gateway.usage()) == 3 and gateway.usage())
        self.assertEqual([one.get("error") for one in usage], [None, "stopped", None])
        self.assertEqual([one["request"] for one in usage], ["1", "2", "3"])
        self.assertEqual(gateway.stop(), 0)
        self.assertEqual(gateway.report()["requests"], "3")

    def test_told_to_stop_it_records_what_is_open_and_ends(self):
        gateway = self.gateway()
        connection = gateway.connect()
        connection.request("POST", "/v1/responses", json.dumps(responses("hold")), {"Authorization": f"Bearer {DUMMY_KEY}"})
        connection.getresponse().read1()
        self.assertEqual(gateway.stop(), 0)
        connection.close()
        report = gateway.report()
        self.assertEqual((report["requests"], report["estimated"], report["error"]), ("1", "1", "stopped"))

    def test_what_cannot_be_written_down_is_not_done(self):
        gateway = self.gateway()
        gateway.stop()
        (gateway.directory / "out/usage").unlink()
        (gateway.directory / "out/usage").symlink_to("/dev/full")
        gateway.start(wait=False)
        self.assertNotEqual(gateway.process.wait(20), 0)


class Starting(Case):
    def refused(self, base="https://model.example/v1", **options):
        gateway = Gateway.__new__(Gateway)
        original, Gateway.start = Gateway.start, lambda *_: None
        try:
            gateway.__init__(PROGRAM, self.directory, base, **options)
        finally:
            Gateway.start = original
        gateway.start(wait=False)
        self.addCleanup(gateway.close)
        self.assertEqual(gateway.process.wait(20), 0)
        return gateway.report()

    def test_a_bad_request_is_a_refusal_with_the_reason(self):
        self.assertEqual(self.refused("http://model.example/v1")["refused"], "InvalidArgument")
        self.assertEqual(self.refused("ftp://model.example")["refused"], "InvalidArgument")
        self.assertEqual(self.refused(kinds=("gemini",))["refused"], "InvalidArgument")
        self.assertEqual(self.refused(key="two\nlines")["refused"], "InvalidArgument")
        self.assertIn("budget", self.refused(more=[("budget", "lots")])["message"])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-") and os.path.exists(sys.argv[1]):
        PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
