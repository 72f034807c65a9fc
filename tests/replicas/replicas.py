"""Three replicas of `skillcue mcp --http` behind haproxy, and a thousand clients of other people's SDKs.

    python replicas.py BINARY HAPROXY NODE PACKAGES [--store URL] [--clients N] [--figures FILE] [--only-figures]

Most of the skills are in a catalog on an object store: on the S3 server that --store names, else in a directory. While the
clients work, one replica is killed and started again, one is drained and replaced, the next generation of the catalog is
published, and a skill is added to the directory that the replicas share. The proxy repeats no request. No client may see an
error that one retry of its own does not mend, and for clients of 2026-07-28 only the kill may cost a retry. Then the same
work is done by three replicas and by one, undisturbed, for what a request costs. Everything is on loopback.
"""

import argparse
import contextlib
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

import handles
from store import CATALOG, SKILLS, Store, write_skill

HERE = Path(__file__).parent
# Not promises about time: these only end a wait for something that never comes.
START_SECONDS = 120
END_SECONDS = 120
RUN_SECONDS = 900
# Long enough for the proxy to see it on a busy machine, so that no client that tries again is sent to a replica that is about to end.
DRAIN_DELAY = 10

# Of each hundred clients: by SDK and protocol.
SHARES = [("python", "modern", 45), ("node", "modern", 45), ("python", "legacy", 5), ("node", "legacy", 5)]
# Of the clients without a session, one in so many runs a script.
SCRIPT_EVERY = 10

CONFIGURATION = """
global
    maxconn 8192
defaults
    mode http
    timeout connect 5s
    timeout client 180s
    timeout server 180s
    timeout queue 60s
    # A replica that is slow on a busy machine is not gone: one that is refuses the connection at once.
    timeout check 10s
    # The proxy repeats nothing: what a replica's end costs is what clients see, and mend by their own retry.
    retries 0
frontend clients
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    # To a replica, a proxy on its machine looks like the machine itself.
    http-request deny if {{ path /metrics }}
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


def wait_until(what: str, holds) -> None:
    """Waits until something holds. `holds` may fail as a server does that is not there yet."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            if holds():
                return
        time.sleep(0.05)
    raise Failed(f"it does not come to this: {what}")


def start(command: list[str], log: Path, port: int, path: str, environment: dict | None = None) -> subprocess.Popen:
    """Starts a server, and waits until it answers at a path."""
    with log.open("a") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment)

    def answers() -> bool:
        if process.poll() is not None:
            raise Failed(f"{Path(command[0]).name} ended with {process.returncode}: {log.read_text()[-2000:]}")
        return get(port, path)[0] == 200

    try:
        wait_until(f"{Path(command[0]).name} answers", answers)
    except Failed:
        process.kill()
        process.wait()
        raise
    return process


def write_tree(root: Path) -> None:
    """The skills in a directory: of these, scripts can run."""
    write_skill(root, "greet", "Greets a guest politely. Use it when a guest arrives.", "# Greet\n\nBow, then smile.\n")
    scripts = root / "greet" / "scripts"
    scripts.mkdir()
    (scripts / "hello.sh").write_text('#!/bin/sh\necho "hello, number $1!"\n', encoding="utf-8")


class Replica:
    """One server, as if on a machine of its own: its port, its configuration and its cache stay when it is replaced."""

    def __init__(self, binary: str, root: Path, key: Path, store: Store, home: Path) -> None:
        self.port, self.log = free_port(), home / "log"
        home.mkdir()
        configuration = home / "skillcue.toml"
        configuration.write_text(store.configuration(), encoding="utf-8")
        self.environment = store.environment | {"HOME": str(home)}
        self.command = [
            binary, "--isolated", "--config", str(configuration), "--skills-dir", str(root),
            "mcp", "--http", f"127.0.0.1:{self.port}", "--handle-key-file", str(key),
            "--drain-delay", str(DRAIN_DELAY), "--drain-timeout", "60",
        ]
        self.start()

    def start(self) -> None:
        self.process = start(self.command, self.log, self.port, "/ready", self.environment)

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

    def skills(self) -> int:
        return int(next(value for name, value in self.metrics().items() if name.startswith("skillcue_catalog_skills{")))

    def call(self, name: str, /, **arguments) -> dict:
        return handles.call(self.port, name, arguments)

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
        file = directory / "haproxy.cfg"
        file.write_text(CONFIGURATION.format(port=self.port, servers=servers), encoding="utf-8")
        command = [haproxy, "-db", "-f", str(file)]
        self.process = start(command, directory / "haproxy.log", self.port, "/health")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class House:
    """Replicas with a proxy before them, and a store and a directory behind."""

    def __init__(self, args, count: int, directory: Path) -> None:
        directory.mkdir()
        self.args, self.directory, self.root = args, directory, directory / "skills"
        self.replicas, self.proxy, self.loads = [], None, []
        write_tree(self.root)
        self.store = Store(args.binary, args.store, directory / f"store-{directory.name}-{os.getpid()}")
        print(f"   {self.store.publish('first')}", flush=True)
        key = directory / "handle.key"
        self.secret = os.urandom(32).hex()
        key.write_text(self.secret, encoding="utf-8")
        try:
            for n in range(count):
                home = directory / f"replica-{n}"
                self.replicas.append(Replica(args.binary, self.root, key, self.store, home))
            self.wait_for_skills(1 + SKILLS)
            self.proxy = Proxy(args.haproxy, self.replicas, directory)
        except BaseException:
            self.end()
            raise

    def wait_for_skills(self, count: int) -> None:
        wait_until(f"every replica has {count} skills", lambda: all(it.skills() == count for it in self.replicas))

    def load(self, clients: int, every: int) -> "Load":
        self.loads.append(Load(self.proxy.port, clients, every, self.args.node, self.args.packages))
        return self.loads[-1]

    def __enter__(self) -> "House":
        return self

    def __exit__(self, *_) -> None:
        self.end()

    def end(self) -> None:
        for it in [*self.loads, *([self.proxy] if self.proxy else []), *self.replicas]:
            it.end()


