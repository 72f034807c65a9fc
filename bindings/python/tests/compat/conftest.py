"""Fixtures for the tests of `skillcue.compat.skillkit`."""

from __future__ import annotations

from pathlib import Path

import pytest
from compat_types import MakeSkill

from skillcue.compat.skillkit import SkillManager


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    """A directory for skills."""
    directory = tmp_path / "skills"
    directory.mkdir()
    return directory


@pytest.fixture
def make_skill(skills: Path) -> MakeSkill:
    """Writes a skill; returns its directory."""

    def make(name: str, body: str = "# Body\n", front: str | None = None, below: Path | None = None) -> Path:
        directory = (below or skills) / name
        directory.mkdir(parents=True)
        text = f"name: {name}\ndescription: About {name}." if front is None else front
        (directory / "SKILL.md").write_text(f"---\n{text}\n---\n{body}", encoding="utf-8")
        return directory

    return make


@pytest.fixture
def manager(skills: Path) -> SkillManager:
    """A manager of that directory and no other; nothing is discovered yet."""
    return SkillManager(project_skill_dir=skills, anthropic_config_dir="")
