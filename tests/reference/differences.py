"""Where skillcue knowingly differs from the reference, and why. docs/reference/validate.md explains each to users."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from cases import Case

MAX_FILE = 1 << 20


@dataclass(frozen=True)
class Difference:
    id: str
    #: Whether the reference finds such a skill valid; skillcue then finds the opposite. None: it depends.
    reference_valid: bool | None
    #: The only codes that skillcue may give for it.
    codes: set[str]
    applies: Callable[[Case], bool]
    reason: str

    def explains(self, it: Case, reference_valid: bool, codes: set[str]) -> bool:
        return self.reference_valid in (None, reference_valid) and codes <= self.codes and self.applies(it)


def in_yaml(pattern: str) -> Callable[[Case], bool]:
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda it: compiled.search(it.front_matter.replace("\r\n", "\n").replace("\r", "\n")) is not None


def fences_share_their_lines(it: Case) -> bool:
    """Whether one of the first two `---` is not all of its line. A CR alone ends lines where it ends the first one."""
    text = it.text
    ends = r"\r\n|\n|\r" if re.match(r"---[ \t]*\r(?!\n)", text) else r"\r?\n"
    fence = re.compile(rf"---[ \t]*({ends}|\Z)")
    second = text.find("---", 3)
    starts_line = second > 0 and re.search(rf"({ends})\Z", text[:second]) is not None
    return not fence.match(text) or not starts_line or not fence.match(text, second)


DIFFERENCES = [
    Difference("bom", False, set(), lambda it: it.content.startswith(b"\xef\xbb\xbf"), "a byte order mark is no part of the text"),
    Difference("bom-inside", True, {"yaml_repaired"}, in_yaml("[:-] +\ufeff"), "YAML does not allow a byte order mark there"),
    Difference("file-name", False, set(), lambda it: it.file == "Skill.md", "it is read, with a warning"),
    Difference("too-large", True, {"too_large"}, lambda it: len(it.content) > MAX_FILE, "files over 1 MiB are refused"),
    Difference("yaml-limit", True, {"yaml_limit"}, lambda it: len(it.content) > 1000, "nesting and size are bounded"),
    Difference("null", True, {"missing_field"}, in_yaml(r"^(name|description): +(null|Null|NULL|~)\s*$"), "null is no text"),
    Difference("hidden", True, {"missing_field"}, in_yaml("^description: *([\"'])(\\\\0|\\\\u200b|\\ufeff|\\u200b)+\\1\\s*$"), "text that cannot be seen is none"),
    Difference("null-keys", True, {"duplicate_key"}, in_yaml(r"^ +(null|~):"), "both keys are null"),
    Difference("types", True, {"type_not_allowed"}, in_yaml(r"^ +types:"), "a SKILL.md is of type prompt"),
    Difference(
        "fence-line",
        True,
        {"no_front_matter", "unclosed_front_matter", "yaml_syntax", "yaml_repaired", "not_strict_yaml", "unknown_field", "name_mismatch", "duplicate_key"},
        fences_share_their_lines,
        "a fence is a line of its own",
    ),
    Difference("merge-key", True, {"unknown_field"}, in_yaml("^<<:"), "`<<` is no key of the standard"),
    Difference("comment-without-blank", True, {"yaml_repaired", "yaml_syntax"}, in_yaml("[\"']#"), "a comment starts after a blank"),
    Difference("surrogate-escape", True, {"yaml_repaired"}, in_yaml(r"\\u[dD][89a-fA-F]"), "half a character is no text"),
    Difference(
        "quoted-lines",
        True,
        {"yaml_repaired", "yaml_syntax", "duplicate_key", "unknown_field"},
        in_yaml(r""": *(['"])[^\n]*\n(?!\1)"""),
        "a line that starts like a key is taken for one, even between quotes, unless it is indented",
    ),
    Difference("comment-overlap", False, set(), in_yaml(r": *#[^\n]*\n( *\n)* +[^\n]+\n *\n"), "a comment is a comment"),
    Difference("block-at-margin", True, {"yaml_syntax"}, in_yaml(r"^[|>]"), "a block text stands deeper than its key"),
    Difference(
        "unicode-breaks",
        None,
        {"missing_field", "unknown_field", "yaml_syntax", "yaml_repaired", "not_strict_yaml"},
        in_yaml("[\x85\u2028\u2029]"),
        "they end no line in YAML 1.2",
    ),
]
