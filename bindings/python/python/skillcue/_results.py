"""Results about messages, tools and programs: frozen dataclasses. ``to_dict()`` returns what JSON can hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ._lazy import LazyTuple
from ._native import NativeDisclosure
from ._types import Diagnostic, Policy, _Result

__all__ = [
    "CacheStats",
    "Changes",
    "Cost",
    "DisclosedSkill",
    "Disclosure",
    "Explanation",
    "Hit",
    "Reason",
    "RehydratedSkill",
    "Rehydration",
    "Report",
    "RunResult",
    "Script",
    "Selection",
    "SkillList",
    "Tool",
    "ToolResult",
    "TriggerReport",
    "WatchEvent",
]


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

    def __iter__(self) -> Iterator[Hit]:
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
    matched: int
    elapsed_us: int
    tokens: Cost
    skills: LazyTuple[DisclosedSkill]
    """Every skill that matched or was asked for, best first. Its objects are made when they are looked at."""

    @classmethod
    def _of(cls, native: NativeDisclosure, message: str) -> Disclosure:
        tier, policy, stable, turn, matched, elapsed, costs = native.summary()
        skills = LazyTuple(lambda: tuple(DisclosedSkill._of(row, message) for row in native.skills()))
        return cls(tier, policy, stable, turn, matched, elapsed, Cost(*costs), skills)

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
        return cls(
            tuple(row["added"]),
            tuple(row["updated"]),
            tuple(row["removed"]),
            tuple(row.get("files", ())),
            row["unchanged"],
            row["findings"],
        )

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
