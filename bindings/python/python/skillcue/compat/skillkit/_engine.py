"""The functions of Skillcue that this package is built on: the only module here that knows the native one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import skillcue
from skillcue import _native


class Finding(NamedTuple):
    """Something that is wrong with a skill file or with the search; `path` is that of a search's finding."""

    code: str
    message: str
    line: int | None = None
    column: int | None = None
    path: str = ""


class FrontMatter:
    """A skill file's front matter as it was written, and the findings that matter."""

    __slots__ = ("_fronts", "_raw", "findings", "path")

    def __init__(self, path: str, raw: Any, findings: list[Finding], fronts: _native.NativeFronts | None = None) -> None:
        """Takes what was read, or the place of a file in a search, whose front matter is then made when it is asked for."""
        self.path = path
        self.findings = findings
        self._raw = raw
        self._fronts = fronts

    @property
    def raw(self) -> Any:
        """The front matter."""
        return self._raw if self._fronts is None else self._fronts.raw(self._raw)

    @property
    def fields(self) -> dict[str, Any] | None:
        """The fields; None, if it is no mapping or could not be read. An empty front matter is no mapping."""
        raw = self.raw
        return raw if isinstance(raw, dict) else None

    @property
    def kind(self) -> str:
        """The name of the type that it is."""
        return type(self.raw).__name__


class LeadsOut(Exception):
    """A path leads out of its directory."""


class CannotRun(Exception):
    """A script could not be started; `code` is Skillcue's word for the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class ScriptRun:
    """A script that ran, to its end or until a limit stopped it."""

    exit_code: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool
    stopped: str


# Reasons for which a script that ran was ended; with all others it did not start.
_LIMITS = frozenset({"timeout", "output_truncated", "memory", "processes", "disk"})


def scan(directory: Path) -> tuple[list[FrontMatter], list[Finding]]:
    """Returns the skill files below a directory, sorted by path, and findings about the search."""
    fronts, findings = _native.compat_scan(directory.absolute())
    found: list[FrontMatter] = []
    for position in range(len(fronts)):
        place = fronts.place(position)
        if place is not None:
            found.append(FrontMatter(place[0], position, [Finding(*it) for it in place[1]], fronts))
    return found, [Finding(code, message, path=path) for code, message, path in findings]


def parse(path: Path) -> FrontMatter:
    """Returns the front matter of one file. Raises OSError if it cannot be read."""
    where, raw, about = _native.compat_parse_file(path)
    return FrontMatter(where, raw, [Finding(*found) for found in about])


def read_body(path: Path) -> str:
    """Returns the text behind the front matter. Raises OSError or UnicodeDecodeError."""
    return _native.compat_read_body(path)


def read_below(directory: Path, path: str) -> bytes:
    """Returns the bytes of a file below a directory, checked and opened in one step.

    Raises:
        LeadsOut: The path leads out.
        OSError: The file cannot be read.
    """
    data, reason = _native.compat_read_below(directory.absolute(), path)
    if data is None:
        raise LeadsOut(reason)
    return data


def run_script(
    directory: Path,
    script: str,
    *,
    name: str,
    variables: Mapping[str, str],
    stdin: bytes,
    timeout: float,
    max_output: int,
) -> ScriptRun:
    """Runs a script in the sandbox.

    Raises:
        LeadsOut: Its path leads out of the directory.
        CannotRun: It could not be started.
    """
    code, message, exit_code, signal, stdout, stderr = _native.compat_run_script(
        directory,
        script,
        name,
        helper=skillcue.program(),
        path=os.environ.get("PATH", os.defpath),
        variables=list(variables.items()),
        environment=list(os.environ.items()),
        stdin=stdin,
        timeout=timeout,
        max_output=max_output,
    )
    if code == "security":
        raise LeadsOut(message)
    if code is not None and code not in _LIMITS:
        raise CannotRun(code, message)
    return ScriptRun(
        exit_code=exit_code,
        signal=signal,
        stdout=stdout,
        stderr=stderr,
        timed_out=code == "timeout",
        stopped="" if code is None else message,
    )


def split_tools(text: str) -> list[str]:
    """Returns the tools of an `allowed-tools` that is one text: separated by blanks or commas; parentheses bind."""
    return _native.compat_split_tools(text)
