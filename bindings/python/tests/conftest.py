"""A small tree of skills, made anew for every test."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from trees import COUNT, GREETER, HIDDEN, PDF, write_skill

from skillcue import Skillcue


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
