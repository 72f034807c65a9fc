"""The MCP server under load: many sessions at once, and the same work done by `fastmcp`.

    cargo xtask mcp-load [--sessions N] [--passes N] [--no-rival]

What is measured is what the server spends: processor time and memory as Linux accounts them to its process. So the
client may be slow, and may share the machine; it only has to be right. It checks every answer.

A session is what a client of the protocol of 2025-11-25 has: the handshake, a stream for the server's news that stays
open, 50 requests one after the other on a second connection, and an end. All sessions of a pass are open at once.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PROTOCOL = "2025-11-25"

# What a client asks for in one session of 50 requests: mostly skills, sometimes lists.
MIX = {
    "load_skill": 12,
    "resources/read": 12,
    "search_skills": 6,
    "read_skill_file": 6,
    "skills/get": 4,
    "prompts/get": 2,
    "tools/list": 2,
    "completion/complete": 2,
    "resources/directory/read": 1,
    "resources/list": 1,
    "prompts/list": 1,
    "skills/list": 1,
}

# The part of it that `fastmcp` has an answer to.
COMMON = ["resources/read", "resources/list"]

# How much of a rival's processor time a comparison may take. How many requests that were is said.
RIVAL_SECONDS = 60
ALONE_SECONDS = 20

# Growth that is not growth: allocators keep some of what they are given back.
SLACK = 1.05

# What our processor time per request may be, of the rival's.
LIMIT = 0.1


class Wrong(Exception):
    """An answer that is not what was asked for."""


@dataclass
class Asked:
    """One request, and what its answer must have."""

    method: str
    params: dict
    is_right: object


class Questions:
    """The requests of a mix, for skills chosen by a fixed seed."""

    def __init__(self, tree: Path) -> None:
        self.count = 0
        # Some hide from models, and some from people: those are not asked for.
        self.names, self.prompts = [], []
        for path in sorted(tree.glob("*/SKILL.md")):
            front = path.read_text(encoding="utf-8").partition("\n---")[0]
            self.count += 1
            if "disable-model-invocation: true" not in front:
                self.names.append(path.parent.name)
                if "user-invocable: false" not in front:
                    self.prompts.append(path.parent.name)

    def session(self, mix: dict, seed: int):
        chance = random.Random(seed)
        kinds = [kind for kind, count in mix.items() for _ in range(count)]
        chance.shuffle(kinds)
        return [self.ask(kind, chance) for kind in kinds]

    def ask(self, kind: str, chance: random.Random) -> Asked:
        name = chance.choice(self.prompts if kind == "prompts/get" else self.names)
        uri = f"skill://{name}/SKILL.md"
        tool = lambda arguments: {"name": kind, "arguments": arguments}
        text = lambda result: result["content"][0]["text"]
        if kind == "load_skill":
            opening = f'<skill_context id="{name}">\n  <instructions>'
            return Asked("tools/call", tool({"skill_id": name, "arguments": "it"}), lambda r: text(r).startswith(opening))
        if kind == "read_skill_file":
            params = tool({"skill_id": name, "path": "SKILL.md", "limit": 50})
            return Asked("tools/call", params, lambda r: f"name: {name}" in text(r) and not r.get("isError"))
        if kind == "search_skills":
            params = tool({"query": name.replace("-", " "), "limit": 5})
            return Asked("tools/call", params, lambda r: not r.get("isError") and r["structuredContent"]["hits"])
        if kind == "resources/read":
            return Asked(kind, {"uri": uri}, lambda r: f"name: {name}" in r["contents"][0]["text"][:4096])
        if kind == "skills/get":
            return Asked(kind, {"uri": uri}, lambda r: name in json.dumps(r)[:4096])
        if kind == "resources/directory/read":
            return Asked(kind, {"uri": f"skill://{name}"}, lambda r: any(one["uri"] == uri for one in r["resources"]))
        if kind == "prompts/get":
            params = {"name": name, "arguments": {"arguments": "it"}}
            return Asked(kind, params, lambda r: r["messages"][0]["content"]["text"])
        if kind == "completion/complete":
            ref = {"type": "ref/resource", "uri": "skill://{+skill}/SKILL.md"}
            params = {"ref": ref, "argument": {"name": "skill", "value": name[:3]}}
            return Asked(kind, params, lambda r: r["completion"]["values"])
        if kind == "tools/list":
            return Asked(kind, {}, lambda r: len(r["tools"]) == 3)
        if kind in ("resources/list", "prompts/list", "skills/list"):
            return Asked(kind, {}, lambda r: len(r[kind.split("/")[0]]) >= 50 and r["nextCursor"])
        raise ValueError(kind)


class Server:
    """A server that was started here."""

    def __init__(self, label: str, command: list[str]) -> None:
        self.label = label
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE)
        said = b""
        for line in self.process.stderr:
            said += line
            if found := re.search(rb"listening on http://([\d.]+):(\d+)(/\S*)", line):
                self.host, self.port, self.path = found[1].decode(), int(found[2]), found[3].decode()
                break
        else:
            raise Wrong(f"{label} did not start: {said.decode(errors='replace')}")
        # Nobody reads what it says from here on; a full pipe would hold it up.
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def cpu(self) -> float:
        """Seconds of processor time so far, of all threads that are or were, in user and system mode.

        What /proc/PID/stat says in hundredths of a second, but from the process's own clock: in nanoseconds.
        """
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def memory(self, key: str = "VmRSS") -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{key}:\s+(\d+) kB", status)[1]) * 1024

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.drain.wait(30)
        return code


class Connection:
    """HTTP/1.1, as much of it as these servers speak."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.session: str | None = None

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection(self.server.host, self.server.port)

    def send(self, verb: str, body: bytes = b"", accept: str = "application/json, text/event-stream") -> None:
        head = [
            f"{verb} {self.server.path} HTTP/1.1",
            f"Host: {self.server.host}:{self.server.port}",
            f"Accept: {accept}",
            f"MCP-Protocol-Version: {PROTOCOL}",
        ]
        if self.session:
            head.append(f"Mcp-Session-Id: {self.session}")
        if body:
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    async def head(self) -> tuple[int, dict]:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {}
        for line in lines[1:-2]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(lines[0].split()[1]), headers

    async def answer(self) -> tuple[int, dict, bytes]:
        status, headers = await self.head()
        if "content-length" in headers:
            return status, headers, await self.reader.readexactly(int(headers["content-length"]))
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int(await self.reader.readuntil(b"\r\n"), 16):
                body += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readexactly(2)
        return status, headers, body

    async def post(self, message: dict) -> dict | None:
        self.send("POST", json.dumps(message).encode())
        status, headers, body = await self.answer()
        self.session = headers.get("mcp-session-id", self.session)
        if "id" not in message:
            if status not in (200, 202):
                raise Wrong(f"{message['method']}: HTTP {status}: {body[:300]!r}")
            return None
        if status != 200:
            raise Wrong(f"{message['method']}: HTTP {status}: {body[:300]!r}")
        if headers.get("content-type", "").startswith("text/event-stream"):
            body = b"".join(line[6:] for line in body.splitlines() if line.startswith(b"data: {"))
        return json.loads(body)

    def close(self) -> None:
        self.writer.close()


