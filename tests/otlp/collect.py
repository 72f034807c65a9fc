"""Traces of `skillcue`, received by a small collector that decodes them with the official protobuf classes.

`python collect.py SKILLCUE`: SKILLCUE is a program that was built with the feature `otlp`. The collector is the far end of the
wire: it takes OTLP/HTTP requests as a real one does, and parses their bytes with PyPI's `opentelemetry-proto`, which is generated
from the protocol's own files. Each check prints one line.

Then the same traces go through a real collector, PyPI's `rotel`, which decodes them, puts them into batches and writes them again
for ours. Where it is not installed or cannot be started, a line says so and why.
"""

import gzip
import http.client
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

# Words of messages, queries, arguments and answers: in none of the bytes that arrive.
SECRETS = [b"quokka", b"zanzibar", b"marmalade", b"wombat"]
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{CALLER}-01"
SKILL = "---\nname: pdf-forms\ndescription: Fills in PDF forms and flattens them.\ntriggers: [pdf, form]\n---\nUse pdftk.\n"


class Collector:
    """An OTLP/HTTP collector on this machine; `mode` is ok, refuse (400), full (503), or hang."""

    way = ""

    def __init__(self, mode="ok"):
        self.mode, self.requests, self.lock = mode, [], threading.Lock()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with collector.lock:
                    collector.requests.append((self.path, dict(self.headers.items()), body))
                if collector.mode == "hang":
                    time.sleep(60)
                status = {"ok": 200, "refuse": 400, "full": 503}[collector.mode]
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(status)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def messages(self):
        """The requests so far, decoded, with their headers."""
        with self.lock:
            requests = list(self.requests)
        for path, headers, body in requests:
            lower = {key.lower(): value for key, value in headers.items()}
            assert path == "/v1/traces" and lower["content-type"] == "application/x-protobuf", (path, headers)
            if lower.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            for word in SECRETS:
                assert word not in body.lower(), f"{word} is in a request"
            message = ExportTraceServiceRequest()
            message.ParseFromString(body)
            assert not unknown(message), "a field that the protocol does not have"
            yield lower, message

    def spans(self):
        """The spans so far, each checked as far as the protocol says what has to be in one."""
        found = []
        for _, message in self.messages():
            for of_resource in message.resource_spans:
                resource = attributes(of_resource.resource.attributes)
                assert resource["service.name"], resource
                for of_scope in of_resource.scope_spans:
                    assert of_scope.scope.name == "skillcue"
                    for span in of_scope.spans:
                        assert len(span.trace_id) == 16 and len(span.span_id) == 8
                        assert span.end_time_unix_nano >= span.start_time_unix_nano > 1_700_000_000 * 10**9
                        found.append((span, attributes(span.attributes), resource))
        return found

    def wait(self, is_enough):
        for _ in range(600):
            spans = self.spans()
            if is_enough(spans):
                return spans
            time.sleep(0.1)
        raise AssertionError([span.name for span, *_ in self.spans()])

    def last(self, count):
        """The spans of a program that has ended: it waits for the answer to its last request."""
        spans = self.spans()
        assert len(spans) == count, [span.name for span, *_ in spans]
        return spans


