"""Scripts, where Skillcue's sandbox is behind skillkit's interface."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from compat_types import MakeSkill

from skillcue.compat.skillkit import ScriptExecutionResult, SkillManager
from skillcue.compat.skillkit.core.exceptions import ArgumentSerializationError, ScriptError
from skillcue.compat.skillkit.core.scripts import ScriptDetector


class Scripts:
    """A skill with scripts that can be run."""

    def __init__(self, manager: SkillManager, directory: Path) -> None:
        self.manager = manager
        self.directory = directory
        (directory / "scripts").mkdir()

    def write(self, name: str, text: str) -> None:
        (self.directory / name).write_text(text, encoding="utf-8")

    def run(self, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> ScriptExecutionResult:
        self.manager.discover()
        try:
            return self.manager.execute_skill_script("s", name, arguments or {}, **options)
        except ScriptError as error:
            if "offers no sandbox" in str(error):
                pytest.skip(f"skipped: {error}")
            raise


@pytest.fixture
def scripts(manager: SkillManager, make_skill: MakeSkill) -> Scripts:
    return Scripts(manager, make_skill("s", front="name: s\ndescription: d\nversion: 1.2.3"))


def test_a_script_writes_and_reads_nothing_outside(scripts: Scripts, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    scripts.write("scripts/probe.sh", f"cat {secret}\necho x > {scripts.directory}/new && echo wrote\nexit 0\n")
    inside = scripts.run("probe")
    assert (inside.exit_code, inside.stdout) == (0, "")
    assert not (scripts.directory / "new").exists()
    outside = scripts.run("probe", sandbox=False)
    assert outside.stdout == "hunter2wrote\n"


def test_the_manager_can_switch_the_sandbox_off(skills: Path, scripts: Scripts) -> None:
    scripts.write("scripts/probe.sh", f"echo x > {scripts.directory}/new && echo wrote\n")
    scripts.manager = SkillManager(project_skill_dir=skills, anthropic_config_dir="", sandbox=False)
    assert scripts.run("probe").stdout == "wrote\n"


def test_a_script_sees_the_variables_of_its_skill_and_no_secret(
    scripts: Scripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "hunter2")
    scripts.write("scripts/env.sh", 'echo "$SKILL_NAME $SKILL_VERSION $SKILL_BASE_DIR $SKILLKIT_VERSION [$API_KEY]"\n')
    assert scripts.run("env").stdout == f"s 1.2.3 {os.path.realpath(scripts.directory)} 0.3.0 []\n"
    assert scripts.run("env", sandbox=False).stdout.endswith("[hunter2]\n")


def test_a_script_in_the_skills_directory_itself_runs(scripts: Scripts) -> None:
    scripts.write("root.sh", "echo root\n")
    assert scripts.run("root").stdout == "root\n"


def test_arguments_keep_their_numbers_and_their_order(scripts: Scripts) -> None:
    scripts.write("scripts/echo.sh", "cat\n")
    arguments = {"B": 2**70, "a": 1.5, "Ü": ["ß", None, True]}
    result = scripts.run("echo", arguments)
    assert json.loads(result.stdout) == {"b": 2**70, "a": 1.5, "ü": ["ß", None, True]}
    assert result.stdout.index('"b"') < result.stdout.index('"a"')


def test_a_timeout_is_exit_code_124(scripts: Scripts) -> None:
    scripts.write("scripts/slow.sh", "echo begun\nsleep 60\n")
    result = scripts.run("slow", timeout=1)
    assert (result.exit_code, result.timeout, result.stdout) == (124, True, "begun\n")


def test_a_timeout_ends_what_a_script_has_started(scripts: Scripts, tmp_path: Path) -> None:
    # The child of the script holds its pipes, and would hold up a caller that waits for their end.
    scripts.write("scripts/slow.sh", f"echo begun\nsh -c 'echo $$ > {tmp_path}/child; exec sleep 600' &\nwait\n")
    for options in ({}, {"sandbox": False}):
        result = scripts.run("slow", timeout=1, **options)
        assert (result.exit_code, result.timeout, result.stdout) == (124, True, "begun\n"), options
    assert ends(int((tmp_path / "child").read_text()))


def test_a_process_that_leaves_its_group_does_not_hold_up_a_timeout(scripts: Scripts, tmp_path: Path) -> None:
    child = tmp_path / "child"
    scripts.write("scripts/slow.sh", f"echo begun\nsetsid sh -c 'echo $$ > {child}; exec sleep 600' &\nsleep 600\n")
    result = scripts.run("slow", timeout=1, sandbox=False)
    left = int(child.read_text())
    assert is_running(left), "it was not waited for"
    os.kill(left, signal.SIGKILL)
    assert (result.exit_code, result.stdout) == (124, "begun\n")


def ends(process: int) -> bool:
    """Returns whether a process that was killed has ended, or does within ten seconds. Its pipes are closed a moment before
    it has ended."""
    deadline = time.monotonic() + 10
    while is_running(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_running(process: int) -> bool:
    """Returns whether a process has not ended. One that waits to be reaped has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_signal_has_its_name(scripts: Scripts) -> None:
    scripts.write("scripts/end.sh", "kill -TERM $$\n")
    result = scripts.run("end")
    assert (result.exit_code, result.signal, result.signal_number) == (-15, "SIGTERM", 15)


def test_output_that_is_no_text_is_replaced(scripts: Scripts) -> None:
    scripts.write("scripts/bytes.sh", "printf 'a\\377b'\n")
    assert scripts.run("bytes").stdout == "a\ufffdb"
    assert scripts.run("bytes", sandbox=False).stdout == "a\ufffdb"


def test_arguments_that_contain_themselves_are_refused(scripts: Scripts) -> None:
    scripts.write("scripts/echo.sh", "cat\n")
    arguments: dict[str, Any] = {}
    arguments["own"] = arguments
    with pytest.raises(ArgumentSerializationError):
        scripts.run("echo", arguments)


def test_descriptions_and_the_order_of_scripts(scripts: Scripts) -> None:
    scripts.write("scripts/b.py", '"""First line\n\nSecond line.\n"""\n')
    scripts.write("scripts/a.js", "/**\n * Block.\n * More.\n */\n")
    scripts.write("scripts/c.sh", "#!/bin/bash\n# One\n# two\n\necho\n")
    found = ScriptDetector().detect_scripts(scripts.directory)
    assert [(script.name, script.description) for script in found] == [
        ("a", "Block. More."),
        ("b", "First line  Second line."),
        ("c", "One two"),
    ]
