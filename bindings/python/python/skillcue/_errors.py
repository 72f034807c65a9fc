"""Exceptions. Each has a stable ``code``, a ``message`` and, where there is one, a ``hint``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._results import RunResult
from ._types import Diagnostic

__all__ = [
    "ConfigError",
    "DisabledError",
    "FileReadError",
    "InvalidSkillError",
    "NotFoundError",
    "PermissionRequiredError",
    "ScriptError",
    "ScriptTimeoutError",
    "SecurityError",
    "SkillcueError",
    "UnavailableError",
]


class SkillcueError(Exception):
    """The base of all exceptions of this package."""

    code: str
    message: str
    hint: str | None

    def __init__(self, message: str, *, code: str = "error", hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def _take(self, details: dict[str, Any]) -> None:
        """Takes what only some errors have."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross processes: `multiprocessing` pickles them.
        return (_restored, (type(self), self.args, dict(self.__dict__)))


class NotFoundError(SkillcueError, KeyError):
    """There is no skill, file or section of that name."""

    name: str | None = None
    close: tuple[str, ...] = ()

    __str__ = Exception.__str__  # `KeyError` would quote the message.

    def _take(self, details: dict[str, Any]) -> None:
        self.name = details.get("name")
        self.close = tuple(details.get("close", ()))


class InvalidSkillError(SkillcueError, ValueError):
    """The skill is there, but its file is broken."""

    name: str | None = None
    path: Path | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    def _take(self, details: dict[str, Any]) -> None:
        self.name = details.get("name")
        self.path = Path(details["path"]) if details.get("path") else None
        self.diagnostics = tuple(Diagnostic._of(row) for row in details.get("diagnostics", ()))


class DisabledError(SkillcueError):
    """The skill is switched off."""

    name: str | None = None

    def _take(self, details: dict[str, Any]) -> None:
        self.name = details.get("name")


class UnavailableError(SkillcueError):
    """A program that the skill requires is missing."""

    name: str | None = None
    requires: tuple[str, ...] = ()

    def _take(self, details: dict[str, Any]) -> None:
        self.name = details.get("name")
        self.requires = tuple(details.get("requires", ()))


class SecurityError(SkillcueError, PermissionError):
    """A path leads out of the skill's directory, or to something that is no ordinary file."""


class FileReadError(SkillcueError, OSError):
    """A file cannot be read, is too large, or is not text."""


class ConfigError(SkillcueError, ValueError):
    """A setting or an argument makes no sense."""


class ScriptError(SkillcueError):
    """A script did not run, or not to its end."""

    result: RunResult | None = None
    """What it had written until then, if it ran."""

    def _take(self, details: dict[str, Any]) -> None:
        if details.get("result") is not None:
            self.result = RunResult._of(details["result"])


class ScriptTimeoutError(ScriptError, TimeoutError):
    """A script took too long, and was ended."""


class PermissionRequiredError(ScriptError, PermissionError):
    """A script asks for more than the sandbox gives, and no person has allowed it yet."""

    question: dict[str, Any] | None = None

    def _take(self, details: dict[str, Any]) -> None:
        super()._take(details)
        self.question = details.get("question")


_CLASSES: dict[str, type[SkillcueError]] = {
    "not_found": NotFoundError,
    "no_such_tool": NotFoundError,
    "invalid": InvalidSkillError,
    "no_front_matter": InvalidSkillError,
    "disabled": DisabledError,
    "unavailable": UnavailableError,
    "security": SecurityError,
    "unreadable": FileReadError,
    "not_text": FileReadError,
    "not_a_file": FileReadError,
    "too_large": FileReadError,
    "config": ConfigError,
    "usage": ConfigError,
    "session": ConfigError,
    "invalid_argument": ConfigError,
    "timeout": ScriptTimeoutError,
    "permission_required": PermissionRequiredError,
    "not_grantable": PermissionRequiredError,
    **dict.fromkeys(
        (
            "args_too_large",
            "busy",
            "cancelled",
            "disk",
            "execution_failed",
            "interpreter_not_found",
            "memory",
            "output_truncated",
            "processes",
            "remote",
            "sandbox_unavailable",
        ),
        ScriptError,
    ),
}


def _raised(code: str, message: str, hint: str | None, details: dict[str, Any]) -> SkillcueError:
    """Returns the exception for an error of the library. The native module calls it."""
    error = _CLASSES.get(code, SkillcueError)(message, code=code, hint=hint)
    error._take(details)
    return error


def _restored(cls: type[SkillcueError], args: tuple[Any, ...], fields: dict[str, Any]) -> SkillcueError:
    error = cls(*args)
    error.__dict__.update(fields)
    return error
