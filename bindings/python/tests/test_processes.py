"""Processes, threads, tasks, garbage, memory, and interpreters."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import resource
import subprocess
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from trees import write_many, write_skill

from skillcue import Session, Skillcue, run_script_in


@contextmanager
def deadline(seconds: int) -> Iterator[None]:
    """Ends the whole process if something hangs."""
    timer = threading.Timer(seconds, lambda: os._exit(70))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def forked(work: Callable[[], object]) -> object:
    """Returns what a forked child computes."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns about `fork` in a process with threads: that is the point.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            with deadline(30):
                os.write(writing, repr(work()).encode())
        except BaseException as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        text = answer.read().decode()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the child hung, and was ended"
    return text


def test_a_forked_child_discovers(tmp_path: Path) -> None:
    # More than 256 skills, so that the threads of the pool are used on both sides.
    write_many(tmp_path, 600)
    skills = Skillcue(tmp_path)
    skills.select("do task7")
    assert forked(lambda: len(Skillcue(tmp_path))) == "600"
    assert forked(lambda: len(skills.list())) == "600"
    assert forked(lambda: skills.load("skill-0007", "x").content.count("Body 7: x")) == "1"
    assert forked(lambda: skills.select("do task7").names[0]) == "'skill-0007'"
    assert forked(lambda: skills.refresh().unchanged) == "600"
    assert forked(lambda: forked(lambda: len(skills))) == repr("600"), "a child of a child"
    assert len(skills) == 600, "the parent goes on"


def test_a_fork_amid_the_work_of_other_threads(tmp_path: Path) -> None:
    write_many(tmp_path, 300)
    skills = Skillcue(tmp_path, load_cache=4)
    stop = threading.Event()

    def work() -> None:
        number = 0
        while not stop.is_set():
            number = (number + 1) % 300
            skills.load(f"skill-{number:04}", str(number))
            skills.select(f"task{number} and {number}")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert forked(lambda: skills.load("skill-0001", "y").name) == "'skill-0001'"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_forked_child_runs_scripts(skills: Skillcue) -> None:
    assert skills.run_script("pdf", "count.py").success
    assert forked(lambda: skills.run_script("pdf", "count.py").success) == "True"
    assert skills.run_script("pdf", "count.py").success, "the child did not end the parent's helper"


def test_a_forked_child_has_a_helper_of_its_own(tree: Path) -> None:
    def run() -> bool:
        return run_script_in(tree / "pdf", "count.py").success

    def helpers() -> set[str]:
        # A child belongs to the thread that started it, or to another if that has ended.
        texts = (it.read_text() for it in Path("/proc/self/task").glob("*/children"))
        found = (child for text in texts for child in text.split())
        return {child for child in found if b"skillcue" in Path(f"/proc/{child}/cmdline").read_bytes()}

    assert run()
    before = helpers()
    assert before
    assert run()
    assert helpers() == before, "one helper serves all runs"
    assert forked(lambda: [run(), run()]) == "[True, True]"
    assert run()
    assert helpers() == before, "the child did not end the parent's helper"


def test_a_forked_child_awaits(skills: Skillcue) -> None:
    asyncio.run(skills.aload("pdf"))
    assert forked(lambda: asyncio.run(skills.aload("pdf")).name) == "'pdf'"


def _count(root: str) -> int:
    return len(Skillcue(root))


def test_spawned_processes_discover(tmp_path: Path) -> None:
    write_many(tmp_path, 300)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_count, [str(tmp_path)] * 2) == [300, 300]


def test_64_threads_share_one_object(tmp_path: Path) -> None:
    write_many(tmp_path, 100)
    skills = Skillcue(tmp_path, load_cache=10)

    def work(number: int) -> bool:
        session: Session = {}
        for step in range(20):
            at = (number * 7 + step) % 100
            assert f"Body {at}: {number}" in skills.load(f"skill-{at:04}", str(number)).content
            assert skills.disclose(f"do task{at}", session=session).skills[0].name == f"skill-{at:04}"
            assert len(skills.list()) == 100
            if step == 10:
                skills.refresh()
        return True

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(work, range(64)))


def test_1000_tasks_share_one_loop(tmp_path: Path) -> None:
    write_many(tmp_path, 100)

    async def main() -> None:
        async with await Skillcue.aopen(tmp_path) as skills:
            beats = 0

            async def beat() -> None:
                nonlocal beats
                while True:
                    await asyncio.sleep(0)
                    beats += 1

            async def work(number: int) -> str:
                session: Session = {}
                shown = await skills.adisclose(f"do task{number % 100}", session=session)
                assert session["turn"] == 1
                return shown.skills[0].name

            heart = asyncio.create_task(beat())
            names = await asyncio.gather(*(work(number) for number in range(1000)))
            heart.cancel()
            assert names == [f"skill-{number % 100:04}" for number in range(1000)]
            assert beats > 2, "the loop was not blocked"
            loaded = await asyncio.gather(*(skills.aload(f"skill-{number % 100:04}", "z") for number in range(1000)))
            assert all("z" in it.content for it in loaded)

    asyncio.run(main())


