"""Skills and where they come from."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _engine
from .cache import CacheStats, ContentCache
from .exceptions import ContentLoadError, ManifestValidationError
from .processors import ArgumentSubstitutionProcessor, BaseDirectoryProcessor, CompositeProcessor

if TYPE_CHECKING:
    from .scripts import ScriptMetadata

__all__ = [
    "PYTHON_310_PLUS",
    "CacheStats",
    "ContentCache",
    "InitMode",
    "PluginManifest",
    "QualifiedSkillName",
    "Skill",
    "SkillMetadata",
    "SkillSource",
    "SourceType",
]

PYTHON_310_PLUS = sys.version_info >= (3, 10)


class SourceType(str, Enum):
    """The kind of a source, in the order of precedence."""

    PROJECT = "project"
    ANTHROPIC = "anthropic"
    PLUGIN = "plugin"
    CUSTOM = "custom"


class InitMode(str, Enum):
    """How a manager discovered its skills: its other methods are then of the same kind."""

    UNINITIALIZED = "uninitialized"
    SYNC = "sync"
    ASYNC = "async"


@dataclass(frozen=True, slots=True)
class SkillMetadata:
    """The front matter of one skill.

    The first five fields are skillkit's, in its order, and alone count in comparisons and in `repr`. The others are
    keywords.
    """

    name: str
    description: str
    skill_path: Path
    allowed_tools: tuple[str, ...] = field(default_factory=tuple)
    version: str | None = None
    model: str | None = field(default=None, kw_only=True, compare=False, repr=False)
    disable_model_invocation: bool = field(default=False, kw_only=True, compare=False, repr=False)
    source: SourceType | None = field(default=None, kw_only=True, compare=False, repr=False)
    plugin_name: str | None = field(default=None, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.skill_path.exists():
            raise ValueError(f"Skill path does not exist: {self.skill_path}")

    @property
    def file_path(self) -> Path:
        """The skill's file."""
        return self.skill_path

    @property
    def base_dir(self) -> Path:
        """The skill's directory."""
        return self.skill_path.parent


def read_content(skill_path: Path) -> str:
    """Returns the body of a skill file, without its front matter.

    Raises:
        ContentLoadError: The file cannot be read.
    """
    try:
        return _engine.read_body(skill_path)
    except FileNotFoundError as error:
        raise ContentLoadError(
            f"Skill file not found: {skill_path}. File may have been deleted after discovery."
        ) from error
    except PermissionError as error:
        raise ContentLoadError(f"Permission denied reading skill: {skill_path}") from error
    except UnicodeDecodeError as error:
        raise ContentLoadError(f"Skill file contains invalid UTF-8: {skill_path}") from error
    except OSError as error:
        raise ContentLoadError(f"Failed to read skill: {skill_path}: {error}") from error


# No slots: `cached_property` needs a `__dict__`.
@dataclass(frozen=True)
class Skill:
    """A skill whose content is read when it is first needed."""

    metadata: SkillMetadata
    base_directory: Path
    _processor: CompositeProcessor = field(init=False, repr=False)
    _scripts: list[ScriptMetadata] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        chain = CompositeProcessor([BaseDirectoryProcessor(), ArgumentSubstitutionProcessor()])
        object.__setattr__(self, "_processor", chain)

    @cached_property
    def content(self) -> str:
        """The skill's text, without its front matter. Read once.

        Raises:
            ContentLoadError: The file cannot be read.
        """
        return read_content(self.metadata.skill_path)

    async def _load_content_async(self) -> str:
        return await asyncio.to_thread(read_content, self.metadata.skill_path)

    def invoke(self, arguments: str = "") -> str:
        """Returns the content with its base directory and the arguments, by the rules of `string.Template`.

        Raises:
            ContentLoadError: The file cannot be read.
            ArgumentProcessingError: The arguments cannot be put in.
            SizeLimitExceededError: The arguments are larger than 1,000,000 bytes.
        """
        return self._process(self.content, arguments)

    async def ainvoke(self, arguments: str = "") -> str:
        """Like `invoke`, without blocking the event loop while the file is read."""
        content = self.__dict__.get("content")
        if content is None:
            content = await self._load_content_async()
        return self._process(content, arguments)

    @property
    def scripts(self) -> list[ScriptMetadata]:
        """The skill's scripts. Looked for once."""
        if self._scripts is None:
            from .scripts import ScriptDetector

            object.__setattr__(self, "_scripts", ScriptDetector().detect_scripts(self.base_directory))
        found = self._scripts
        return found if found is not None else []

    def _process(self, content: str, arguments: str) -> str:
        context = {
            "arguments": arguments,
            "base_directory": str(self.base_directory),
            "skill_name": self.metadata.name,
        }
        return self._processor.process(content, context)


