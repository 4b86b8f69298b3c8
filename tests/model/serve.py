#!/usr/bin/env python3
"""A model that follows a script, for tests: OpenAI Responses, OpenAI chat completions and Anthropic Messages.

It keeps no state. The model's name picks the scenario, the newest user text picks the branch, and the number of tool results
after that text picks the step. What it does not expect is answered with 500 and written to the log as a failure.

A scenario is a file NAME.json with {"branches": [...]} or NAME.py with BRANCHES = [...]. A branch is
{"match": REGEX on the newest user text, "steps": [STEP, ...]}; the first branch that matches is played. A step is one of
  {"shell": COMMAND}            the agent runs it with its shell tool
  {"text": TEXT}                the model's last word
  {"error": {"status": 429, "type": "rate_limit_error", "message": "...", "headers": {...}}}
  {"cut": true}                 half a reply, then the connection is closed
  {"hold": SECONDS}             words and silence, until the time is over or the client leaves
and, with "if": REGEX, is played only when that matches the newest user text too.

    serve.py --port N [--tls CERT KEY] --key KEY --scenarios DIR --log FILE
"""

import argparse
import json
import re
import runpy
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# What every reply says it cost; tests compare with these.
OPENAI_USAGE = {"input": 1000, "cached": 400, "output": 50}
MESSAGES_USAGE = {"input": 100, "cached": 300, "cache_write": 200, "output": 42}

SHELL_TOOLS = ("exec_command", "shell", "shell_command", "local_shell", "Bash", "bash", "run_shell_command")
TITLE = "Scripted task"


class Unexpected(Exception):
    """The request is none that the scenario foresees."""


class Overdone(Exception):
    """The step is to fail in a way the scenario wants."""


def text_of(content):
    """All text of a message's content, whatever its shape."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif part.get("type") in ("text", "input_text", "output_text"):
            parts.append(part.get("text", ""))
    return "\n".join(parts)


class Conversation:
    """What the three protocols have in common: the newest user text, the tool results after it, the shell tool's name."""

    def __init__(self, model, user, results, tools, system=""):
        self.model = model
        self.user = user
        self.results = results
        self.tools = tools
        self.system = system

    def shell_tool(self):
        for name in SHELL_TOOLS:
            if name in self.tools:
                return name
        raise Unexpected(f"no shell tool among {sorted(self.tools)}")


def is_context(text):
    """Text that an agent adds by itself under the user's name."""
    return re.match(r"\s*<(environment_context|user_instructions|system-reminder|permissions)", text) is not None and not re.search(
        r"(?m)^(Role|Turn): ", text)


def read_responses(body):
    user, results = None, 0
    for item in body.get("input", []):
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") == "user":
            text = text_of(item.get("content"))
            if not is_context(text):
                user, results = text, 0
        elif kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
            results += 1
    tools = {tool.get("name") or tool.get("type"): tool for tool in body.get("tools", [])}
    return Conversation(body.get("model"), user, results, tools, body.get("instructions") or "")


def read_chat(body):
    user, results, system = None, 0, ""
    for message in body.get("messages", []):
        role = message.get("role")
        if role == "user":
            text = text_of(message.get("content"))
            if not is_context(text):
                user, results = text, 0
        elif role == "tool":
            results += 1
        elif role in ("system", "developer"):
            system += text_of(message.get("content"))
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or []}
    return Conversation(body.get("model"), user, results, tools, system)


def read_messages(body):
    user, results = None, 0
    for message in body.get("messages", []):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        answers = sum(1 for block in blocks if block.get("type") == "tool_result")
        if answers:
            results += answers
        elif not is_context(text_of(content)):
            user, results = text_of(content), 0
    tools = {tool.get("name"): tool for tool in body.get("tools") or []}
    return Conversation(body.get("model"), user, results, tools, text_of(body.get("system")))


READERS = {"responses": read_responses, "chat": read_chat, "messages": read_messages}


def load_scenario(directory, name):
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,63}", name):
        raise Unexpected(f"no scenario can be named {name!r}")
    script = directory / f"{name}.py"
    if script.exists():
        return runpy.run_path(str(script))["BRANCHES"]
    data = directory / f"{name}.json"
    if data.exists():
        return json.loads(data.read_text())["branches"]
    raise Unexpected(f"no scenario {name}")


def choose(directory, conversation):
    """Branch number, step number and step."""
    if conversation.user is None:
        raise Unexpected("no user text")
    for number, branch in enumerate(load_scenario(directory, conversation.model)):
        if not re.search(branch["match"], conversation.user):
            continue
        steps = [step for step in branch["steps"] if "if" not in step or re.search(step["if"], conversation.user)]
        if conversation.results >= len(steps):
            raise Unexpected(f"branch {branch['match']!r} has no step {conversation.results}")
        return number, conversation.results, steps[conversation.results]
    raise Unexpected(f"no branch of {conversation.model} for this text: {conversation.user[:400]!r}")


