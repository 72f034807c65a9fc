"""Functions that need no catalog, and the program that the package carries."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union

from . import _native
from ._errors import SkillcueError, _raised
from ._results import Report, RunResult, Script
from ._types import Counter, Diagnostic, FileListing, ParsedSkill

StrPath: TypeAlias = Union[str, "os.PathLike[str]"]

atexit.register(_native.end_helper)


def program() -> Path:
    """Returns the path of the program ``skillcue`` in this package: the command line, and the helper of sandboxes."""
    return Path(__file__).parent / "bin" / "skillcue"


def cli(
    *arguments: str,
    input: str | None = None,
    cwd: StrPath | None = None,
    env: Mapping[str, str] | None = None,
) -> Any:
    """Runs the program with ``--json`` and returns what it prints: for what has no function, such as ``install``,
    ``audit`` and ``eval``.

    :raises SkillcueError: with the code and the hint of the program's error.
    """
    # A script that reads its standard input must not wait for the terminal's.
    done = subprocess.run(
        [program(), *arguments, "--json"],
        input="" if input is None else input,
        cwd=cwd,
        env=None if env is None else dict(env),
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        document = json.loads(done.stdout)
    except ValueError:
        words = done.stderr.strip() or done.stdout.strip() or f"it ended with {done.returncode}"
        raise SkillcueError(f"skillcue {' '.join(arguments)}: {words}", code="program") from None
    if done.returncode != 0 and isinstance(document, dict) and isinstance(document.get("error"), dict):
        error = document["error"]
        raise _raised(error.get("code", "error"), error.get("message", ""), error.get("help"), {})
    return document


def validate(*paths: StrPath) -> Report:
    """Checks skills, skill files or directories of skills by the rules of agentskills.io."""
    return _report(cli("validate", *(os.fspath(path) for path in paths)))


def lint(*paths: StrPath, fix: bool = False) -> Report:
    """Checks the style of skills. With ``fix``, broken YAML is repaired in the file, and nothing else is touched."""
    options = ["--fix"] if fix else []
    return _report(cli("lint", *options, *(os.fspath(path) for path in paths)))


def _report(document: dict[str, Any]) -> Report:
    findings = tuple(Diagnostic._of(row) for row in document["diagnostics"])
    return Report(document["valid"], findings, tuple(document.get("fixed") or ()))


def parse(source: StrPath | bytes, *, kind: Literal["markdown", "yaml"] = "markdown") -> ParsedSkill:
    """Parses a skill file: the file at a path, or its bytes. Broken content is reported in the result, and never raised."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return ParsedSkill._of(_native.parse(bytes(source), None, kind == "yaml"))
    return ParsedSkill._of(_native.parse(None, os.fspath(source), kind == "yaml"))


def count_tokens(text: str, counter: Counter = "segment") -> int:
    """Returns the number of tokens of a text, as a counter estimates it; ``o200k`` is exact for models that use it."""
    return _native.count_tokens(text, counter)


def scripts_in(directory: StrPath, *, name: str | None = None) -> list[Script]:
    """Returns the scripts of a skill's directory. Runs nothing."""
    return [Script._of(row) for row in _native.scripts_in(os.fspath(directory), name)]


def files_in(directory: StrPath, *, name: str | None = None) -> FileListing:
    """Returns the files of a skill's directory."""
    return FileListing._of(_native.files_in(os.path.abspath(directory), _name(directory, name)))


def read_in(directory: StrPath, path: StrPath, *, name: str | None = None) -> bytes:
    """Reads a file below a directory, out of which no path leads."""
    return _native.read_in(os.path.abspath(directory), _name(directory, name), os.fspath(path))


def _name(directory: StrPath, name: str | None) -> str:
    return os.path.basename(os.path.abspath(directory)) if name is None else name


def run_script_in(
    directory: StrPath,
    script: str,
    arguments: Iterable[str] = (),
    *,
    input: Any = None,
    name: str | None = None,
    timeout: float | None = None,
    max_output: int | None = None,
    allow_unsandboxed: bool = False,
    grant: bool = False,
    environ: Mapping[str, str] | None = None,
    helper: StrPath | None = None,
    on_output: Callable[[str, bytes], None] | None = None,
    cancel: _native.Cancel | None = None,
) -> RunResult:
    """Runs a script of a skill's directory, which need not be in a catalog, in the sandbox.

    :param timeout: Seconds, 60 by default.
    :param max_output: Bytes of output, 1 MiB by default.
    """
    options = {
        "helper": os.fspath(program() if helper is None else helper),
        "variables": list((os.environ if environ is None else environ).items()),
        "timeout": timeout,
        "max_output": max_output,
        "unsandboxed": allow_unsandboxed,
    }
    row = _native.run_script_in(
        os.fspath(directory), name, script, list(arguments), input, grant, options, on_output, cancel
    )
    return RunResult._of(row)