@dataclass
class Session:
    """One client: a connection to ask on, and one on which the server tells its news."""

    server: Server
    ids: itertools.count = field(default_factory=lambda: itertools.count(1))

    async def open(self) -> None:
        self.asking, self.news = Connection(self.server), Connection(self.server)
        await self.asking.open()
        client = {"name": "load", "version": "1"}
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        answer = await self.asking.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        if answer["result"]["protocolVersion"] != PROTOCOL or not self.asking.session:
            raise Wrong(f"initialize: {str(answer)[:300]}")
        await self.asking.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.news.session = self.asking.session
        await self.news.open()
        self.news.send("GET", accept="text/event-stream")
        status, _ = await self.news.head()
        if status != 200:
            raise Wrong(f"the stream for news: HTTP {status}")

    async def ask(self, asked: Asked) -> None:
        message = {"jsonrpc": "2.0", "id": next(self.ids), "method": asked.method, "params": asked.params}
        answer = await self.asking.post(message)
        try:
            if answer["id"] == message["id"] and asked.is_right(answer["result"]):
                return
        except (KeyError, IndexError, TypeError):
            pass
        raise Wrong(f"{asked.method} {asked.params}: {str(answer)[:300]}")

    async def close(self) -> None:
        self.asking.send("DELETE")
        await self.asking.answer()
        self.asking.close()
        self.news.close()


