"""Content of skills: the base directory in front, the arguments in it."""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from pathlib import Path
from string import Template
from typing import Any

from .exceptions import ArgumentProcessingError, SizeLimitExceededError

logger = logging.getLogger("skillkit.core.processors")

_MAX_ARGUMENT_BYTES = 1_000_000
_PLACEHOLDER = "$ARGUMENTS"


def normalize_arguments(arguments: str | None) -> str:
    """Returns the arguments as cache keys have them: trimmed, each run of white space as one space, None as ""."""
    return "" if arguments is None else " ".join(arguments.split())


def _header(base_directory: object) -> str:
    """Returns the lines in front of every skill's content. Programs search for their words."""
    return (
        f"Base directory for this skill: {base_directory}\n\n"
        "Supporting files can be referenced using relative paths from this base directory.\n"
        "Use FilePathResolver.resolve_path(base_dir, relative_path) to securely access files.\n\n"
    )


def _check_size(arguments: str) -> None:
    # A character has at most four bytes: short arguments need no encoding.
    too_large = len(arguments) * 4 > _MAX_ARGUMENT_BYTES and (
        len(arguments.encode("utf-8", "surrogatepass")) > _MAX_ARGUMENT_BYTES
    )
    if too_large:
        raise SizeLimitExceededError(f"Arguments exceed maximum size of {_MAX_ARGUMENT_BYTES} bytes")


def process_skill_content(content: str, base_dir: Path, arguments: str | None) -> str:
    """Returns the content with the base directory and the arguments.

    Every `$ARGUMENTS` is replaced, by an empty string too; arguments without a placeholder are appended as
    `ARGUMENTS: …`. With None the content stays as it is.

    Raises:
        SizeLimitExceededError: The arguments are larger than 1,000,000 bytes.
    """
    if arguments is None:
        return _header(base_dir) + content
    _check_size(arguments)
    if _PLACEHOLDER in content:
        content = content.replace(_PLACEHOLDER, arguments)
    elif arguments:
        content = f"{content}\n\nARGUMENTS: {arguments}"
    return _header(base_dir) + content


class ContentProcessor(ABC):
    """One step on the way from a skill's text to what is invoked."""

    @abstractmethod
    def process(self, content: str, context: dict[str, Any]) -> str:
        """Returns the processed content. `context` has `arguments`, `base_directory` and `skill_name`."""


class BaseDirectoryProcessor(ContentProcessor):
    """Puts the base directory in front."""

    def process(self, content: str, context: dict[str, Any]) -> str:
        """Returns the content behind the lines about its base directory."""
        return _header(context.get("base_directory", "")) + content


class ArgumentSubstitutionProcessor(ContentProcessor):
    """Puts arguments in by the rules of `string.Template`: `$$` is a dollar sign, `${ARGUMENTS}` a placeholder too."""

    PLACEHOLDER_NAME = "ARGUMENTS"
    MAX_ARGUMENT_LENGTH = _MAX_ARGUMENT_BYTES

    # Logged, never refused. Pairs of a pattern and its description.
    SUSPICIOUS_PATTERNS = [
        (r"\.\./", "Path traversal (../)"),
        (r"\.\.\\", "Path traversal (..\\)"),
        (r";\s*(?:rm|del|format|mkfs)", "Command injection attempt"),
        (r"<script", "Potential XSS"),
        (r"javascript:", "JavaScript protocol"),
        (r"!!python", "YAML code execution tag"),
        (r"\$\{.*\}", "Shell variable expansion"),
        (r"`.*`", "Backtick command execution"),
        (r"\|.*(?:sh|bash|cmd)", "Pipe to shell"),
    ]

    TYPO_PATTERNS = [
        r"\$arguments\b",
        r"\$Arguments\b",
        r"\$ARGUMENT\b",
        r"\$ ARGUMENTS\b",
        r"\$\{ARGUMENTS\}",
    ]

    def process(self, content: str, context: dict[str, Any]) -> str:
        """Returns the content with the arguments in place of the placeholder, or appended if there is none.

        Raises:
            SizeLimitExceededError: The arguments are larger than 1,000,000 bytes.
            ArgumentProcessingError: They cannot be put in.
        """
        arguments = context.get("arguments", "")
        _check_size(arguments)
        self._check_suspicious_patterns(arguments, context.get("skill_name", "unknown"))
        self._check_for_typos(content)

        if not self._has_placeholder(content):
            if not arguments:
                return content
            logger.debug("No $ARGUMENTS placeholder found, appending arguments to end")
            return f"{content}\n\n{arguments}"
        try:
            return Template(content).safe_substitute({self.PLACEHOLDER_NAME: arguments})
        except Exception as error:
            raise ArgumentProcessingError(f"Failed to substitute $ARGUMENTS: {error}") from error

    def _has_placeholder(self, content: str) -> bool:
        return self.PLACEHOLDER_NAME in self._get_identifiers(content)

    def _get_identifiers(self, content: str) -> set[str]:
        # Template.get_identifiers is there since Python 3.11 only.
        found = Template.pattern.finditer(content)
        return {name for match in found if (name := match.group("named") or match.group("braced"))}

    def _check_suspicious_patterns(self, arguments: str, skill_name: str) -> None:
        for pattern, description in self.SUSPICIOUS_PATTERNS:
            if re.search(pattern, arguments, re.IGNORECASE):
                logger.warning(
                    f"Suspicious pattern detected in arguments for skill '{skill_name}': {description}"
                )

    def _check_for_typos(self, content: str) -> None:
        if not logger.isEnabledFor(logging.INFO):
            return
        for pattern in self.TYPO_PATTERNS:
            if re.search(pattern, content):
                logger.info(f"Possible typo detected: found '{pattern}' instead of '$ARGUMENTS'")


class CompositeProcessor(ContentProcessor):
    """Processors one after the other."""

    def __init__(self, processors: list[ContentProcessor]) -> None:
        self.processors = processors

    def process(self, content: str, context: dict[str, Any]) -> str:
        """Returns the content after every processor."""
        for processor in self.processors:
            content = processor.process(content, context)
        return content
