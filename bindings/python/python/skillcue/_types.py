"""Skills, their files and findings: frozen dataclasses. ``to_dict()`` returns what JSON can hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ._lazy import LazyTuple

if TYPE_CHECKING:
    from ._native import NativeCatalog

__all__ = [
    "Diagnostic",
    "File",
    "FileListing",
    "Heading",
    "InvalidSkill",
    "Loaded",
    "ParsedSkill",
    "Skill",
    "SkillDetails",
    "Triggers",
]

Policy = Literal["inject", "catalog", "hint"]
Fallback = Literal["none", "show_all", "ask_user"]
Mode = Literal["keyword", "hybrid", "semantic"]
Counter = Literal["bytes4", "segment", "o200k"]
Severity = Literal["error", "warning", "info"]

def _plain(value: Any) -> Any:
    if isinstance(value, _Result):
        return value.to_dict()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple, LazyTuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value


class _Result:
    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as a dictionary of what JSON can hold."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Diagnostic(_Result):
    """A finding about a file or a setting."""

    path: Path | None
    line: int | None
    column: int | None
    code: str
    severity: Severity
    message: str
    help: str | None = None

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Diagnostic:
        path = row["path"]
        return cls(
            None if path is None else Path(path),
            row["line"],
            row["column"],
            row["code"],
            row["severity"],
            row["message"],
            row.get("help"),
        )

    def __str__(self) -> str:
        place = "" if self.path is None else f"{self.path}"
        if self.line is not None:
            place += f":{self.line}" + ("" if self.column is None else f":{self.column}")
        return f"{place}{': ' if place else ''}{self.severity} {self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Triggers(_Result):
    """Words, patterns and files that call for a skill."""

    keywords: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Triggers:
        return cls(*(tuple(row.get(name, ())) for name in ("keywords", "verbs", "patterns", "files", "languages")))

    def __bool__(self) -> bool:
        return bool(self.keywords or self.verbs or self.patterns or self.files or self.languages)


_NO_TRIGGERS = Triggers()
_BRIEF = ("name", "description", "disable_model_invocation", "enabled", "available", "shadowed")
# The words for sources, of which there are few.
_SHARED: dict[str, str] = {}


class _Listed(_Result):
    """An object of a catalog, most of whose fields are empty until one of them is looked at: there may be very many."""

    __slots__ = ("_catalog", "_position")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Called for what is not there, and so for a field that is still empty.
            if name.startswith("_") or name not in self.__slots__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            catalog = self._catalog
            if catalog is not None:
                whole = type(self)._of(catalog.row(self._position))
                for field in fields(self):
                    object.__setattr__(self, field.name, getattr(whole, field.name))
                # Last: another thread that finds it gone finds the fields.
                object.__setattr__(self, "_catalog", None)
            return object.__getattribute__(self, name)


@dataclass(frozen=True, slots=True)
class Skill(_Listed):
    """Level 1 of a skill: its metadata. No body was read for it."""

    name: str
    description: str
    brief_description: str
    version: str | None
    source: str
    plugin: str | None
    server: str | None
    id: str
    dir: Path
    path: Path
    enabled: bool
    available: bool
    shadowed: bool
    foreign: bool
    types: tuple[str, ...]
    allowed_tools: tuple[str, ...]
    model: str | None
    argument_hint: str | None
    compatibility: str | None
    license: str | None
    requires: tuple[str, ...]
    toolsets: tuple[str, ...]
    priority: int
    disable_model_invocation: bool
    user_invocable: bool
    triggers: Triggers
    tokens: int

    @classmethod
    def _listed(cls, catalog: NativeCatalog, position: int) -> Skill:
        """Returns a skill with the fields that programs look at for every skill."""
        brief = catalog.brief(position)
        assert brief is not None, "a catalog does not change"
        skill, put = object.__new__(cls), object.__setattr__
        put(skill, "_catalog", catalog)
        put(skill, "_position", position)
        for name, value in zip(_BRIEF, brief, strict=True):
            put(skill, name, value)
        return skill

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Skill:
        name, description, brief, source = row["name"], row["description"], row["brief_description"], row["source"]
        return cls(
            name,
            description,
            # Most texts are equal to another one, and there may be very many skills.
            description if brief == description else brief,
            row["version"],
            _SHARED.setdefault(source, source),
            row["plugin"],
            row["server"],
            name if row["id"] == name else row["id"],
            Path(row["dir"]),
            Path(row["path"]),
            row["enabled"],
            row["available"],
            row["shadowed"],
            row["foreign"],
            tuple(row["types"]),
            tuple(row["allowed_tools"]),
            row["model"],
            row["argument_hint"],
            row["compatibility"],
            row["license"],
            tuple(row["requires"]),
            tuple(row["toolsets"]),
            row["priority"],
            row["disable_model_invocation"],
            row["user_invocable"],
            Triggers._of(row["triggers"]) if any(row["triggers"].values()) else _NO_TRIGGERS,
            row["tokens"],
        )


@dataclass(frozen=True, slots=True)
class File(_Result):
    """A file beside a ``SKILL.md``."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class FileListing(_Result):
    """Level 3 of a skill: its files, within limits."""

    files: tuple[File, ...]
    total_bytes: int
    skipped: tuple[dict[str, Any], ...] = ()
    stopped: Any = None

    @classmethod
    def _of(cls, row: dict[str, Any]) -> FileListing:
        files = tuple(File(file["path"], file["size"]) for file in row["files"])
        return cls(files, row["total_bytes"], tuple(row["skipped"]), row["stopped"])

    def __iter__(self) -> Iterator[File]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