class Rotel(Collector):
    """A real collector on this machine: it takes the requests, and sends the spans on to ours behind it."""

    way = "through rotel: "

    def __init__(self):
        super().__init__()
        self.process, self.port = None, None

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="skillcue-rotel-")
        try:
            # It does not tell a port that the system chose for it. One that was free a moment ago may be taken by now.
            for _ in range(5):
                if self.start():
                    return self
            raise AssertionError(f"rotel does not start: {self.log()}")
        except BaseException:
            self.__exit__()
            raise

    def start(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = {
            "--otlp-http-endpoint": f"127.0.0.1:{self.port}", "--otlp-grpc-endpoint": "127.0.0.1:0",
            "--exporter": "otlp", "--otlp-exporter-protocol": "http", "--otlp-exporter-endpoint": super().endpoint,
            # A request that is sent again because this machine is slow would bring its spans twice.
            "--otlp-exporter-request-timeout": "60s",
            "--pid-file": f"{self.directory.name}/pid", "--log-file": f"{self.directory.name}/log",
        }
        arguments = [word for option in options.items() for word in option]
        with open(f"{self.directory.name}/output", "w") as output:
            self.process = subprocess.Popen([rotel_program(), "start", *arguments], env=rotel_environment(),
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        for _ in range(600):
            if self.process.poll() is not None:
                return False
            try:
                self.post(b"")
                return self.process.poll() is None
            except ConnectionError:
                time.sleep(0.1)
        raise AssertionError(f"rotel does not listen: {self.log()}")

    def log(self):
        return Path(self.directory.name, "output").read_text()

    def post(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        assert response.status == 200, (response.status, answer)

    def messages(self):
        for headers, message in super().messages():
            assert headers["user-agent"].startswith("Rotel"), headers
            yield headers, message

    def spans(self):
        # Its requests may overtake each other.
        return sorted(super().spans(), key=lambda row: row[0].end_time_unix_nano)

    def last(self, count):
        self.wait(lambda spans: len(spans) >= count)
        self.end()
        return super().last(count)

    def end(self):
        """Ends it; it sends what it still has."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __exit__(self, *_):
        self.end()
        self.directory.cleanup()


def rotel_program():
    """The program in the installed package; `None` if there is none."""
    found = importlib.util.find_spec("rotel")
    programs = [Path(place, "rotel-agent") for place in found.submodule_search_locations] if found else []
    return next((program for program in programs if program.is_file()), None)


def rotel_environment():
    # None of the variables that it takes for options. It needs a libpython, which may be beside this Python only.
    keep = {key: os.environ[key] for key in ("PATH", "TMPDIR", "LANG") if key in os.environ}
    return {**keep, "NO_COLOR": "1", "LD_LIBRARY_PATH": sysconfig.get_config_var("LIBDIR") or ""}


def why_no_rotel():
    if not rotel_program():
        return "it is not installed in this Python"
    try:
        version = subprocess.run([rotel_program(), "version"], env=rotel_environment(), capture_output=True, text=True,
                                 timeout=60)
    except OSError as error:
        return f"it cannot be started: {error}"
    return f"it cannot be started: {version.stderr.strip() or version.returncode}" if version.returncode else None


def unknown(message):
    from google.protobuf import unknown_fields

    own = len(unknown_fields.UnknownFieldSet(message)) > 0
    def below(field, value):
        if field.type != field.TYPE_MESSAGE:
            return []
        return [value] if not hasattr(value, "__len__") else list(value)
    return own or any(unknown(inner) for field, value in message.ListFields() for inner in below(field, value))


def attributes(pairs):
    def value(any_value):
        kind = any_value.WhichOneof("value")
        if kind == "array_value":
            return [value(one) for one in any_value.array_value.values]
        return getattr(any_value, kind)

    return {pair.key: value(pair.value) for pair in pairs}


class Home:
    def __init__(self, skillcue):
        self.skillcue, self.dir = skillcue, Path(tempfile.mkdtemp(prefix="skillcue-otlp-"))
        skill = self.dir / ".agents/skills/pdf-forms"
        skill.mkdir(parents=True)
        (self.dir / "work").mkdir()
        (skill / "SKILL.md").write_text(SKILL)
        (skill / "forms.md").write_text("# Forms\n")

    def environment(self, collector, **more):
        keep = {key: os.environ[key] for key in ("PATH", "TMPDIR", "LANG") if key in os.environ}
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint} if collector else {}
        # A machine under load, not a slow answer.
        return {**keep, "HOME": str(self.dir), "SKILLCUE_HOOK_DEADLINE_MS": "60000", **endpoint, **more}

    def start(self, arguments, collector, **more):
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        environment = self.environment(collector, **more)
        return subprocess.Popen([self.skillcue, *arguments], cwd=self.dir / "work", env=environment, text=True, **pipes)

    def run(self, arguments, collector, stdin="", **more):
        process = self.start(arguments, collector, **more)
        out, err = process.communicate(stdin, timeout=120)
        return process.returncode, out, err

    def hook(self, collector, session, *options, **more):
        sent = {"session_id": session, "hook_event_name": "UserPromptSubmit", "cwd": str(self.dir / "work"),
                "prompt": "fill in the pdf form of the quokka"}
        return self.run([*options, "hook", "claude"], collector, json.dumps(sent), **more)

    def traced_hook(self, collector, session, **more):
        """Runs hooks until one says nothing of lost spans, and returns how many it took."""
        # Each waits for its collector for a tenth of a second, which a machine under load may need for itself.
        for tries in range(1, 21):
            code, out, err = self.hook(collector, f"{session} {tries}", "--verbose", **more)
            assert code == 0 and "pdftk" in out, (code, out, err)
            if "spans were lost" not in err:
                assert err == "", err
                return tries
        raise AssertionError(err)


def check_hook(home, collector):
    tries = home.traced_hook(collector, f"s1 {collector.way}", OTEL_SERVICE_NAME="my-hooks", TRACEPARENT=PARENT,
                             OTEL_EXPORTER_OTLP_HEADERS="api-key=a%20b")
    spans = collector.wait(len)
    assert len(spans) <= tries, spans
    for span, values, resource in spans:
        assert span.name == "select_skills" and resource["service.name"] == "my-hooks"
        assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, CALLER)
        [event] = span.events
        assert event.name == "skill shown" and attributes(event.attributes)["gen_ai.skill.name"] == "pdf-forms"
    # Headers are for the collector, which does not hand them on.
    if not isinstance(collector, Rotel):
        headers = {key.lower(): value for key, value in collector.requests[0][1].items()}
        assert headers["api-key"] == "a b", headers
    print(f"  {collector.way}hook: below the caller's span, with its skill, headers and service name")


def check_switches(home):
    for number, more in enumerate([
        {"OTEL_SDK_DISABLED": "true"},
        {"OTEL_TRACES_SAMPLER": "always_off"},
        {"TRACEPARENT": PARENT[:-2] + "00"},
        {"OTEL_TRACES_EXPORTER": "none"},
    ]):
        collector = Collector()
        code, out, _ = home.hook(collector, session=f"off{number}", **more)
        assert code == 0 and "pdftk" in out and collector.requests == [], more
    collector = Collector()
    tries = home.traced_hook(collector, session="on", TRACEPARENT=PARENT[:-2] + "00", OTEL_TRACES_SAMPLER="always_on")
    assert len(collector.wait(len)) <= tries
    code, out, err = home.hook(None, session="wrong", OTEL_EXPORTER_OTLP_ENDPOINT="nowhere")
    assert code == 0 and "pdftk" in out and "OTEL_EXPORTER_OTLP_ENDPOINT" in err, (code, out, err)
    print("  switches: disabled, sampled out, told that a variable is wrong; the answer is the same")


def check_trouble(home):
    for mode in ["refuse", "full", "hang"]:
        collector = Collector(mode)
        code, out, err = home.hook(collector, session=mode)
        assert code == 0 and "pdftk" in out and err == "", (mode, code, out, err)
    # Nothing listens at all.
    gone = Collector()
    gone.server.server_close()
    code, out, err = home.hook(gone, session="gone")
    assert code == 0 and "pdftk" in out and err == "", (code, out, err)
    print("  trouble: a collector that refuses, is full, hangs or is gone costs no answer")


def talk(process, number, method, params):
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    while True:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        message = json.loads(line)
        if message.get("id") == number:
            return message


OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}


def check_mcp(home, collector):
    process = home.start(["mcp"], collector, OTEL_BSP_SCHEDULE_DELAY="200")
    talk(process, 1, "initialize", OPENING)
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
    meta = {"traceparent": PARENT}
    calls = [
        ("search_skills", {"query": "forms of the quokka"}),
        ("load_skill", {"skill_id": "pdf-forms", "arguments": "marmalade"}),
        ("read_skill_file", {"skill_id": "pdf-forms", "path": "forms.md"}),
        ("read_skill_file", {"skill_id": "pdf-forms", "path": "zanzibar.md"}),
        ("marmalade", {}),
    ]
    for number, (name, arguments) in enumerate(calls, 2):
        talk(process, number, "tools/call", {"name": name, "arguments": arguments, "_meta": meta})
    read = talk(process, 90, "resources/read", {"uri": "skill://pdf-forms/forms.md", "_meta": meta})
    assert "Forms" in json.dumps(read), read
    # While the server runs on.
    spans = collector.wait(lambda spans: len(spans) >= 11)
    process.stdin.close()
    assert process.wait(60) == 0
    by_id = {span.span_id: span for span, *_ in spans}
    tools = [(span, values) for span, values, _ in spans if span.name.startswith("execute_tool")]
    names = [span.name for span, _ in tools]
    read = "execute_tool read_skill_file"
    assert names == ["execute_tool search_skills", "execute_tool load_skill", read, read, "execute_tool"], names
    for span, values in tools:
        above = by_id[span.parent_span_id]
        assert above.name == "tools/call" and above.kind == Span.SPAN_KIND_SERVER
        assert (above.trace_id.hex(), above.parent_span_id.hex()) == (TRACE, CALLER)
        assert values["gen_ai.operation.name"] == "execute_tool"
    assert tools[1][1]["gen_ai.skill.name"] == "pdf-forms" and tools[1][1]["gen_ai.tool.name"] == "load_skill"
    assert tools[2][1]["gen_ai.skill.resource.name"] == "forms.md"
    failed = tools[3]
    assert failed[0].status.code == Status.STATUS_CODE_ERROR and failed[1]["error.type"] == "not_found", failed
    assert "gen_ai.tool.name" not in tools[4][1], "a name that a model made up"
    [(resource, values, _)] = [row for row in spans if row[0].name == "resources/read"]
    assert resource.parent_span_id.hex() == CALLER and values["gen_ai.skill.resource.name"] == "forms.md"
    print(f"  {collector.way}mcp over stdio: execute_tool below tools/call below the client's span, resources/read too")


def check_http(home, collector):
    process = home.start(["mcp", "--http", "127.0.0.1:0"], collector, OTEL_BSP_SCHEDULE_DELAY="200")
    address = None
    while address is None:
        line = process.stderr.readline()
        assert line, "it did not start"
        address = next((word.strip("`/.,").removeprefix("http://") for word in line.split() if "127.0.0.1:" in word), None)
    host = address.split("/")[0]

    def post(number, method, params, **headers):
        connection = http.client.HTTPConnection(host, timeout=60)
        body = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": number} if number else {})}
        kinds = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        connection.request("POST", "/mcp", json.dumps(body), {**kinds, **headers})
        response = connection.getresponse()
        assert response.status in (200, 202), (response.status, response.read())
        session = response.getheader("mcp-session-id")
        response.read()
        return session

    session = {"mcp-session-id": post(1, "initialize", OPENING), "mcp-protocol-version": "2025-06-18"}
    session = {key: value for key, value in session.items() if value}
    post(None, "notifications/initialized", {}, **session)
    post(2, "tools/call", {"name": "load_skill", "arguments": {"skill_id": "pdf-forms"}}, traceparent=PARENT, **session)
    spans = collector.wait(lambda spans: len(spans) >= 2)
    process.terminate()
    process.wait(60)
    [above] = [span for span, *_ in spans if span.name == "tools/call"]
    assert (above.trace_id.hex(), above.parent_span_id.hex()) == (TRACE, CALLER)
    print(f"  {collector.way}mcp over HTTP: below the span of the header traceparent")


class Model:
    """A model at the far end of the wire: calls load_skill once, then answers."""

    def __init__(self):
        model, self.count = self, 0

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                model.count += 1
                if model.count == 1:
                    call = {"index": 0, "id": "c1", "type": "function",
                            "function": {"name": "load_skill", "arguments": json.dumps({"skill_id": "pdf-forms"})}}
                    delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
                else:
                    delta, reason = {"role": "assistant", "content": "The marmalade is done."}, "stop"
                chunks = [
                    {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                    {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                    {"choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 7, "total_tokens": 77}},
                ]
                head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
                body = "".join(f"data: {json.dumps({**head, **chunk})}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def check_agent(home, collector):
    model = Model()
    base = f"http://127.0.0.1:{model.server.server_port}/v1"
    arguments = ["agent", "--base-url", base, "--model", "scripted", "--api", "openai", "-p", "what about zanzibar and the quokka?"]
    code, out, err = home.run(arguments, collector, TRACEPARENT=PARENT, OPENAI_API_KEY="wombat")
    assert code == 0 and "marmalade" in out, (code, out, err)
    spans = collector.last(5)
    by_name = {}
    for span, values, _ in spans:
        by_name.setdefault(span.name.split()[0], []).append((span, values))
    [(turn, values)] = by_name["invoke_agent"]
    assert turn.parent_span_id.hex() == CALLER and values["gen_ai.usage.output_tokens"] == 14, values
    for kind in ("chat", "execute_tool", "select_skills"):
        for span, _ in by_name[kind]:
            assert span.parent_span_id == turn.span_id and span.trace_id == turn.trace_id, kind
    chats = [values for _, values in by_name["chat"]]
    assert [values["gen_ai.response.finish_reasons"] for values in chats] == [["tool_calls"], ["stop"]], chats
    assert all(span.kind == Span.SPAN_KIND_CLIENT for span, _ in by_name["chat"])
    assert (chats[0]["gen_ai.usage.input_tokens"], chats[0]["gen_ai.request.model"]) == (70, "scripted")
    assert by_name["execute_tool"][0][1]["gen_ai.skill.name"] == "pdf-forms"
    print(f"  {collector.way}agent: chat, execute_tool and select_skills below invoke_agent below the caller's span")


def whole(collector):
    """Each span with all that was sent of it, in an order that does not depend on requests."""
    rows = [(span, of_scope.scope, of_scope.schema_url, of_resource.resource, of_resource.schema_url)
            for _, message in collector.messages() for of_resource in message.resource_spans
            for of_scope in of_resource.scope_spans for span in of_scope.spans]
    return sorted(rows, key=lambda row: (row[0].span_id, row[0].end_time_unix_nano))


def check_rewritten(rotel, direct):
    """The bytes of the direct checks once more: what a real collector makes of them is equal, field by field."""
    sent = []
    for collector in direct:
        sent += whole(collector)
        for _, _, body in collector.requests:
            rotel.post(body)
    sent.sort(key=lambda row: (row[0].span_id, row[0].end_time_unix_nano))
    rotel.last(len(sent))
    came = whole(rotel)
    for before, after in zip(sent, came, strict=True):
        assert before == after, (before, after)
    print(f"  {rotel.way}all {len(came)} spans of the direct checks are the same in every field")


def main():
    # The end of this program ends the collector too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    home = Home(str(Path(sys.argv[1]).resolve()))
    check_switches(home)
    check_trouble(home)
    checks = (check_hook, check_mcp, check_http, check_agent)
    direct = [Collector() for _ in checks]
    for check, collector in zip(checks, direct):
        check(home, collector)
    why_not = why_no_rotel()
    if why_not:
        print(f"  through rotel: SKIPPED, no real collector here: {why_not}")
    else:
        for check in checks:
            with Rotel() as rotel:
                check(home, rotel)
        with Rotel() as rotel:
            check_rewritten(rotel, direct)
    print("  no text of a message in any request")


if __name__ == "__main__":
    main()