def arguments_for(tool, schema, command):
    """The arguments of the agent's shell tool, as its own description of it wants them."""
    properties = (schema.get("parameters") or schema.get("input_schema") or {}).get("properties", {})
    if "cmd" in properties:
        arguments = {"cmd": command}
        if "yield_time_ms" in properties:
            arguments["yield_time_ms"] = 30000
        return arguments
    if properties.get("command", {}).get("type") == "array":
        return {"command": ["bash", "-c", command]}
    arguments = {"command": command}
    if "description" in properties:
        arguments["description"] = "Work on the task"
    return arguments


class Reply:
    """Writes one step in one protocol, as a stream or as one JSON text."""

    def __init__(self, handler, conversation, step):
        self.handler = handler
        self.model = conversation.model
        self.step = step
        self.call = None
        if "shell" in step:
            tool = conversation.shell_tool()
            self.call = (tool, json.dumps(arguments_for(tool, conversation.tools[tool], step["shell"])))
        self.text = step.get("text", "")
        self.id = f"{int(time.monotonic() * 1e6):x}"

    def send(self, stream):
        if stream:
            events = self.events()
            self.handler.begin(200, "text/event-stream")
            if "cut" in self.step:
                self.handler.chunk(self.frame(events[0]))
                raise Overdone
            if "hold" in self.step:
                self.handler.chunk(self.frame(events[0]))
                until = time.monotonic() + self.step["hold"]
                while time.monotonic() < until:
                    self.handler.chunk(b": waiting\n\n")
                    time.sleep(0.05)
            for event in events:
                self.handler.chunk(self.frame(event))
            self.handler.end_stream()
        else:
            self.handler.whole(200, self.json())

    def frame(self, event):
        name, data = event
        text = data if isinstance(data, str) else json.dumps(data)
        return ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()


class ResponsesReply(Reply):
    def item(self):
        if self.call:
            return {"type": "function_call", "id": f"fc_{self.id}", "call_id": f"call_{self.id}", "name": self.call[0],
                    "arguments": self.call[1], "status": "completed"}
        return {"type": "message", "id": f"msg_{self.id}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": self.text, "annotations": []}]}

    def json(self):
        return {"id": f"resp_{self.id}", "object": "response", "model": self.model, "status": "completed", "output": [self.item()],
                "usage": {"input_tokens": OPENAI_USAGE["input"], "input_tokens_details": {"cached_tokens": OPENAI_USAGE["cached"]},
                          "output_tokens": OPENAI_USAGE["output"], "output_tokens_details": {"reasoning_tokens": 0},
                          "total_tokens": OPENAI_USAGE["input"] + OPENAI_USAGE["output"]}}

    def events(self):
        item = self.item()
        begun = {"id": f"resp_{self.id}", "object": "response", "model": self.model, "status": "in_progress", "output": []}
        listed = [{"type": "response.created", "response": begun},
                  {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}}]
        if not self.call:
            listed.append({"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0,
                           "delta": self.text})
        listed += [{"type": "response.output_item.done", "output_index": 0, "item": item},
                   {"type": "response.completed", "response": self.json()}]
        return [(data["type"], {**data, "sequence_number": number}) for number, data in enumerate(listed)]


