"""The three levels: metadata, body, files; and errors."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import skillcue
from skillcue import Skillcue


def test_metadata_is_listed_without_reading_bodies(skills: Skillcue, tree: Path) -> None:
    assert [skill.name for skill in skills.list()] == ["greeter", "hidden", "pdf"]
    greeter = skills.get("greeter")
    assert greeter.version == "1.2"
    assert greeter.license == "MIT"
    assert greeter.dir == tree / "greeter"
    assert greeter.path == tree / "greeter" / "SKILL.md"
    assert greeter.triggers.keywords == ("bonjour", "greet")
    assert greeter.triggers.patterns == ("say .* in french",)
    assert skills["pdf"].allowed_tools == ("Read", "Bash(pdftotext:*)")
    assert "pdf" in skills
    assert "absent" not in skills
    assert len(skills) == 3
    assert skills.find("absent") is None
    assert skills.cache_stats().misses == 0


def test_objects_are_made_once(skills: Skillcue) -> None:
    first, second = skills.list(), skills.list()
    assert first is not second, "a caller may change its list"
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert skills.get("pdf") is skills.get("pdf")


def test_results_are_frozen_and_plain(skills: Skillcue) -> None:
    skill = skills.get("pdf")
    with pytest.raises(dataclasses.FrozenInstanceError):
        skill.name = "other"  # type: ignore[misc]
    assert json.loads(json.dumps(skill.to_dict()))["triggers"]["keywords"] == ["pdf"]
    assert pickle.loads(pickle.dumps(skill)) == skill
    assert hash(skill) == hash(pickle.loads(pickle.dumps(skill)))


def test_a_body_is_loaded_with_its_arguments(skills: Skillcue, tree: Path) -> None:
    loaded = skills.load("greeter", "Alice")
    assert "Greet Alice." in loaded.content
    assert loaded.base_dir == str(tree / "greeter")
    assert not loaded.cached
    assert skills.load("greeter", "Alice").cached
    assert skills.load("greeter", "Alice", form="body").content.startswith("# Greeter")
    section = skills.load("greeter", section="French").content
    assert "bonjour" in section
    assert "guten Tag" not in section
    assert [heading.title for heading in skills.outline("greeter")] == ["Greeter", "French", "German"]
    assert skills.cache_stats().hits >= 1
    assert skills.clear_cache() >= 1


def test_named_arguments_are_a_dialect(skills: Skillcue, skill_at: Callable[..., Path]) -> None:
    skill_at("move", "---\nname: move\ndescription: Moves files.\n---\nFrom $SOURCE to $1.\n")
    skills.refresh()
    assert "From $SOURCE to $1." in skills.load("move", "a b").content
    assert "From a to b." in skills.load("move", "a b", argument_names=["SOURCE", "TARGET"]).content


def test_files_are_listed_and_read(skills: Skillcue) -> None:
    listing = skills.files("pdf")
    assert [file.path for file in listing] == ["SKILL.md", "reference.md", "scripts/count.py"]
    assert listing.total_bytes == sum(file.size for file in listing)
    assert skills.read("pdf", "reference.md") == "# Reference\n"
    assert skills.read_bytes("pdf", Path("reference.md")) == b"# Reference\n"


@pytest.mark.parametrize("path", ["../greeter/SKILL.md", "/etc/passwd", "scripts/../../greeter/SKILL.md", "a\0b"])
def test_no_path_leads_out(skills: Skillcue, path: str) -> None:
    with pytest.raises(skillcue.SecurityError) as raised:
        skills.read("pdf", path)
    assert raised.value.code == "security"
    assert raised.value.hint


def test_a_link_out_is_refused(skills: Skillcue, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tree / "pdf" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(skillcue.SecurityError):
        skills.read("pdf", "link")
    with pytest.raises(skillcue.SecurityError):
        skillcue.read_in(tree / "pdf", "link")
    assert skillcue.read_in(tree / "pdf", "reference.md") == b"# Reference\n"


def test_errors_have_a_code_and_a_hint(skills: Skillcue, skill_at: Callable[..., Path]) -> None:
    with pytest.raises(skillcue.NotFoundError) as raised:
        skills.load("greter")
    assert raised.value.code == "not_found"
    assert raised.value.close == ("greeter",)
    assert raised.value.hint == "did you mean greeter?"
    assert str(raised.value) == raised.value.message == 'no skill is called "greter"'
    with pytest.raises(KeyError):
        skills["greter"]
    with pytest.raises(skillcue.NotFoundError):
        skills.read("pdf", "absent.md")
    skill_at("broken", "---\nname: broken\n---\nNo description.\n")
    skills.refresh()
    with pytest.raises(skillcue.InvalidSkillError) as invalid:
        skills.load("broken")
    assert invalid.value.path is not None
    assert invalid.value.path.name == "SKILL.md"
    assert invalid.value.diagnostics[0].severity == "error"
    assert [it.name for it in skills.invalid()] == ["broken"]
    restored = pickle.loads(pickle.dumps(raised.value))
    assert (type(restored), restored.code, restored.close) == (type(raised.value), "not_found", ("greeter",))


def test_wrong_options_are_refused(tree: Path) -> None:
    for options in ({"policy": "shout"}, {"mode": "guess"}, {"eagerness": 2.0}, {"counter": "abacus"}):
        with pytest.raises(skillcue.ConfigError) as raised:
            Skillcue(tree, **options)  # type: ignore[arg-type]
        assert raised.value.hint
    with pytest.raises(skillcue.ConfigError):
        Skillcue(tree / "absent")
    with pytest.raises(TypeError):
        Skillcue(tree, colour="red")  # type: ignore[call-arg]


def test_a_skill_is_shown_whole(skills: Skillcue) -> None:
    shown = skills.show("greeter")
    assert shown.skill is skills.get("greeter")
    assert shown.raw is not None
    assert shown.raw["triggers"]["verbs"] == ["welcome"]
    assert [file.path for file in shown.files] == ["SKILL.md"]


def test_changes_are_found(skills: Skillcue, skill_at: Callable[..., Path]) -> None:
    before = skills.generation
    assert not skills.refresh()
    skill_at("new", "---\nname: new\ndescription: Is new.\n---\nNew.\n")
    changes = skills.refresh()
    assert changes.added == ("new",)
    assert "new" in skills
    assert skills.generation != before
    assert [skill.name for skill in skills] == ["greeter", "hidden", "new", "pdf"]


def test_a_file_is_parsed_by_itself(tree: Path) -> None:
    parsed = skillcue.parse(tree / "pdf" / "SKILL.md")
    assert parsed.valid
    assert parsed.name == "pdf"
    assert parsed.body.startswith("Use pdftotext")
    broken = skillcue.parse(b"---\nname: [\n---\nBody\n")
    assert not broken.valid
    assert broken.diagnostics[0].line is not None
    assert broken.name is None
    with pytest.raises(skillcue.NotFoundError):
        skillcue.parse(tree / "absent.md")


def test_directories_are_validated_and_linted(tree: Path, skill_at: Callable[..., Path]) -> None:
    assert skillcue.validate(skill_at("plain", "---\nname: plain\ndescription: Does a plain thing when asked.\n---\nPlain.\n"))
    directory = skill_at("Bad_Name", "---\nname: Bad_Name\ndescription: Is bad.\n---\nBad.\n")
    report = skillcue.validate(directory)
    assert not report
    assert {found.severity for found in report.diagnostics} >= {"error"}
    assert isinstance(skillcue.lint(tree).diagnostics, tuple)


def test_tokens_are_counted() -> None:
    assert skillcue.count_tokens("") == 0
    assert 0 < skillcue.count_tokens("The right skill at the right moment.") < 20
    assert skillcue.count_tokens("The right skill", "o200k") == 3


def test_the_program_is_carried() -> None:
    assert skillcue.program().is_file()
    assert "skills" in str(skillcue.cli("list", "--isolated")) or skillcue.cli("list", "--isolated") == []
    with pytest.raises(skillcue.NotFoundError):
        skillcue.cli("load", "absent", "--isolated")


def test_a_policy_about_sources_takes_a_named_root_for_what_it_is(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.toml"
    monkeypatch.setenv("SKILLCUE_POLICY", str(policy))
    for allowed, is_open in [("bundled", False), ("inline", True)]:
        policy.write_text(f'[sources]\nallow = ["{allowed}"]\n')
        with Skillcue(roots=[(tree, "bundled")]) as opened:
            assert opened.get("pdf").source == "inline"
            if is_open:
                opened.load("pdf")
            else:
                with pytest.raises(skillcue.SkillcueError, match="closed by the policy"):
                    opened.load("pdf")