@dataclass
class Pass:
    """What one pass cost."""

    requests: int
    errors: Counter
    cpu: float
    handshake_cpu: float
    seconds: float
    memory_open: int
    memory_closed: int


async def run_pass(server: Server, questions: Questions, mix: dict, sessions: int, seed: int) -> Pass:
    """Opens all sessions, then asks in all of them at once, then ends them."""
    errors: Counter = Counter()

    async def guarded(work) -> bool:
        try:
            await work
            return True
        except (Wrong, OSError, asyncio.IncompleteReadError) as error:
            errors[f"{type(error).__name__}: {error}"[:300]] += 1
            return False

    began, before = time.monotonic(), server.cpu()
    clients = [Session(server) for _ in range(sessions)]
    # Connecting is done by a few at a time: a client that opens a thousand connections in one instant tests the
    # kernel's queue of them, not the server.
    gate = asyncio.Semaphore(64)

    async def open_one(client: Session) -> bool:
        async with gate:
            return await guarded(client.open())

    opened = await asyncio.gather(*(open_one(client) for client in clients))
    clients = [client for client, is_open in zip(clients, opened) if is_open]
    handshake = server.cpu()

    async def talk(index: int, client: Session) -> int:
        done = 0
        for asked in questions.session(mix, seed * 1_000_003 + index):
            done += await guarded(client.ask(asked))
        return done

    done = sum(await asyncio.gather(*(talk(index, client) for index, client in enumerate(clients))))
    after, memory_open = server.cpu(), server.memory()
    for client in clients:
        await guarded(client.close())
    await asyncio.sleep(1)
    seconds = time.monotonic() - began
    return Pass(done, errors, after - handshake, handshake - before, seconds, memory_open, server.memory())


async def alone(server: Server, questions: Questions, kind: str) -> float:
    """Seconds of processor time per request of one kind, on one session: of 1,000, or of as many as time allows."""
    client = Session(server)
    await client.open()
    chance = random.Random(kind)
    ask = lambda: client.ask(questions.ask(kind, chance))
    await ask()
    before, done = server.cpu(), 0
    while done < 1000 and server.cpu() - before < ALONE_SECONDS:
        await ask()
        done += 1
    after = server.cpu()
    await client.close()
    return (after - before) / done


def micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs" if seconds < 0.01 else f"{seconds * 1e3:,.0f} ms"