class ChatReply(Reply):
    include_usage = True

    def usage(self):
        return {"prompt_tokens": OPENAI_USAGE["input"], "prompt_tokens_details": {"cached_tokens": OPENAI_USAGE["cached"]},
                "completion_tokens": OPENAI_USAGE["output"], "total_tokens": OPENAI_USAGE["input"] + OPENAI_USAGE["output"]}

    def calls(self):
        return [{"index": 0, "id": f"call_{self.id}", "type": "function",
                 "function": {"name": self.call[0], "arguments": self.call[1]}}]

    def json(self):
        message = {"role": "assistant", "content": None if self.call else self.text}
        if self.call:
            message["tool_calls"] = self.calls()
        return {"id": f"chatcmpl-{self.id}", "object": "chat.completion", "created": int(time.time()), "model": self.model,
                "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if self.call else "stop"}],
                "usage": self.usage()}

    def events(self):
        def piece(delta, finish=None):
            return {"id": f"chatcmpl-{self.id}", "object": "chat.completion.chunk", "created": int(time.time()), "model": self.model,
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        delta = {"role": "assistant", "tool_calls": self.calls()} if self.call else {"role": "assistant", "content": self.text}
        listed = [piece(delta), piece({}, "tool_calls" if self.call else "stop")]
        if self.include_usage:
            listed.append({**piece({}), "choices": [], "usage": self.usage()})
        return [("", data) for data in listed] + [("", "[DONE]")]


class MessagesReply(Reply):
    def usage(self, output):
        return {"input_tokens": MESSAGES_USAGE["input"], "cache_read_input_tokens": MESSAGES_USAGE["cached"],
                "cache_creation_input_tokens": MESSAGES_USAGE["cache_write"], "output_tokens": output}

    def block(self):
        if self.call:
            return {"type": "tool_use", "id": f"toolu_{self.id}", "name": self.call[0], "input": json.loads(self.call[1])}
        return {"type": "text", "text": self.text}

    def json(self):
        return {"id": f"msg_{self.id}", "type": "message", "role": "assistant", "model": self.model, "content": [self.block()],
                "stop_reason": "tool_use" if self.call else "end_turn", "stop_sequence": None,
                "usage": self.usage(MESSAGES_USAGE["output"])}

    def events(self):
        start = {**self.json(), "content": [], "stop_reason": None, "usage": self.usage(1)}
        if self.call:
            empty = {**self.block(), "input": {}}
            delta = {"type": "input_json_delta", "partial_json": self.call[1]}
        else:
            empty = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": self.text}
        listed = [{"type": "message_start", "message": start},
                  {"type": "content_block_start", "index": 0, "content_block": empty},
                  {"type": "ping"},
                  {"type": "content_block_delta", "index": 0, "delta": delta},
                  {"type": "content_block_stop", "index": 0},
                  {"type": "message_delta", "delta": {"stop_reason": "tool_use" if self.call else "end_turn", "stop_sequence": None},
                   "usage": self.usage(MESSAGES_USAGE["output"])},
                  {"type": "message_stop"}]
        return [(data["type"], data) for data in listed]


REPLIES = {"responses": ResponsesReply, "chat": ChatReply, "messages": MessagesReply}
PATHS = {"/v1/responses": "responses", "/v1/chat/completions": "chat", "/v1/messages": "messages"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def begin(self, status, kind, headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end_stream(self):
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def whole(self, status, data, headers=()):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def check_key(self, protocol):
        bearer, direct = self.headers.get("Authorization"), self.headers.get("x-api-key")
        right = direct == self.server.key if protocol == "messages" else bearer == f"Bearer {self.server.key}"
        if not right or (bearer and direct):
            raise Unexpected("the request does not carry exactly the real key")

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/v1/models":
            self.server.note(path=self.path, answered="models")
            return self.whole(200, {"object": "list", "data": [], "models": []})
        self.server.note(path=self.path, unexpected="GET of this path")
        return self.whole(500, {"error": {"type": "unexpected", "message": f"unexpected GET {self.path}"}})

    def do_POST(self):
        path = self.path.split("?")[0]
        try:
            raw = self.body()
            if path == "/v1/messages/count_tokens":
                self.check_key("messages")
                self.server.note(path=self.path, answered="count_tokens")
                return self.whole(200, {"input_tokens": len(raw) // 4})
            if path not in PATHS:
                raise Unexpected(f"POST to {self.path}")
            protocol = PATHS[path]
            self.check_key(protocol)
            body = json.loads(raw)
            conversation = READERS[protocol](body)
            self.play(protocol, body, conversation)
        except Unexpected as error:
            self.server.note(path=self.path, unexpected=str(error))
            self.whole(500, {"type": "error", "error": {"type": "unexpected", "message": str(error)}})
        except Overdone:
            self.wfile.flush()
            self.close_connection = True
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.server.note(path=self.path, gone=True)
            self.close_connection = True

    def play(self, protocol, body, conversation):
        if "title generator" in conversation.system.lower()[:400] or (
                not conversation.tools and "generate a title" in (conversation.user or "").lower()[:200]):
            self.server.note(path=self.path, model=conversation.model, answered="title")
            step = {"text": TITLE}
        else:
            branch, number, step = choose(self.server.scenarios, conversation)
            self.server.note(path=self.path, model=conversation.model, branch=branch, step=number,
                             kind=sorted(set(step) - {"if"})[0], stream=bool(body.get("stream")),
                             host=self.headers.get("Host"), agent=self.headers.get("User-Agent"))
        if "error" in step:
            error = step["error"]
            return self.whole(error["status"], {"type": "error", "error": {
                "type": error.get("type", "error"), "code": error.get("type", "error"), "message": error.get("message", "no")}},
                error.get("headers", {}))
        reply = REPLIES[protocol](self, conversation, step)
        if protocol == "chat":
            reply.include_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return reply.send(bool(body.get("stream")))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address, scenarios, log, key, tls=None):
        super().__init__(address, Handler)
        self.scenarios = Path(scenarios)
        self.key = key
        self.lock = threading.Lock()
        self.log = open(log, "a", buffering=1) if log else sys.stderr
        self.tls = None
        if tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*tls)

    def finish_request(self, request, client_address):
        # The handshake belongs to the connection's own thread: a client that never ends it stops nobody else.
        if self.tls:
            request.settimeout(30)
            request = self.tls.wrap_socket(request, server_side=True)
            request.settimeout(None)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        # Who has all of the answer may leave as rudely as it likes.
        if isinstance(error, (BrokenPipeError, ConnectionResetError)):
            self.note(gone=True)
        else:
            self.note(broken=repr(error))

    def note(self, **what):
        with self.lock:
            self.log.write(json.dumps({"time": round(time.time(), 3), **what}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"))
    parser.add_argument("--key", default="real-key", help="the real key that requests must carry")
    parser.add_argument("--scenarios", default=str(Path(__file__).parent / "scenarios"))
    parser.add_argument("--log")
    options = parser.parse_args()
    server = Server((options.address, options.port), options.scenarios, options.log, options.key, options.tls)
    server.serve_forever()


if __name__ == "__main__":
    main()
