"""Skills for tests, and how they are written."""

from __future__ import annotations

from pathlib import Path

GREETER = """---
name: greeter
description: Greets people in their own language. Use it for a welcome.
version: "1.2"
license: MIT
triggers:
  keywords: [bonjour, greet]
  verbs: [welcome]
  patterns: ["say .* in french"]
---
# Greeter

Greet $ARGUMENTS.

## French

Say bonjour.

## German

Say guten Tag.
"""

PDF = """---
name: pdf
description: Reads and fills PDF files.
allowed-tools: Read, Bash(pdftotext:*)
triggers: [pdf]
---
Use pdftotext. See [the reference](reference.md).
"""

COUNT = '''"""Counts the words of its arguments."""
import json
import os
import sys

print(json.dumps({"words": sys.argv[1:], "skill": os.environ["SKILL_NAME"]}))
'''

HIDDEN = """---
name: hidden
description: Does secret things with ledgers.
disable-model-invocation: true
---
Hidden body.
"""


def write_skill(root: Path, name: str, text: str, files: dict[str, str] | None = None) -> Path:
    """Writes a skill with its files."""
    directory = root / name
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text(text, encoding="utf-8")
    for path, content in (files or {}).items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(content, encoding="utf-8")
    return directory


def write_many(root: Path, count: int) -> None:
    """Writes numbered skills."""
    for number in range(count):
        text = f"---\nname: skill-{number:04}\ndescription: Does task number {number}.\ntriggers: [task{number}]\n---\n"
        write_skill(root, f"skill-{number:04}", text + f"Body {number}: $ARGUMENTS\n")
