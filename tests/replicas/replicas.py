"""Three replicas of `skillcue mcp --http` behind haproxy, and a thousand clients of other people's SDKs.

    python replicas.py BINARY HAPROXY NODE PACKAGES [--clients N] [--figures FILE]

While the clients work, one replica is killed and started again, one is drained and replaced, and the catalog is swapped.
The proxy repeats no request. No client may see an error that one retry of its own does not mend, and for clients of
2026-07-28 only the kill may cost a retry. Then the same work is done by three replicas and by one, undisturbed,
for what a request costs. Everything is on loopback.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
# Not promises about time: these only end a wait for something that never comes.
START_SECONDS = 120
END_SECONDS = 120
RUN_SECONDS = 900
DRAIN_DELAY = 2

# Of each hundred clients: by SDK and protocol.
SHARES = [("python", "modern", 45), ("node", "modern", 45), ("python", "legacy", 5), ("node", "legacy", 5)]

CONFIGURATION = """
global
    maxconn 8192
defaults
    mode http
    timeout connect 5s
    timeout client 180s
    timeout server 180s
    timeout queue 60s
    # The proxy repeats nothing: what a replica's end costs is what clients see, and mend by their own retry.
    retries 0
frontend clients
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    balance roundrobin
    option httpchk GET /ready
    http-check send hdr Host 127.0.0.1
    # Sessions of 2025-11-25 stay on their replica. Requests of 2026-07-28 have no such header, and go round.
    stick-table type string len 64 size 100k expire 30m
    stick store-response res.hdr(Mcp-Session-Id)
    stick match req.hdr(Mcp-Session-Id)
    # The first connection that fails takes a replica out, before the next check would.
    default-server inter 200ms fall 1 rise 1 check observe layer4 error-limit 1 on-error mark-down
{servers}
"""


class Failed(Exception):
    """Something that does not hold."""


def check(what: str, holds, seen=None) -> None:
    if not holds:
        raise Failed(f"{what}; got {seen!r}")
    print(f"ok {what}", flush=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def write_skill(root: Path, name: str, description: str, body: str) -> None:
    directory = root / name
    directory.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed: a watcher never sees half of it.
    beside = directory / ".SKILL.md.new"
    beside.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}", encoding="utf-8")
    beside.rename(directory / "SKILL.md")


def write_tree(root: Path) -> None:
    write_skill(root, "greet", "Greets a guest politely. Use it when a guest arrives.", "# Greet\n\nBow, then smile.\n")
    scripts = root / "greet" / "scripts"
    scripts.mkdir()
    (scripts / "hello.sh").write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    for n in range(40):
        write_skill(root, f"filler-{n:02}", f"Does thing number {n}. Use it for nothing else.", f"# Thing {n}\n")


class Replica:
    """One server, on a port that stays its own when it is replaced."""

    def __init__(self, binary: str, root: Path, key: Path) -> None:
        self.port = free_port()
        self.command = [
            binary, "--isolated", "--no-cache", "--skills-dir", str(root), "mcp", "--http", f"127.0.0.1:{self.port}",
            "--handle-key-file", str(key), "--drain-delay", str(DRAIN_DELAY), "--drain-timeout", "60",
        ]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            try:
                if get(self.port, "/ready")[0] == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                raise Failed(f"a replica ended with {self.process.returncode}")
            time.sleep(0.05)
        raise Failed("a replica does not become ready")

    def metrics(self) -> dict[str, float]:
        status, text = get(self.port, "/metrics")
        if status != 200:
            raise Failed(f"/metrics: {status} {text}")
        lines = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, value in lines}

    def requests(self) -> float:
        return sum(value for name, value in self.metrics().items() if name.startswith("skillcue_requests_total{"))

    def generation(self) -> str:
        return next(name for name in self.metrics() if name.startswith("skillcue_catalog{"))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def drain(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(END_SECONDS)

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()


class Proxy:
    def __init__(self, haproxy: str, replicas: list[Replica], directory: Path) -> None:
        self.port = free_port()
        servers = "".join(f"    server replica{n} 127.0.0.1:{it.port}\n" for n, it in enumerate(replicas))
        file = directory / f"haproxy-{self.port}.cfg"
        file.write_text(CONFIGURATION.format(port=self.port, servers=servers), encoding="utf-8")
        log = (directory / f"haproxy-{self.port}.log").open("w")
        self.process = subprocess.Popen([haproxy, "-db", "-f", str(file)], stdout=log, stderr=log)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            try:
                if get(self.port, "/health")[0] == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                raise Failed(f"haproxy ended: {Path(log.name).read_text()}")
            time.sleep(0.05)
        raise Failed("haproxy does not answer")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Load:
    """Clients at work in processes of their own."""

    def __init__(self, port: int, clients: int, node: str, packages: str) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.done, self.retries, self.errors, self.reasons = 0, 0, [], Counter()
        self.lock, self.processes, self.threads = threading.Lock(), [], []
        self.clients = 0
        for sdk, mode, share in SHARES:
            count = clients * share // 100
            self.clients += count
            program = [sys.executable, str(HERE / "clients.py")] if sdk == "python" else [node, str(HERE / "clients.mjs")]
            # Two processes for each kind that has many.
            for part in [count // 2, count - count // 2] if share > 10 else [count]:
                command = [*program, self.url, str(part), mode, *([packages] if sdk == "node" else [])]
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.processes.append(process)
                self.threads.append(threading.Thread(target=self.follow, args=(process, f"{sdk} {mode}"), daemon=True))
        for thread in self.threads:
            thread.start()

    def follow(self, process: subprocess.Popen, who: str) -> None:
        for line in process.stdout:
            report = json.loads(line)
            with self.lock:
                if "retry" in report:
                    self.reasons[f"{who}: {report['retry']}"] += 1
                    continue
                self.done += 1
                self.retries += report["retries"]
                if "error" in report:
                    self.errors.append(f"{who}: {report['error']}")
        said = process.stderr.read()
        if process.wait() != 0:
            with self.lock:
                self.errors.append(f"{who}: the clients ended with {process.returncode}: {said[-2000:]}")

    def modern_retries(self) -> int:
        """How often clients without a session have repeated a request so far."""
        with self.lock:
            return sum(count for reason, count in self.reasons.items() if " modern: " in reason)

    def wait_for(self, done: int) -> None:
        until = time.monotonic() + RUN_SECONDS
        while time.monotonic() < until:
            with self.lock:
                if self.done >= done:
                    return
            if all(process.poll() is not None for process in self.processes) or self.errors:
                return
            time.sleep(0.02)
        raise Failed(f"only {self.done} clients are done")

    def finish(self) -> None:
        for thread in self.threads:
            thread.join(RUN_SECONDS)

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()


def disturbed(args, root: Path, key: Path, directory: Path) -> dict:
    """The load while replicas come and go, and the skills change."""
    replicas = [Replica(args.binary, root, key) for _ in range(3)]
    proxy = Proxy(args.haproxy, replicas, directory)
    load = None
    try:
        before = {replica.generation() for replica in replicas}
        check("the replicas have one catalog", len(before) == 1, before)
        began = time.monotonic()
        load = Load(proxy.port, args.clients, args.node, args.packages)
        load.wait_for(args.clients * 15 // 100)
        replicas[0].kill()
        print(f"   killed one replica after {load.done} clients", flush=True)
        load.wait_for(args.clients * 35 // 100)
        replicas[0].start()
        print(f"   it is back after {load.done}", flush=True)
        load.wait_for(args.clients * 45 // 100)
        by_kill = load.modern_retries()
        code = replicas[1].drain()
        print(f"   drained another: it ended with {code} after {load.done}", flush=True)
        check("a drained replica ends by itself, with 0", code == 0, code)
        replicas[1].start()
        load.wait_for(args.clients * 60 // 100)
        write_skill(root, "swapped-in", "Is new. Use it to see the swap.", "# New\n\nSwapped in.\n")
        for n in range(0, 40, 7):
            write_skill(root, f"filler-{n:02}", f"Does thing number {n}, anew.", f"# Thing {n}, anew: filler-{n:02}\n")
        until = time.monotonic() + START_SECONDS
        while (after := {replica.generation() for replica in replicas}) & before or len(after) != 1:
            if time.monotonic() > until:
                raise Failed(f"the replicas do not agree on the new catalog: {after}")
            time.sleep(0.1)
        print(f"   swapped the catalog after {load.done}", flush=True)
        load.wait_for(args.clients)
        load.finish()
        seconds = time.monotonic() - began
        for reason, count in load.reasons.most_common(8):
            print(f"   retried {count} times: {reason}", flush=True)
        check("no client saw an error beyond a retry", not load.errors, load.errors[:5])
        by_rest = load.modern_retries() - by_kill
        check("draining and swapping cost clients without a session no retry", by_rest == 0, by_rest)
        check(f"{load.clients} clients came to their end", load.done == load.clients, load.done)
        served = [replica.requests() for replica in replicas]
        check("every replica has answered", all(count > 0 for count in served), served)
        print(f"   {load.done} clients in {seconds:.0f} s, {load.retries} retries", flush=True)
        figures = {"clients": load.done, "retries": load.retries, "by_kill": by_kill, "seconds": round(seconds, 1)}
        return figures
    finally:
        if load:
            load.end()
        proxy.end()
        for replica in replicas:
            replica.end()


def undisturbed(args, count: int, root: Path, key: Path, directory: Path) -> dict:
    """The same work for a number of replicas: what a request costs."""
    replicas = [Replica(args.binary, root, key) for _ in range(count)]
    proxy = Proxy(args.haproxy, replicas, directory)
    load = None
    try:
        before = [(replica.requests(), replica.metrics()["skillcue_process_cpu_seconds_total"]) for replica in replicas]
        load = Load(proxy.port, args.clients // 4, args.node, args.packages)
        load.finish()
        check(f"{count} undisturbed: no error and no retry", not load.errors and load.retries == 0, load.errors[:5])
        after = [(replica.requests(), replica.metrics()) for replica in replicas]
        requests = sum(now[0] - then[0] for then, now in zip(before, after, strict=True))
        cpu = sum(now[1]["skillcue_process_cpu_seconds_total"] - then[1] for then, now in zip(before, after, strict=True))
        memory = [now[1]["skillcue_process_resident_memory_bytes"] / 2**20 for now in after]
        figures = {
            "replicas": count,
            "requests": int(requests),
            "cpu_ms_per_request": round(cpu * 1000 / requests, 3),
            "resident_mib_each": round(max(memory), 1),
        }
        print(f"   {figures}", flush=True)
        return figures
    finally:
        if load:
            load.end()
        proxy.end()
        for replica in replicas:
            replica.end()


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("binary", "haproxy", "node", "packages"):
        parser.add_argument(name)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--figures", type=Path)
    args = parser.parse_args()
    args.packages = str(Path(args.packages).resolve())
    # Each killed replica's requests are repeated; a client that is told to stop must not take this one along.
    with tempfile.TemporaryDirectory(prefix="skillcue-replicas-") as directory:
        directory = Path(directory)
        key = directory / "key"
        key.write_text(os.urandom(32).hex(), encoding="utf-8")
        figures = {}
        for name, run in [
            ("disturbed", lambda root: disturbed(args, root, key, directory)),
            ("three", lambda root: undisturbed(args, 3, root, key, directory)),
            ("one", lambda root: undisturbed(args, 1, root, key, directory)),
        ]:
            root = directory / name
            write_tree(root)
            figures[name] = run(root)
        if args.figures:
            args.figures.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print("replicas: all checks passed")


try:
    main()
except Failed as failure:
    print(f"FAILED: {failure}", file=sys.stderr)
    sys.exit(1)
