"""The interface of skillkit 0.4.0, with Skillcue behind it.

A program written for skillkit changes one line::

    from skillcue.compat.skillkit import SkillManager

Modules, classes, signatures, exceptions, log records and texts are skillkit's; discovery, parsing, reading and running
are Skillcue's. The differences are listed in docs/python/from-skillkit.md. Log records keep the names of skillkit's
loggers, ``skillkit.core.manager`` and so on: a program's logging configuration stays as it is.

Imports inside of this package are relative: skillkit's own tests run against it under the name ``skillkit``.
"""

import logging

from .core.exceptions import (
    ArgumentProcessingError,
    ArgumentSerializationError,
    ArgumentSizeError,
    ContentLoadError,
    InterpreterNotFoundError,
    InvalidFrontmatterError,
    InvalidYAMLError,
    MissingRequiredFieldError,
    PathSecurityError,
    ScriptNotFoundError,
    ScriptPermissionError,
    SizeLimitExceededError,
    SkillInvocationError,
    SkillNotFoundError,
    SkillParsingError,
    SkillSecurityError,
    SkillsUseError,
    SuspiciousInputError,
    ToolIDValidationError,
)
from .core.manager import SkillManager
from .core.models import Skill, SkillMetadata
from .core.path_resolver import FilePathResolver
from .core.scripts import ScriptExecutionResult, ScriptMetadata
from .core.version import __version__

logging.getLogger("skillkit").addHandler(logging.NullHandler())

__all__ = [
    "ArgumentProcessingError",
    "ArgumentSerializationError",
    "ArgumentSizeError",
    "ContentLoadError",
    "FilePathResolver",
    "InterpreterNotFoundError",
    "InvalidFrontmatterError",
    "InvalidYAMLError",
    "MissingRequiredFieldError",
    "PathSecurityError",
    "ScriptExecutionResult",
    "ScriptMetadata",
    "ScriptNotFoundError",
    "ScriptPermissionError",
    "SizeLimitExceededError",
    "Skill",
    "SkillInvocationError",
    "SkillManager",
    "SkillMetadata",
    "SkillNotFoundError",
    "SkillParsingError",
    "SkillSecurityError",
    "SkillsUseError",
    "SuspiciousInputError",
    "ToolIDValidationError",
    "__version__",
]
