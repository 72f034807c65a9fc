"""Results: frozen dataclasses. Two of equal content are equal; ``to_dict()`` returns what JSON can hold."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

__all__ = [
    "CacheStats",
    "Changes",
    "Cost",
    "Diagnostic",
    "DisclosedSkill",
    "Disclosure",
    "Explanation",
    "File",
    "FileListing",
    "Heading",
    "Hit",
    "InvalidSkill",
    "Loaded",
    "ParsedSkill",
    "Reason",
    "RehydratedSkill",
    "Rehydration",
    "Report",
    "RunResult",
    "Script",
    "Selection",
    "Skill",
    "SkillDetails",
    "SkillList",
    "Tool",
    "ToolResult",
    "TriggerReport",
    "Triggers",
    "WatchEvent",
]

Policy = Literal["inject", "catalog", "hint"]
Fallback = Literal["none", "show_all", "ask_user"]
Mode = Literal["keyword", "hybrid", "semantic"]
Counter = Literal["bytes4", "segment", "o200k"]
Severity = Literal["error", "warning", "info"]

_T = TypeVar("_T")


def _plain(value: Any) -> Any:
    if isinstance(value, _Result):
        return value.to_dict()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple)):
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


@dataclass(frozen=True, slots=True)
class Skill(_Result):
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
    def _of(cls, row: dict[str, Any]) -> Skill:
        return cls(
            row["name"],
            row["description"],
            row["brief_description"],
            row["version"],
            row["source"],
            row["plugin"],
            row["server"],
            row["id"],
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
            Triggers._of(row["triggers"]),
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

    def __iter__(self) -> Any:
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


@dataclass(frozen=True, slots=True)
class Reason(_Result):
    """A reason for the score of a skill."""

    kind: str
    trigger: str
    text: str
    span: tuple[int, int] | None
    """Where it is in the message, in characters."""
    score: float

    @classmethod
    def _of(cls, row: dict[str, Any], message: str) -> Reason:
        span = row.get("span")
        return cls(
            row["kind"],
            row["trigger"],
            row["text"],
            None if span is None else _characters(message, span["start"], span["end"]),
            row["score"],
        )


def _characters(message: str, start: int, end: int) -> tuple[int, int]:
    """Returns a range of UTF-8 bytes as a range of characters."""
    if message.isascii():
        return (start, end)
    encoded = message.encode("utf-8", "surrogatepass")
    return (
        len(encoded[:start].decode("utf-8", "ignore")),
        len(encoded[:end].decode("utf-8", "ignore")),
    )


@dataclass(frozen=True, slots=True)
class Hit(_Result):
    """A skill that fits a message."""

    name: str
    score: float
    confidence: float
    certainty: float
    likelihood: float
    mention: str | None
    reasons: tuple[Reason, ...]

    @classmethod
    def _of(cls, row: dict[str, Any], message: str) -> Hit:
        return cls(
            row["name"],
            row["score"],
            row["confidence"],
            row["certainty"],
            row["likelihood"],
            row["mention"],
            tuple(Reason._of(reason, message) for reason in row["reasons"]),
        )


@dataclass(frozen=True, slots=True)
class Selection(_Result):
    """The skills that fit a message, best first."""

    intent: str
    hits: tuple[Hit, ...]
    matched: int

    @classmethod
    def _of(cls, row: dict[str, Any], message: str) -> Selection:
        return cls(row["intent"], tuple(Hit._of(hit, message) for hit in row["hits"]), row["matched"])

    def __iter__(self) -> Any:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the skills, best first."""
        return tuple(hit.name for hit in self.hits)


@dataclass(frozen=True, slots=True)
class TriggerReport(_Result):
    """Whether one trigger matched, and what it matched."""

    kind: str
    trigger: str
    matched: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Explanation(_Result):
    """Why a skill fits a message, or what it would have taken."""

    name: str
    eligibility: str
    hit: Hit | None
    before: int | None
    excluded: tuple[str, ...]
    triggers: tuple[TriggerReport, ...]

    @classmethod
    def _of(cls, row: dict[str, Any], message: str) -> Explanation:
        hit = row["hit"]
        return cls(
            row["name"],
            row["standing"],
            None if hit is None else Hit._of(hit, message),
            row["before"],
            tuple(row.get("excluded", ())),
            tuple(TriggerReport(it["kind"], it["trigger"], it.get("matched"), it.get("note")) for it in row["triggers"]),
        )


@dataclass(frozen=True, slots=True)
class Cost(_Result):
    """The cost of a disclosure in tokens; ``eager`` is what all documentation would have cost."""

    stable: int
    turn: int
    overhead: int
    eager: int


@dataclass(frozen=True, slots=True)
class DisclosedSkill(_Result):
    """A skill that matched, and what was decided about it."""

    name: str
    decision: str
    score: float
    confidence: float
    certainty: float
    likelihood: float
    reasons: tuple[Reason, ...]
    tokens: int
    why: str | None

    @classmethod
    def _of(cls, row: dict[str, Any], message: str) -> DisclosedSkill:
        return cls(
            row["name"],
            row["decision"],
            row["score"],
            row["confidence"],
            row["certainty"],
            row["likelihood"],
            tuple(Reason._of(reason, message) for reason in row["reasons"]),
            row["tokens"],
            row.get("why"),
        )


