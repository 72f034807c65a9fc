"""A small tree of skills, made anew for every test."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillcue import Skillcue

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


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the home directory of the user."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.startswith(("XDG_", "SKILLCUE_", "SKILL_"))]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _own_level() -> Iterator[None]:
    """No test leaves another level of logging behind."""
    logger = logging.getLogger("skillcue")
    before = logger.level
    yield
    logger.setLevel(before)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with three skills."""
    root = tmp_path / "skills"
    write_skill(root, "greeter", GREETER)
    write_skill(root, "pdf", PDF, {"reference.md": "# Reference\n", "scripts/count.py": COUNT})
    write_skill(root, "hidden", HIDDEN)
    return root


@pytest.fixture
def skills(tree: Path) -> Iterator[Skillcue]:
    """The skills of the tree."""
    with Skillcue(tree) as opened:
        yield opened


@pytest.fixture
def skill_at(tree: Path) -> Callable[..., Path]:
    """A function that adds a skill to the tree."""
    return lambda name, text, files=None: write_skill(tree, name, text, files)