def test_a_cancelled_task_leaves_its_session_alone(skills: Skillcue) -> None:
    async def main() -> None:
        session: Session = {}
        task = asyncio.create_task(skills.adisclose("Say bonjour", session=session))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.05)
        assert session == {}

    asyncio.run(main())


def test_garbage_is_collected_under_load(tree: Path) -> None:
    gc.set_threshold(10, 2, 2)
    try:

        def work(_: int) -> int:
            total = 0
            for _ in range(20):
                opened = Skillcue(tree)
                cycle: list[object] = [opened, opened.list(), opened.disclose("Say bonjour")]
                cycle.append(cycle)
                total += len(opened)
            return total

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [60] * 8
    finally:
        gc.set_threshold(700, 10, 10)
    gc.collect()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_10000_loads_do_not_grow(tmp_path: Path) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("there is no /proc")
    write_many(tmp_path, 50)
    skills = Skillcue(tmp_path, load_cache=20)

    def rounds(count: int) -> None:
        for number in range(count):
            skills.load(f"skill-{number % 50:04}", f"argument {number}")
            if number % 10 == 0:
                skills.disclose(f"do task{number}", session={})
            if number % 500 == 0:
                skills.refresh()

    rounds(3_000)
    gc.collect()
    before = _resident()
    rounds(10_000)
    gc.collect()
    grown = _resident() - before
    assert grown < 4 << 20, f"{grown} bytes"


def test_a_hostile_tree_does_no_harm(tmp_path: Path) -> None:
    root = tmp_path / "skills"
    write_skill(root, "good", "---\nname: good\ndescription: Is good.\n---\nGood.\n")
    write_skill(root, "bomb", "---\nname: bomb\na: &a [x,x]\n" + "".join(f"b{i}: &b{i} [*a,*a]\n" for i in range(99)) + "---\n")
    write_skill(root, "deep", "---\nname: deep\ndescription: " + "[" * 50_000 + "\n---\n")
    write_skill(root, "pattern", "---\nname: pattern\ndescription: Is slow.\ntriggers:\n  patterns: ['(a*)*b', '((((']\n---\n")
    write_skill(root, "escape", "---\nname: escape\ndescription: \"\\e[31m \\u202e evil\"\n---\n\x1b[2J $ARGUMENTS\n")
    (root / "bytes").mkdir()
    (root / "bytes" / "SKILL.md").write_bytes(b"---\nname: bytes\ndescription: \xff\xfe\n---\n\xff")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "good" / "pipe")
    (root / "out").mkdir()
    (root / "out" / "SKILL.md").symlink_to("/etc/passwd")
    os.makedirs(os.fsencode(root) + b"/not-utf8-\xff")
    Path(os.fsdecode(os.fsencode(root) + b"/not-utf8-\xff/SKILL.md")).write_text(
        "---\nname: odd\ndescription: Has an odd path.\n---\nOdd.\n"
    )
    skills = Skillcue(root)
    assert "good" in skills
    assert "out" not in skills
    for skill in skills.list():
        skills.load(skill.name, "a" * 1000)
        skills.files(skill.name)
    assert skills.disclose("a" * 30_000 + "!").tier in (1, 2, 3)
    assert skills.diagnostics()
    assert all(it.diagnostics for it in skills.invalid())
    with pytest.raises(Exception, match="ordinary|refused"):
        skills.read("good", "pipe")
    with pytest.raises(UnicodeEncodeError):
        skills.disclose("\ud800")


def test_a_watch_reports_changes(skills: Skillcue, skill_at: Callable[..., Path]) -> None:
    seen = threading.Event()
    with skills.watch(lambda event: seen.set() if event.changes and "late" in event.changes.added else None):
        for _ in range(100):
            if not (skills.find("late")):
                break
        skill_at("late", "---\nname: late\ndescription: Comes late.\n---\nLate.\n")
        assert seen.wait(30)
    assert "late" in skills


def test_sub_interpreters_are_refused() -> None:
    code = "import skillcue"
    if sys.version_info >= (3, 14):
        program = f"from concurrent import interpreters as i\nx = i.create()\nx.exec({code!r})"
    elif sys.version_info >= (3, 13):
        program = f"import _interpreters as i\nx = i.create()\nr = i.exec(x, {code!r})\nassert r is None, r.formatted"
    else:
        program = f"import _xxsubinterpreters as i\nx = i.create()\ni.run_string(x, {code!r})"
    program = f"import skillcue\n{program}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "subinterpreter" in done.stderr.lower(), done.stderr


def test_the_gil_is_as_said() -> None:
    # No wheel is made for free-threaded interpreters, and `cp310-abi3` does not install there.
    assert not sysconfig.get_config_var("Py_GIL_DISABLED")