@dataclass(frozen=True, slots=True)
class Disclosure(_Result):
    """The text that a model is shown for a message, and a report of it."""

    tier: int
    policy: Policy
    stable: str
    """The part that does not change while the skills do not."""
    turn: str
    """The part for this message."""
    tokens: Cost
    skills: tuple[DisclosedSkill, ...]
    matched: int
    elapsed_us: int

    @classmethod
    def _of(cls, row: dict[str, Any], message: str) -> Disclosure:
        cost = row["tokens"]
        return cls(
            row["tier"],
            row["policy"],
            row["stable"],
            row["turn"],
            Cost(cost["stable"], cost["turn"], cost["overhead"], cost["eager"]),
            tuple(DisclosedSkill._of(skill, message) for skill in row["skills"]),
            row["matched"],
            row["elapsed_us"],
        )

    @property
    def text(self) -> str:
        """Both parts as one text."""
        return "\n\n".join(part for part in (self.stable, self.turn) if part)


@dataclass(frozen=True, slots=True)
class SkillList(_Result):
    """The static section that lists every skill, and what it leaves out."""

    text: str
    tokens: int
    shortened: tuple[str, ...]
    omitted: tuple[str, ...]

    @classmethod
    def _of(cls, row: dict[str, Any]) -> SkillList:
        return cls(row["text"], row["tokens"], tuple(row["shortened"]), tuple(row["omitted"]))


@dataclass(frozen=True, slots=True)
class RehydratedSkill(_Result):
    """A skill that is shown again."""

    name: str
    decision: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Rehydration(_Result):
    """The text to show again after the host has dropped its context."""

    text: str
    skills: tuple[RehydratedSkill, ...]
    omitted: tuple[tuple[str, str], ...]
    tokens: int

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Rehydration:
        skills = tuple(RehydratedSkill(it["name"], it["decision"], it["tokens"]) for it in row["skills"])
        omitted = tuple((name, why) for name, why in row["omitted"])
        return cls(row["text"], skills, omitted, row["tokens"])


@dataclass(frozen=True, slots=True)
class Tool(_Result):
    """A tool for models."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    read_only: bool

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Tool:
        return cls(row["name"], row["title"], row["description"], row["input_schema"], row["read_only"])


@dataclass(frozen=True, slots=True)
class ToolResult(_Result):
    """The output of a tool: the text for the model, and what it changed."""

    text: str
    structured: Any
    is_error: bool
    loaded: str | None

    @classmethod
    def _of(cls, row: dict[str, Any]) -> ToolResult:
        return cls(row["text"], row["structured"], row["is_error"], row["loaded"])

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Script(_Result):
    """A script of a skill."""

    path: str
    description: str | None
    interpreter: str

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Script:
        return cls(row["path"], row["description"], row["interpreter"])


@dataclass(frozen=True, slots=True)
class RunResult(_Result):
    """The result of a script that ran."""

    exit_code: int | None
    signal: int | None
    stdout_bytes: bytes
    stderr_bytes: bytes
    truncated: bool
    duration: float
    sandboxed: bool
    layers: tuple[str, ...]

    @classmethod
    def _of(cls, row: dict[str, Any]) -> RunResult:
        return cls(
            row["exit_code"],
            row["signal"],
            row["stdout_bytes"],
            row["stderr_bytes"],
            row["truncated"],
            row["duration"],
            row["sandboxed"],
            tuple(row["layers"]),
        )

    @property
    def stdout(self) -> str:
        """Standard output as text; bytes that are not UTF-8 are replaced."""
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """Standard error as text; bytes that are not UTF-8 are replaced."""
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def success(self) -> bool:
        """Whether it exited with 0."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Changes(_Result):
    """What a refresh has found, by name."""

    added: tuple[str, ...]
    updated: tuple[str, ...]
    removed: tuple[str, ...]
    files: tuple[str, ...]
    unchanged: int
    findings: bool

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Changes:
        names = (tuple(row.get(name, ())) for name in ("added", "updated", "removed", "files"))
        return cls(*names, row["unchanged"], row.get("findings", False))

    def __bool__(self) -> bool:
        return bool(self.added or self.updated or self.removed or self.files or self.findings)


@dataclass(frozen=True, slots=True)
class WatchEvent(_Result):
    """Something that a watch reports: changes, trouble, or the end of trouble."""

    kind: Literal["changed", "trouble", "recovered"]
    changes: Changes | None
    message: str | None


@dataclass(frozen=True, slots=True)
class CacheStats(_Result):
    """Hits and misses of a cache."""

    size: int
    capacity: int
    hits: int
    misses: int

    @property
    def hit_rate(self) -> float:
        """The share of hits, from 0 to 1."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


@dataclass(frozen=True, slots=True)
class Report(_Result):
    """The findings of ``validate`` or ``lint``."""

    valid: bool
    diagnostics: tuple[Diagnostic, ...]
    fixed: tuple[dict[str, Any], ...] = ()

    def __bool__(self) -> bool:
        return self.valid
