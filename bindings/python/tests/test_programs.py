"""Scripts in the sandbox, their limits, and how a call of one ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import skillcue
from skillcue import Skillcue

SLEEP = "import sys, time\nprint('begun', flush=True)\ntime.sleep(60)\n"


def test_a_script_runs_in_the_sandbox(skills: Skillcue) -> None:
    assert [script.path for script in skills.scripts("pdf")] == ["scripts/count.py"]
    assert skills.scripts("pdf")[0].description == "Counts the words of its arguments."
    heard: list[tuple[str, bytes]] = []
    result = skills.run_script("pdf", "count.py", ["a", "b c"], on_output=lambda *it: heard.append(it))
    assert result.success
    assert json.loads(result.stdout) == {"words": ["a", "b c"], "skill": "pdf"}
    assert result.sandboxed
    assert result.layers
    assert b"".join(part for _, part in heard) == result.stdout_bytes


def test_a_model_runs_a_script_of_a_loaded_skill(skills: Skillcue) -> None:
    session: dict[str, object] = {}
    skills.call_tool("load_skill", {"skill_id": "pdf"}, session=session)
    call = {"skill_id": "pdf", "script": "scripts/count.py", "args": ["x"]}
    names = {tool.name: tool for tool in skills.tools(session=session)}
    properties = names["run_skill_script"].input_schema["properties"]
    arguments = {"skill_id": "pdf", next(name for name in properties if "script" in name): "scripts/count.py"}
    result = skills.call_tool("run_skill_script", arguments, session=session)
    assert not result.is_error, (result.text, call)
    assert "pdf" in result.text


def test_the_sandbox_keeps_files_from_scripts(skills: Skillcue, skill_at: Callable[..., Path], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    skill_at("spy", "---\nname: spy\ndescription: Spies.\n---\n", {"scripts/spy.py": f"print(open({str(secret)!r}).read())"})
    skills.refresh()
    result = skills.run_script("spy", "spy.py")
    assert not result.success
    assert "secret\n" not in result.stdout


def test_a_slow_script_is_ended(tree: Path, skill_at: Callable[..., Path]) -> None:
    directory = skill_at("slow", "---\nname: slow\ndescription: Is slow.\n---\n", {"scripts/slow.py": SLEEP})
    with pytest.raises(skillcue.ScriptTimeoutError) as raised:
        skillcue.run_script_in(directory, "slow.py", timeout=0.5)
    assert raised.value.code == "timeout"
    assert raised.value.result is not None
    assert raised.value.result.stdout == "begun\n"
    assert isinstance(raised.value, TimeoutError)


def test_a_call_is_cancelled_from_another_thread(skills: Skillcue, skill_at: Callable[..., Path]) -> None:
    skill_at("slow", "---\nname: slow\ndescription: Is slow.\n---\n", {"scripts/slow.py": SLEEP})
    skills.refresh()
    cancel = skillcue.Cancel()
    with pytest.raises(skillcue.ScriptError) as raised:
        skills.run_script("slow", "slow.py", on_output=lambda *_: cancel.cancel(), cancel=cancel)
    assert raised.value.code == "cancelled"
    assert cancel.cancelled


def test_a_task_that_is_cancelled_ends_its_script(skills: Skillcue, skill_at: Callable[..., Path]) -> None:
    skill_at("slow", "---\nname: slow\ndescription: Is slow.\n---\n", {"scripts/slow.py": SLEEP})
    skills.refresh()
    begun, cancel = threading.Event(), skillcue.Cancel()

    async def main() -> None:
        run = skills.arun_script("slow", "slow.py", on_output=lambda *_: begun.set(), cancel=cancel)
        task = asyncio.create_task(run)
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert begun.is_set()
    assert cancel.cancelled


def test_an_interrupt_ends_a_long_call(skills: Skillcue, skill_at: Callable[..., Path]) -> None:
    skill_at("slow", "---\nname: slow\ndescription: Is slow.\n---\n", {"scripts/slow.py": SLEEP})
    skills.refresh()
    # A shell starts background processes with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            skills.run_script("slow", "slow.py", on_output=lambda *_: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)


def test_permissions_are_asked_for(tree: Path, skill_at: Callable[..., Path]) -> None:
    text = "---\nname: net\ndescription: Uses the net.\npermissions:\n  network: true\n---\n"
    skill_at("net", text, {"scripts/go.sh": "#!/bin/sh\necho gone\n"})
    skills = Skillcue(tree)
    with pytest.raises(skillcue.PermissionRequiredError) as raised:
        skills.run_script("net", "go.sh")
    assert raised.value.question is not None
    assert raised.value.question["subject"]["skill"] == "net"
    assert raised.value.question["permissions"]["network"] is True
    assert skills.run_script("net", "go.sh", grant=True).stdout == "gone\n"
    asked: list[dict[str, object]] = []
    willing = Skillcue(tree, consent=lambda question: asked.append(question) or True)
    assert willing.run_script("net", "go.sh").stdout == "gone\n"
    assert asked
    with pytest.raises(skillcue.PermissionRequiredError):
        Skillcue(tree, consent=lambda question: False).run_script("net", "go.sh")
