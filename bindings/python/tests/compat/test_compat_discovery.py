"""Discovery and metadata where Skillcue is behind skillkit's interface."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path

import pytest
from compat_types import MakeSkill

from skillcue.compat.skillkit import InvalidYAMLError, SkillManager, SkillMetadata
from skillcue.compat.skillkit.core import SkillDiscovery, SkillParser
from skillcue.compat.skillkit.core.models import SourceType


def names(manager: SkillManager) -> list[str]:
    return [skill.name for skill in manager.list_skills()]


def test_skills_are_sorted_by_path_and_found_inside_of_skills(
    manager: SkillManager, skills: Path, make_skill: MakeSkill
) -> None:
    make_skill("b")
    make_skill("a")
    make_skill("inner", below=skills / "a" / "parts")
    manager.discover()
    assert names(manager) == ["a", "inner", "b"]


def test_a_name_stays_as_it_was_written(manager: SkillManager, make_skill: MakeSkill) -> None:
    make_skill("one", front="name: My.Tool v2\ndescription: A name that Skillcue refuses.")
    make_skill("two", front="name: Other_Tool\ndescription: A name that Skillcue canonicalises.")
    manager.discover()
    assert names(manager) == ["My.Tool v2", "Other_Tool"]


def test_equal_copies_are_a_conflict_and_the_first_path_wins(
    manager: SkillManager, make_skill: MakeSkill, caplog: pytest.LogCaptureFixture
) -> None:
    first = make_skill("first", front="name: same\ndescription: Equal.")
    make_skill("second", front="name: same\ndescription: Equal.")
    with caplog.at_level(logging.WARNING, logger="skillkit"):
        manager.discover()
    assert manager.get_skill("same").skill_path == first / "SKILL.md"
    assert [record.name for record in caplog.records] == ["skillkit.core.manager"]
    assert "Skill name conflict detected for 'same'" in caplog.text


def test_repaired_yaml_is_an_error_with_the_place_in_the_file(make_skill: MakeSkill) -> None:
    directory = make_skill("colon", front="name: colon\ndescription: Use when: asked")
    with pytest.raises(InvalidYAMLError) as raised:
        SkillParser().parse_skill_file(directory / "SKILL.md")
    assert raised.value.line == 3
    assert raised.value.column is not None
    assert f"at line 3, column {raised.value.column}" in str(raised.value)


def test_repaired_yaml_is_logged_and_the_skill_left_out(
    manager: SkillManager, make_skill: MakeSkill, caplog: pytest.LogCaptureFixture
) -> None:
    make_skill("colon", front="name: colon\ndescription: Use when: asked")
    manager.discover()
    assert names(manager) == []
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        f"Failed to parse skill at {manager.sources[0].directory}/colon/SKILL.md"
    ]


@pytest.mark.parametrize("version", ["1.0", "1.10", "2", "-1", "1e3"])
def test_a_version_that_is_a_number_is_none_with_a_warning(
    make_skill: MakeSkill, caplog: pytest.LogCaptureFixture, version: str
) -> None:
    directory = make_skill("v", front=f"name: v\ndescription: d\nversion: {version}")
    assert SkillParser().parse_skill_file(directory / "SKILL.md").version is None
    assert "Field 'version' should be a string" in caplog.text


def test_allowed_tools_in_one_text_are_split(make_skill: MakeSkill) -> None:
    directory = make_skill("t", front="name: t\ndescription: d\nallowed-tools: Read, Bash(git add:*) Grep")
    assert SkillParser().parse_skill_file(directory / "SKILL.md").allowed_tools == ("Read", "Bash(git add:*)", "Grep")


def test_metadata_has_five_fields_first_and_the_others_as_keywords(
    manager: SkillManager, make_skill: MakeSkill
) -> None:
    directory = make_skill(
        "m", front="name: m\ndescription: d\nversion: 1.0.0\nmodel: small\ndisable-model-invocation: true"
    )
    manager.discover()
    found = manager.get_skill("m")
    assert [field.name for field in dataclasses.fields(SkillMetadata)][:5] == [
        "name",
        "description",
        "skill_path",
        "allowed_tools",
        "version",
    ]
    assert (found.model, found.disable_model_invocation, found.source) == ("small", True, SourceType.PROJECT)
    assert (found.file_path, found.base_dir) == (directory / "SKILL.md", directory)
    # What skillkit's own constructor makes is equal, and looks the same.
    own = SkillMetadata("m", "d", directory / "SKILL.md", (), "1.0.0")
    assert own == found
    assert repr(own) == repr(found)


def test_a_sixth_search_path_is_no_error(tmp_path: Path) -> None:
    paths: list[Path | str] = []
    for number in range(7):
        paths.append(tmp_path / str(number))
        (tmp_path / str(number)).mkdir()
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", additional_search_paths=paths)
    assert [source.directory.name for source in manager.sources] == [str(number) for number in range(7)]


def test_a_depth_counts_from_the_directory(skills: Path, make_skill: MakeSkill) -> None:
    make_skill("a")
    make_skill("deep", below=skills / "x" / "y")
    discovery = SkillDiscovery()
    assert [path.parent.name for path in discovery.find_skill_files(skills)] == ["a", "deep"]
    assert [path.parent.name for path in discovery.find_skill_files(skills, max_depth=1)] == ["a"]


def test_a_bad_skill_stops_no_other(
    manager: SkillManager, skills: Path, make_skill: MakeSkill, caplog: pytest.LogCaptureFixture
) -> None:
    make_skill("good")
    make_skill("list", front="- a\n- b")
    (skills / "none").mkdir()
    (skills / "none" / "SKILL.md").write_text("# No front matter\n")
    (skills / "bytes").mkdir()
    (skills / "bytes" / "SKILL.md").write_bytes(b"---\nname: \xff\xfe\n---\n")
    manager.discover()
    assert names(manager) == ["good"]
    texts = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert any("Skill file contains invalid UTF-8" in text for text in texts)
    assert any("Frontmatter must be a YAML dictionary, got list" in text for text in texts)
    assert any("missing YAML frontmatter delimiters" in text for text in texts)