class Load:
    """Clients at work in processes of their own."""

    def __init__(self, port: int, clients: int, every: int, node: str, packages: str) -> None:
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
                command = [*program, self.url, str(part), mode, str(every), *([packages] if sdk == "node" else [])]
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
            if not self.is_working() or self.errors:
                return
            time.sleep(0.02)
        raise Failed(f"only {self.done} clients are done")

    def is_working(self) -> bool:
        return any(process.poll() is None for process in self.processes)

    def finish(self) -> None:
        for thread in self.threads:
            thread.join(RUN_SECONDS)

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()


def scripts_run(args, root: Path) -> bool:
    """Whether scripts run on this machine: they need its sandbox."""
    command = [args.binary, "--isolated", "--no-cache", "--skills-dir", str(root), "run", "greet", "scripts/hello.sh", "--", "0"]
    tried = subprocess.run(command, capture_output=True, text=True)
    if "sandbox_unavailable" in tried.stderr:
        print(f"skipped running scripts: {tried.stderr.strip()}", flush=True)
        return False
    check("a script runs here", tried.stdout == "hello, number 0!\n", tried)
    return True


def check_metrics(house: House) -> None:
    for path in ("/metrics", "/metrics?all=1"):
        status, text = get(house.proxy.port, path)
        # Not a replica's own refusal: it would let a proxy on its machine have them.
        check(f"the proxy refuses {path}", status == 403 and "administrative rules" in text, (status, text))
    answers = [get(replica.port, "/metrics") for replica in house.replicas]
    check("each replica answers it", all(status == 200 and "skillcue_build" in text for status, text in answers), answers)


