"""This package, by its own interface and by skillkit's, beside skillkit 0.4.0, in one run: `compare.py [COUNT...]`, 100 and
1,000 skills by default.

Every figure is of a process of its own; of each measurement the best of several rounds, taken in turns, so that a noisy
machine is as noisy for both. Ratios are what to look at. `disclose` is compared with the time that the library itself
reports for the same call, which is the Rust call without Python.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 3
TASKS = 200


def write_tree(root: Path, count: int) -> None:
    """Writes skills with descriptions and bodies of an ordinary size."""
    for number in range(count):
        directory = root / f"skill-{number:05}"
        directory.mkdir(parents=True)
        about = f"Does task number {number}. Use it when the user asks for report {number} or wants it changed. "
        text = f"---\nname: skill-{number:05}\ndescription: {about * 2}\nallowed-tools:\n  - Read\n---\n"
        body = "".join(f"## Step {step}\n\nDo the {step}. part of $ARGUMENTS with care.\n\n" for step in range(40))
        (directory / "SKILL.md").write_text(text + body)


def once(work: Callable[[], Any]) -> float:
    """Returns the seconds of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def often(work: Callable[[], Any], count: int = 2_000) -> float:
    """Returns the seconds of one call of many: the best of batches."""
    gc.collect()

    def batch() -> None:
        # Results are not kept: a hundred of them would be counted as memory.
        for _ in range(count // 20):
            work()

    return min(once(batch) / (count // 20) for _ in range(20))


def resident() -> float:
    """Returns the memory of this process in MiB: its own, without the files that are mapped."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) / 1024


def own(root: Path, count: int) -> dict[str, float]:
    """Measures this package."""
    gc.collect()
    before = resident()
    from skillcue import Skillcue

    imported = resident()
    opened: list[Skillcue] = []

    def discover() -> None:
        opened.append(Skillcue(root))
        assert all(skill.name and skill.description for skill in opened[0].list())

    found = {"discover, first list": once(discover)}
    skills = opened[0]
    names = [f"skill-{number:05}" for number in range(count)]
    assert len(skills.list()) == count
    found["list"] = often(skills.list)
    found["first invoke"] = once(lambda: [skills.load(name, "the report") for name in names]) / count
    found["cached invoke"] = often(lambda: skills.load(names[-1], "the report"))

    async def many() -> None:
        await asyncio.gather(*(skills.aload(names[-1 - at % 50], "the report") for at in range(TASKS)))

    gc.collect()
    found["memory, with the import"] = resident() - before
    found["memory, after the import"] = resident() - imported
    asyncio.run(many())
    found["async invoke"] = min(once(lambda: asyncio.run(many())) for _ in range(5)) / TASKS
    messages = [f"I want report {number} changed, please" for number in range(200)]
    for message in messages:
        skills.disclose(message)
    times, inside = [], []
    for message in messages * 5:
        begin = time.perf_counter()
        shown = skills.disclose(message)
        times.append(time.perf_counter() - begin)
        inside.append(shown.elapsed_us / 1e6)
    overhead = sorted(whole - part for whole, part in zip(times, inside, strict=True))
    found["disclose"] = statistics.median(times)
    found["disclose, inside of Rust"] = found["disclose"] - statistics.median(overhead)
    return found


def rival(root: Path, count: int, module: str = "skillkit") -> dict[str, float]:
    """Measures skillkit, or what has its interface."""
    gc.collect()
    before = resident()
    SkillManager: Any = importlib.import_module(module).SkillManager
    imported = resident()
    logging.disable(logging.WARNING)
    manager = SkillManager(project_skill_dir=root, anthropic_config_dir="", plugin_dirs=[])

    def discover() -> None:
        manager.discover()
        assert all(skill.name and skill.description for skill in manager.list_skills())

    found = {"discover, first list": once(discover)}
    names = [f"skill-{number:05}" for number in range(count)]
    assert len(manager.list_skills()) == count
    found["list"] = often(manager.list_skills)
    found["first invoke"] = once(lambda: [manager.invoke_skill(name, "the report") for name in names]) / count
    found["cached invoke"] = often(lambda: manager.invoke_skill(names[-1], "the report"))

    async def fresh() -> Any:
        other = SkillManager(project_skill_dir=root, anthropic_config_dir="", plugin_dirs=[])
        await other.adiscover()
        return other

    async def many(other: Any) -> float:
        begin = time.perf_counter()
        await asyncio.gather(*(other.ainvoke_skill(names[-1 - at % 50], "the report") for at in range(TASKS)))
        return (time.perf_counter() - begin) / TASKS

    async def twice() -> float:
        other = await fresh()
        await many(other)
        return min([await many(other) for _ in range(5)])

    gc.collect()
    found["memory, with the import"] = resident() - before
    found["memory, after the import"] = resident() - imported
    found["async invoke"] = asyncio.run(twice())
    return found


def measured(kind: str, root: Path, count: int) -> dict[str, float]:
    """Measures in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", kind, str(root), str(count)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def shown(value: float, name: str) -> str:
    """Returns a figure with its unit."""
    if name.startswith("memory"):
        return f"{value:.1f} MiB"
    return f"{value * 1e3:.2f} ms" if value >= 1e-3 else f"{value * 1e6:.2f} µs"


def main(counts: list[int]) -> None:
    """Prints the tables."""
    for count in counts:
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            write_tree(root, count)
            rounds = [[measured(kind, root, count) for kind in KINDS] for _ in range(ROUNDS)]
        ours, compatible, theirs = (
            {name: min(one[at][name] for one in rounds) for name in rounds[0][at]} for at in range(len(KINDS))
        )
        print(f"\n{count} skills, the best of {ROUNDS} rounds\n")
        print("| | skillkit 0.4.0 | skillcue | times | skillcue.compat.skillkit | times |")
        print("| --- | --- | --- | --- | --- | --- |")
        for name, value in theirs.items():
            both = (f"{shown(one[name], name)} | {value / one[name]:.1f}" for one in (ours, compatible))
            print(f"| {name} | {shown(value, name)} | {' | '.join(both)} |")
        whole, inside = ours["disclose"], ours["disclose, inside of Rust"]
        print(f"\ndisclose: {whole * 1e6:.1f} µs, of which {inside * 1e6:.1f} µs in Rust: Python adds ", end="")
        print(f"{(whole - inside) * 1e6:.1f} µs")


KINDS: dict[str, Callable[[Path, int], dict[str, float]]] = {
    "own": own,
    "compatible": lambda root, count: rival(root, count, "skillcue.compat.skillkit"),
    "rival": rival,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(KINDS[sys.argv[2]](Path(sys.argv[3]), int(sys.argv[4]))))
    else:
        main([int(argument) for argument in sys.argv[1:]] or [100, 1000])
