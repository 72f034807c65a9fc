"""Content, its cache, and files, where Skillcue is behind skillkit's interface."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from compat_types import MakeSkill

from skillcue.compat.skillkit import ContentLoadError, FilePathResolver, PathSecurityError, SkillManager

HELPER = (
    "Supporting files can be referenced using relative paths from this base directory.\n"
    "Use FilePathResolver.resolve_path(base_dir, relative_path) to securely access files.\n\n"
)


def test_the_front_matter_goes_and_the_helper_lines_stay(manager: SkillManager, make_skill: MakeSkill) -> None:
    directory = make_skill("s", "Do $ARGUMENTS.\n")
    manager.discover()
    assert manager.load_skill("s").content == "Do $ARGUMENTS.\n"
    assert manager.invoke_skill("s", "it") == f"Base directory for this skill: {directory}\n\n{HELPER}Do it.\n"


def test_invoke_skill_has_our_rules_and_invoke_those_of_templates(
    manager: SkillManager, make_skill: MakeSkill
) -> None:
    make_skill("dollars", "$$ARGUMENTS ${ARGUMENTS} $ARGUMENTS")
    make_skill("plain", "Nothing.")
    manager.discover()
    assert manager.invoke_skill("dollars", "x").endswith("$x ${ARGUMENTS} x")
    assert manager.load_skill("dollars").invoke("x").endswith("$ARGUMENTS x x")
    assert manager.invoke_skill("plain", "x").endswith("Nothing.\n\nARGUMENTS: x")
    assert manager.load_skill("plain").invoke("x").endswith("Nothing.\n\nx")


def test_a_placeholder_in_the_directory_is_no_placeholder(tmp_path: Path, make_skill: MakeSkill) -> None:
    root = tmp_path / "$ARGUMENTS"
    directory = make_skill("s", "Body", below=root)
    manager = SkillManager(project_skill_dir=root, anthropic_config_dir="")
    manager.discover()
    text = manager.invoke_skill("s", "x")
    assert text.startswith(f"Base directory for this skill: {directory}\n")
    assert text.endswith("Body\n\nARGUMENTS: x")


def test_none_and_an_empty_text_mean_the_same_in_either_order(manager: SkillManager, make_skill: MakeSkill) -> None:
    make_skill("s", "Do $ARGUMENTS.")
    manager.discover()
    assert manager.invoke_skill("s", None).endswith("Do .")
    manager.clear_cache()
    assert manager.invoke_skill("s", "").endswith("Do .")
    assert manager.invoke_skill("s", None).endswith("Do .")


def test_an_older_file_replaces_a_kept_content(manager: SkillManager, make_skill: MakeSkill) -> None:
    file = make_skill("s", "new") / "SKILL.md"
    manager.discover()
    assert manager.invoke_skill("s").endswith("new")
    file.write_text(file.read_text().replace("new", "old"))
    os.utime(file, (1, 1))
    assert manager.invoke_skill("s").endswith("old")


def test_the_cache_works_inside_of_an_event_loop_too(manager: SkillManager, make_skill: MakeSkill) -> None:
    make_skill("s", "Body")
    manager.discover()

    async def twice() -> tuple[str, str]:
        return manager.invoke_skill("s", "x"), manager.invoke_skill("s", "x")

    first, second = asyncio.run(twice())
    assert first == second
    assert first.endswith("ARGUMENTS: x")
    assert manager.get_cache_stats().hits == 1


def test_concurrent_first_calls_read_once_in_one_loop_after_another(
    manager: SkillManager, make_skill: MakeSkill
) -> None:
    make_skill("s", "Body")

    async def many() -> None:
        await manager.adiscover()
        manager.clear_cache()
        texts = await asyncio.gather(*(manager.ainvoke_skill("s", "x") for _ in range(200)))
        assert len(set(texts)) == 1

    asyncio.run(many())
    asyncio.run(many())
    stats = manager.get_cache_stats()
    assert (stats.misses, stats.hits) == (2, 398)


def test_a_file_that_is_gone_is_a_content_load_error(manager: SkillManager, make_skill: MakeSkill) -> None:
    file = make_skill("s") / "SKILL.md"
    manager.discover()
    manager.invoke_skill("s")
    file.unlink()
    with pytest.raises(ContentLoadError, match="Skill file not found"):
        manager.invoke_skill("s")


def test_bytes_that_are_no_text_are_a_content_load_error(manager: SkillManager, make_skill: MakeSkill) -> None:
    file = make_skill("s") / "SKILL.md"
    file.write_bytes(file.read_bytes() + b"\xff")
    manager.discover()
    with pytest.raises(ContentLoadError, match="contains invalid UTF-8"):
        manager.invoke_skill("s")


def test_read_leads_nowhere_else(tmp_path: Path, make_skill: MakeSkill) -> None:
    directory = make_skill("s")
    (directory / "a.txt").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    (directory / "link").symlink_to(tmp_path / "secret")
    assert FilePathResolver.read(directory, "a.txt") == b"inside"
    for path in ("../../secret", str(tmp_path / "secret"), "link", "a.txt\0"):
        with pytest.raises(PathSecurityError) as raised:
            FilePathResolver.read(directory, path)
        assert raised.value.requested_path == path
    with pytest.raises(FileNotFoundError):
        FilePathResolver.read(directory, "nothing")