def mega(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def tell_errors(errors: Counter) -> None:
    for error, count in errors.most_common(5):
        print(f"  {count} × {error}")


async def ours(server: Server, questions: Questions, sessions: int, passes: int) -> bool:
    print(f"\n{server.label}: {sessions:,} sessions at once, 50 requests each, on {questions.count:,} skills")
    print(f"mix: {', '.join(f'{count} {kind}' for kind, count in MIX.items())}")
    print(f"before: {mega(server.memory())}, {server.cpu():.2f} s of processor time for the start\n")
    header = ["pass", "requests", "errors", "CPU a request", "CPU a handshake", "memory, open", "memory, closed", "took"]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    done: list[Pass] = []
    for number in range(1, passes + 1):
        # The same work in each pass: what grows is then no cache that fills.
        one = await run_pass(server, questions, MIX, sessions, 1)
        done.append(one)
        cells = [
            str(number), f"{one.requests:,}", str(one.errors.total()), micro(one.cpu / max(one.requests, 1)),
            micro(one.handshake_cpu / sessions), mega(one.memory_open), mega(one.memory_closed), f"{one.seconds:.0f} s",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
        tell_errors(one.errors)
    is_right = all(not one.errors and one.requests == sessions * sum(MIX.values()) for one in done)
    grown = max(one.memory_open for one in done[1:]) / done[0].memory_open if passes > 1 else 1
    is_steady = grown <= SLACK
    print(f"\nno error: {'yes' if is_right else 'NO'}; memory after the first pass: × {grown:.3f}, ", end="")
    print(f"limit × {SLACK}: {'yes' if is_steady else 'NO'}; at most {mega(server.memory('VmHWM'))}")
    return is_right and is_steady


async def rival(server: Server, questions: Questions, sessions: int) -> tuple[Pass, dict, int]:
    """Each kind alone; then reads in as many sessions, and as many in each, as the time allows."""
    kinds = {kind: await alone(server, questions, kind) for kind in COMMON}
    affordable = int(RIVAL_SECONDS / kinds["resources/read"])
    few = max(1, min(sessions, affordable))
    mix = {"resources/read": max(1, min(50, affordable // few))}
    one = await run_pass(server, questions, mix, few, 1)
    tell_errors(one.errors)
    return one, kinds, few


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("skillcue")
    parser.add_argument("tree", type=Path)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--no-rival", action="store_true")
    options = parser.parse_args()
    if not Path("/proc/self/stat").exists():
        print("the costs are read from /proc, which only Linux has", file=sys.stderr)
        return 1

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # Two connections a session here, and as many in the server.
    sessions = min(options.sessions, (hard - 100) // 2)
    print(f"open files: at most {hard:,} a process; {sessions:,} sessions of two connections each")
    if sessions < options.sessions:
        print(f"that is fewer than the {options.sessions:,} that were asked for")
    questions = Questions(options.tree)

    base = [options.skillcue, "--isolated", "--no-cache", "--skills-dir", str(options.tree), "mcp"]
    server = Server("skillcue mcp", [*base, "--http", "127.0.0.1:0"])
    try:
        is_good = await ours(server, questions, sessions, options.passes)
        kinds = {kind: await alone(server, questions, kind) for kind in MIX}
        print("\n| one kind alone | CPU a request |\n| --- | --- |")
        for kind, cost in kinds.items():
            print(f"| {kind} | {micro(cost)} |")
        common = await run_pass(server, questions, {"resources/read": 50}, sessions, 1)
        tell_errors(common.errors)
        is_good &= not common.errors
    finally:
        code = server.stop()
    if code != 0:
        print(f"the server did not end cleanly: {code}")
        is_good = False
    if options.no_rival:
        return 0 if is_good else 1

    rows = [("skillcue mcp", sessions, common, kinds, None)]
    for variant in ["default", "experimental"]:
        label = "fastmcp 4.1.4" + (", `experimental_skills`" if variant == "experimental" else "")
        other = Server(label, [sys.executable, str(HERE / "fastmcp_server.py"), str(options.tree), variant])
        try:
            one, costs, few = await rival(other, questions, sessions)
            rows.append((label, few, one, costs, other.memory("VmHWM")))
        finally:
            other.stop()

    print(f"\nthe same work, on {questions.count:,} skills: SKILL.md by resources/read, in sessions that are open at")
    print("once; then reads, and pages of resources/list (500 resources), on one session\n")
    header = ["server", "sessions", "reads", "errors", "CPU a read", "a handshake", "a read alone", "a page", "memory"]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    for label, count, one, costs, memory in rows:
        cells = [
            label, f"{count:,}", f"{one.requests:,}", str(one.errors.total()), micro(one.cpu / max(one.requests, 1)),
            micro(one.handshake_cpu / count), micro(costs["resources/read"]), micro(costs["resources/list"]),
            mega(memory or one.memory_open),
        ]
        print("| " + " | ".join(cells) + " |")
    print()
    # For each kind of work, against the one of its variants that does it cheapest.
    _, _, own, own_kinds, _ = rows[0]
    reads = own.cpu / own.requests / min(one.cpu / max(one.requests, 1) for _, _, one, _, _ in rows[1:])
    pages = own_kinds["resources/list"] / min(costs["resources/list"] for _, _, _, costs, _ in rows[1:])
    for what, ratio in [("a read in many sessions", reads), ("a page of the list", pages)]:
        is_cheap = ratio <= LIMIT
        is_good &= is_cheap
        print(f"processor time of {what}: 1/{1 / ratio:,.0f} of the cheaper rival's, limit 1/10: {'yes' if is_cheap else 'NO'}")
    return 0 if is_good else 1


def end(*_: object) -> None:
    """Ends as on Ctrl-C, so that what was started is stopped."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    sys.exit(asyncio.run(main()))
