"""Selection, disclosure, sessions and tools."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import skillcue
from skillcue import Session, Skillcue


def test_the_tiers_of_a_conversation(skills: Skillcue) -> None:
    session: Session = {}
    crumb = skills.disclose("What is 2+2?", session=session)
    assert (crumb.tier, crumb.turn) == (1, "[2 skills available]")
    asked = skills.disclose("What can you do?", session=session)
    assert asked.tier == 2
    assert "greeter" in asked.turn
    assert "hidden" not in asked.turn
    shown = skills.disclose("Say bonjour to Alice", session=session)
    assert shown.tier == 3
    assert "guten Tag" in shown.turn
    assert shown.tokens.turn < shown.tokens.eager * 3
    assert shown.skills[0].decision == "included"
    again = skills.disclose("and bonjour to Bob", session=session)
    assert "guten Tag" not in again.turn, "what is in context is not shown again"


def test_a_session_is_plain_json(skills: Skillcue) -> None:
    session: Session = {}
    skills.disclose("Say bonjour to Alice", session=session)
    stored = json.loads(json.dumps(session))
    assert stored["skills"][0]["name"] == "greeter"
    assert "guten Tag" not in skills.disclose("bonjour to Bob", session=stored).turn
    assert stored["turn"] == 2
    assert session["turn"] == 1
    with pytest.raises(skillcue.ConfigError):
        skills.disclose("bonjour", session={"version": "x"})
    again = skills.rehydrate(session)
    assert "guten Tag" in again.text
    assert again.skills[0].name == "greeter"


def test_hits_have_reasons(skills: Skillcue) -> None:
    selection = skills.select("Größe: say bonjour", limit=3)
    assert selection.names[0] == "greeter"
    reason = next(reason for reason in selection.hits[0].reasons if reason.text == "bonjour")
    assert reason.kind == "keyword"
    assert reason.span is not None
    start, end = reason.span
    assert "Größe: say bonjour"[start:end] == "bonjour", "in characters, not in bytes"
    assert skills.search("$hidden").names == ()
    assert skills.select("$hidden").names == ("hidden",)
    why = skills.why("pdf", "say bonjour")
    assert any(report.trigger == "pdf" and report.matched is None for report in why.triggers)
    with pytest.raises(skillcue.NotFoundError):
        skills.why("absent", "say bonjour")
    assert skills.select("open it", files=[Path("report.pdf")]).intent == "none"


def test_policies_and_budgets(skills: Skillcue, tree: Path) -> None:
    assert "<id>greeter</id>" in skills.disclose("hello", policy="catalog").stable
    assert "greeter" in skills.prompt().text
    assert skills.census() == 2
    tight = skills.disclose("Say bonjour", max_total_tokens=20)
    assert tight.tokens.turn < skills.disclose("Say bonjour").tokens.turn
    with pytest.raises(skillcue.ConfigError):
        skills.disclose("hello", policy="shout")  # type: ignore[arg-type]
    with pytest.raises(skillcue.SkillcueError) as raised:
        skills.select("hello", mode="semantic")
    assert raised.value.code == "no_model"
    hinting = Skillcue(tree, policy="hint")
    assert "greeter" in hinting.disclose("Say bonjour").turn


def test_tools_for_a_model(skills: Skillcue) -> None:
    session: Session = {}
    names = [tool.name for tool in skills.tools(session=session)]
    assert names[:2] == ["load_skill", "search_skills"]
    assert "run_skill_script" not in names
    tool = skills.tools()[0]
    assert tool.input_schema["type"] == "object"
    result = skills.call_tool("load_skill", {"skill_id": "pdf"}, session=session)
    assert not result.is_error
    assert result.loaded == "pdf"
    assert "<skill_context" in result.text
    assert "run_skill_script" in [tool.name for tool in skills.tools(session=session)]
    refused = skills.call_tool("load_skill", {"skill_id": "hidden"}, session=session)
    assert refused.is_error
    with pytest.raises(skillcue.NotFoundError):
        skills.call_tool("absent_tool")
    with pytest.raises(TypeError):
        skills.call_tool("load_skill", {"skill_id": object()})


def test_arguments_must_be_json(skills: Skillcue) -> None:
    endless: dict[str, object] = {}
    endless["self"] = endless
    with pytest.raises(ValueError, match="deeply"):
        skills.call_tool("load_skill", endless)
    with pytest.raises(ValueError, match="JSON"):
        skills.call_tool("load_skill", {"skill_id": float("nan")})


def test_records_go_to_logging(skills: Skillcue, caplog: pytest.LogCaptureFixture) -> None:
    skills.disclose("Say bonjour")
    assert not caplog.records, "nothing below the level of the logger"
    with caplog.at_level(logging.DEBUG, logger="skillcue"):
        skills.disclose("Say bonjour to Bob")
    record = next(record for record in caplog.records if record.name == "skillcue.disclose")
    assert "disclosed" in record.getMessage()
    assert "greeter" in record.getMessage()
    assert "Bob" not in record.getMessage()
    assert record.fields["tier"] == "3"  # type: ignore[attr-defined]


def test_events_of_a_turn_select_more(skills: Skillcue) -> None:
    assert skills.reselect("help me", words=["I will say bonjour in French"], already=["greeter"]) == []
    hits = skills.reselect("help me", calls=[("run", {"command": "pdftotext a.pdf"})], touched=["a.pdf"])
    assert isinstance(hits, list)