def check_handles(house: House, runs: bool) -> None:
    """Every replica takes the handle of every other, and none that was forged or has expired."""
    script = {"skill_id": "greet", "tool": "run_skill_script", "arguments": {"script": "scripts/hello.sh", "arguments": ["7"]}}
    for loader in house.replicas:
        handle = loader.call("load_skill", skill_id="greet")["_meta"][handles.HANDLE]
        for other in (it for it in house.replicas if it is not loader):
            arguments, expected = (script, "hello, number 7!") if runs else ({"skill_id": "greet"}, "run_skill_script")
            called = other.call("call_skill_tool", **arguments, handle=handle)
            said = handles.text_of(called)
            if called.get("isError") or expected not in said:
                raise Failed(f"a handle does not count on another replica: {said}")
        for wrong, reason in [
            (handle[:20] + ("A" if handle[20] != "A" else "B") + handle[21:], "it was changed, or signed for another"),
            (handles.signed_anew(handle, "0" * 64, 2**31), "it was changed, or signed for another"),
            (handles.signed_anew(handle, house.secret, 1), "it has expired"),
        ]:
            refused = loader.call("call_skill_tool", **script, handle=wrong)
            said = handles.text_of(refused)
            if not refused.get("isError") or reason not in said or "Call load_skill" not in said:
                raise Failed(f"a handle is not refused because {reason}: {said}")
        # What makes the expired one is sound: with a later time it counts.
        later = handles.signed_anew(handle, house.secret, int(time.time()) // 60 + 60)
        listed = loader.call("call_skill_tool", skill_id="greet", handle=later)
        if listed.get("isError"):
            raise Failed(f"a handle that was signed anew is refused: {handles.text_of(listed)}")
    what = "runs a script" if runs else "lists the tools"
    check(f"the handle of each replica {what} on each other", True)
    check("a forged or expired handle is refused with the reason", True)


def swap(house: House, load: "Load", what: str, change, skills: int) -> None:
    """Changes the catalog under load, and waits until all replicas have the new one, in one generation."""
    before = {replica.generation() for replica in house.replicas}
    change()
    print(f"   {what} after {load.done} clients", flush=True)

    def is_swapped() -> bool:
        if not any(load.is_working() for load in house.loads):
            # A swap is seen by clients, however fast they are.
            house.load(50, 0)
        after = {replica.generation() for replica in house.replicas}
        return len(after) == 1 and not after & before and all(it.skills() == skills for it in house.replicas)

    wait_until(f"{what}: the replicas agree on the new catalog", is_swapped)
    print(f"   all replicas have it after {load.done}", flush=True)


def disturbed(args, directory: Path) -> dict:
    """The load while replicas come and go, and the skills change."""
    with House(args, 3, directory) as house:
        replicas = house.replicas
        runs = scripts_run(args, house.root)
        check_metrics(house)
        check_handles(house, runs)
        before = {replica.generation() for replica in replicas}
        check("the replicas have one catalog", len(before) == 1, before)
        began = time.monotonic()
        load = house.load(args.clients, SCRIPT_EVERY if runs else 0)
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
        # The first clients may be through by now, and the new one is to answer some.
        house.load(100, 0)
        load.wait_for(args.clients * 55 // 100)
        publish = lambda: print(f"   {house.store.publish('second')}", flush=True)
        swap(house, load, "published the next generation", publish, 1 + SKILLS)
        new = lambda: write_skill(house.root, "swapped-in", "Is new. Use it to see the swap.", "# New\n\nSwapped in.\n")
        swap(house, load, "added a skill to the directory", new, 2 + SKILLS)
        load.wait_for(args.clients)
        for each in house.loads:
            each.finish()
        seconds = time.monotonic() - began
        for reason, count in load.reasons.most_common(8):
            print(f"   retried {count} times: {reason}", flush=True)
        errors = [error for each in house.loads for error in each.errors]
        check("no client saw an error beyond a retry", not errors, errors[:5])
        by_rest = sum(each.modern_retries() for each in house.loads) - by_kill
        check("draining and swapping cost clients without a session no retry", by_rest == 0, by_rest)
        check(f"{load.clients} clients came to their end", load.done == load.clients, load.done)
        served = [replica.requests() for replica in replicas]
        check("every replica has answered", all(count > 0 for count in served), served)
        names = [f"filler-{n:02}" for n in (0, SKILLS - 1)]
        texts = [handles.text_of(it.call("load_skill", skill_id=f"{CATALOG}:{name}")) for it in replicas for name in names]
        check("every replica serves the new generation", all("second edition" in text for text in texts), texts)
        print(f"   {load.done} clients in {seconds:.0f} s, {load.retries} retries", flush=True)
        return {"clients": load.done, "retries": load.retries, "by_kill": by_kill, "seconds": round(seconds, 1)}


def undisturbed(args, count: int, clients: int, directory: Path) -> dict:
    """The same work for a number of replicas: what a request costs. No scripts: those are processes of their own."""
    with House(args, count, directory) as house:
        cpu = lambda metrics: metrics["skillcue_process_cpu_seconds_total"]
        before = [(replica.requests(), cpu(replica.metrics())) for replica in house.replicas]
        load = house.load(clients, 0)
        load.finish()
        problems = [*load.errors, *load.reasons]
        check(f"{count} undisturbed: no error and no retry", not problems and load.done == load.clients, problems[:5])
        after = [(replica.requests(), replica.metrics()) for replica in house.replicas]
        requests = sum(now[0] - then[0] for then, now in zip(before, after, strict=True))
        seconds = sum(cpu(now[1]) - then[1] for then, now in zip(before, after, strict=True))
        memory = [now[1]["skillcue_process_resident_memory_bytes"] / 2**20 for now in after]
        return {
            "replicas": count,
            "clients": load.clients,
            "requests": int(requests),
            "cpu_ms_per_request": round(seconds * 1000 / requests, 3),
            "resident_mib_each": round(max(memory), 1),
            "resident_mib_all": round(sum(memory), 1),
        }


def print_beside(figures: list[dict]) -> None:
    """One line for each number of replicas."""
    names = list(figures[0])
    widths = [max(len(name), *(len(str(row[name])) for row in figures)) for name in names]
    for row in [dict(zip(names, names, strict=True)), *figures]:
        cells = (str(row[name]).rjust(width) for name, width in zip(names, widths, strict=True))
        print("   " + "  ".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("binary", "haproxy", "node", "packages"):
        parser.add_argument(name)
    parser.add_argument("--store", help="the address of an S3 server")
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--only-figures", action="store_true", help="only what a request costs, with all clients")
    args = parser.parse_args()
    args.binary, args.packages = (str(Path(place).resolve()) for place in (args.binary, args.packages))
    with tempfile.TemporaryDirectory(prefix="skillcue-replicas-") as directory:
        directory, figures = Path(directory), {}
        if not args.only_figures:
            figures["disturbed"] = disturbed(args, directory / "disturbed")
        clients = args.clients if args.only_figures else args.clients // 4
        for name, count in [("three", 3), ("one", 1)]:
            figures[name] = undisturbed(args, count, clients, directory / name)
        print_beside([figures["three"], figures["one"]])
        if args.figures:
            args.figures.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print("replicas: all checks passed")


try:
    main()
except Failed as failure:
    print(f"FAILED: {failure}", file=sys.stderr)
    sys.exit(1)