@dataclass(frozen=True, slots=True)
class PluginManifest:
    """A plugin's `plugin.json`, checked."""

    name: str
    version: str
    description: str
    author: dict[str, str]
    skills: list[str]
    manifest_path: Path
    manifest_version: str = "0.1"
    display_name: str | None = None
    homepage: str | None = None
    repository: dict[str, str] | None = None

    def __post_init__(self) -> None:
        def refuse(field_name: str, message: str, value: object) -> None:
            raise ManifestValidationError(message, field_name=field_name, invalid_value=str(value))

        if self.manifest_version not in ("0.1", "0.3"):
            refuse(
                "manifest_version",
                f"Unsupported manifest_version: {self.manifest_version}. Supported versions: 0.1, 0.3",
                self.manifest_version,
            )
        if not self.name or " " in self.name:
            refuse("name", "Plugin name cannot be empty or contain spaces", self.name)
        if not self.version or self.version.count(".") < 2:
            refuse("version", "Version must be semver format (e.g., 1.0.0)", self.version)
        if not self.description or len(self.description) > 1000:
            refuse("description", "Description required (max 1000 chars)", self.description or "")
        if not isinstance(self.author, dict) or "name" not in self.author:
            refuse("author", "Author must be a dict with 'name' field", self.author)
        for path in self.skills:
            if not path:
                refuse("skills", "Skill path cannot be empty", path)
            if ".." in path:
                refuse("skills", f"Security violation: Path contains '..': {path}", path)
            if path.startswith(("/", "\\")):
                refuse("skills", f"Security violation: Path must be relative: {path}", path)
            if path[1:2] == ":":
                refuse("skills", f"Security violation: Drive letters not allowed: {path}", path)


@dataclass(frozen=True, slots=True)
class SkillSource:
    """A directory with skills, and its precedence: the highest priority wins."""

    source_type: SourceType
    directory: Path
    priority: int
    plugin_name: str | None = None
    plugin_manifest: PluginManifest | None = None

    def __post_init__(self) -> None:
        if not self.directory.exists():
            raise ValueError(f"Source directory does not exist: {self.directory}")
        if not self.directory.is_dir():
            raise ValueError(f"Source path is not a directory: {self.directory}")
        if self.priority <= 0:
            raise ValueError(f"Priority must be positive, got: {self.priority}")
        if self.source_type == SourceType.PLUGIN and self.plugin_name is None:
            raise ValueError("plugin_name required when source_type == PLUGIN")


@dataclass(frozen=True, slots=True)
class QualifiedSkillName:
    """A skill's name, `skill` or `plugin:skill`."""

    plugin: str | None
    skill: str

    @staticmethod
    def parse(name: str) -> QualifiedSkillName:
        """Splits a name at its first colon.

        Raises:
            ValueError: The name, or one of its parts, is empty.
        """
        if not name:
            raise ValueError("Skill name cannot be empty")
        plugin, colon, skill = name.partition(":")
        if not colon:
            return QualifiedSkillName(plugin=None, skill=name)
        if not plugin or not skill:
            raise ValueError(f"Invalid qualified name (empty plugin or skill): {name}")
        return QualifiedSkillName(plugin=plugin, skill=skill)
