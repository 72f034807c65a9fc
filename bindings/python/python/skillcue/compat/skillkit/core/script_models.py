"""What is known about a script, and the result of running one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .exceptions import ToolIDValidationError

_TOOL_ID = re.compile(r"[a-z0-9-]+__[a-z0-9_]+")
_MAX_TOOL_ID = 60


def validate_tool_id(tool_id: str, skill_name: str, script_name: str) -> None:
    """Checks the name of a script's tool, such as `pdf-extractor__extract`.

    Raises:
        ToolIDValidationError: It has more than 60 characters, or other ones than tools may have.
    """

    def refuse(message: str, reason: str) -> None:
        raise ToolIDValidationError(
            message, tool_id=tool_id, skill_name=skill_name, script_name=script_name, reason=reason
        )

    if len(tool_id) > _MAX_TOOL_ID:
        refuse(f"Tool ID exceeds 60 character limit: '{tool_id}' ({len(tool_id)} chars)", "length_exceeded")
    if not _TOOL_ID.fullmatch(tool_id):
        refuse(
            f"Tool ID has invalid format: '{tool_id}'. "
            f"Must match pattern: ^[a-z0-9-]+__[a-z0-9_]+$ "
            f"(lowercase skill name with hyphens/digits + '__' + "
            f"lowercase script name with underscores/digits)",
            "invalid_format",
        )


@dataclass(frozen=True, slots=True)
class ScriptMetadata:
    """A script of a skill: its name without the extension, its path below the skill, language and first comment."""

    name: str
    path: Path
    script_type: str
    description: str

    def get_fully_qualified_name(self, skill_name: str) -> str:
        """Returns the name of the script's tool, `{skill}__{script}` in lower case.

        Raises:
            ToolIDValidationError: No tool may be called that.
        """
        tool_id = f"{skill_name.lower().replace('_', '-')}__{self.name.lower()}"
        validate_tool_id(tool_id, skill_name, self.name)
        return tool_id


@dataclass(frozen=True, slots=True)
class ScriptExecutionResult:
    """The result of a script that ran.

    `exit_code` is 124 after a timeout, and the negative number of the signal that ended it. Output that was not
    UTF-8 has replacement characters.
    """

    stdout: str
    stderr: str
    exit_code: int
    execution_time_ms: float
    script_path: Path
    signal: str | None = None
    signal_number: int | None = None
    stdout_truncated: bool = False
    stderr_truncated: bool = False

    @property
    def success(self) -> bool:
        """Whether it exited with 0."""
        return self.exit_code == 0

    @property
    def timeout(self) -> bool:
        """Whether it took too long."""
        return self.exit_code == 124 and "Timeout" in self.stderr

    @property
    def signaled(self) -> bool:
        """Whether a signal ended it."""
        return self.signal is not None