@dataclass(frozen=True, slots=True)
class SkillDetails(_Result):
    """A skill, its front matter as it was written, its files, and findings about it."""

    skill: Skill
    raw: dict[str, Any] | None
    files: FileListing
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class InvalidSkill(_Result):
    """A directory whose skill file is broken."""

    name: str | None
    dir: Path
    path: Path
    diagnostics: tuple[Diagnostic, ...]

    @classmethod
    def _of(cls, row: dict[str, Any]) -> InvalidSkill:
        findings = tuple(Diagnostic._of(found) for found in row["diagnostics"])
        return cls(row["name"], Path(row["dir"]), Path(row["path"]), findings)


@dataclass(frozen=True, slots=True)
class ParsedSkill(_Result):
    """A skill file that was parsed by itself. Fields of the front matter are ``None`` if it cannot be used."""

    name: str | None
    description: str | None
    brief_description: str | None
    version: str | None
    types: tuple[str, ...]
    allowed_tools: tuple[str, ...]
    model: str | None
    argument_hint: str | None
    compatibility: str | None
    license: str | None
    requires: tuple[str, ...]
    toolsets: tuple[str, ...]
    priority: int
    disable_model_invocation: bool
    user_invocable: bool
    triggers: Triggers
    raw: dict[str, Any] | None
    body: str
    body_start: int
    diagnostics: tuple[Diagnostic, ...]
    valid: bool

    @classmethod
    def _of(cls, row: dict[str, Any]) -> ParsedSkill:
        manifest = row["manifest"] or {}
        findings = tuple(Diagnostic._of(found) for found in row["diagnostics"])
        raw = row["raw"]
        return cls(
            manifest.get("name"),
            manifest.get("description"),
            manifest.get("brief_description"),
            manifest.get("version"),
            tuple(manifest.get("types", ())),
            tuple(manifest.get("allowed_tools", ())),
            manifest.get("model"),
            manifest.get("argument_hint"),
            manifest.get("compatibility"),
            manifest.get("license"),
            tuple(manifest.get("requires", ())),
            tuple(manifest.get("toolsets", ())),
            manifest.get("priority", 0),
            manifest.get("disable_model_invocation", False),
            manifest.get("user_invocable", True),
            Triggers._of(manifest.get("triggers", {})),
            raw if isinstance(raw, dict) else None,
            row["body"],
            row["body_start"],
            findings,
            row["manifest"] is not None and not any(found.severity == "error" for found in findings),
        )


@dataclass(frozen=True, slots=True)
class Loaded(_Result):
    """Level 2 of a skill: its body with its arguments."""

    name: str
    content: str
    base_dir: str
    tokens: int
    cached: bool


@dataclass(frozen=True, slots=True)
class Heading(_Result):
    """A heading of a body, and the cost of its section."""

    level: int
    title: str
    anchor: str
    line: int
    tokens: int

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Heading:
        return cls(row["level"], row["title"], row["anchor"], row["line"], row["tokens"])
