"""What every integration needs: which texts a conversation shows, as plain JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._functions import StrPath
from .._results import Disclosure
from .._skills import Session, Skillcue

SEPARATOR = "\n\n---\n\n"
"""Between a skill's text and the user's own words, so that a model sees where those begin."""


class OneConversation:
    """The skills of one conversation, and its session."""

    def __init__(self, skills: Skillcue | StrPath, *, session: Session | None = None, **options: Any) -> None:
        """Opens the skills.

        :param skills: The skills, or the directory where they are.
        :param session: The session of an earlier conversation, to go on with it.
        :param options: Those of :class:`skillcue.Skillcue`, if ``skills`` is a directory.
        """
        self.skills = skills if isinstance(skills, Skillcue) else Skillcue(skills, **options)
        self.session: Session = {} if session is None else session


def apart(text: str, message: str) -> str:
    """Returns a text and the message behind it."""
    if not text:
        return message
    return f"{text.rstrip()}{SEPARATOR if chr(10) in text else chr(10) * 2}{message}"


def injected(session: Mapping[str, Any]) -> list[str]:
    """Returns the skills whose texts were put into the context by a disclosure."""
    return [skill["address"] for skill in session.get("skills", ()) if skill["in_context"] and skill["how"] == "injected"]


def shown_names(shown: Disclosure) -> list[str]:
    """Returns the skills whose bodies a disclosure shows."""
    return [skill.name for skill in shown.skills if skill.decision in ("included", "shortened")]


def has_news(shown: Disclosure) -> bool:
    """Returns whether a disclosure has more than references to what the conversation shows already."""
    return not shown.skills or any(not (skill.why or "").startswith("in this conversation") for skill in shown.skills)


def forget(session: Session, names: Iterable[str]) -> None:
    """Records that the texts of some skills are not in the context any more."""
    gone = list(names)
    if gone and session:
        Skillcue.evicted(session, gone)


def merged(left: Session | None, right: Session | None) -> Session:
    """Returns one session of two that began as one: tools that ran at the same time have each loaded something."""
    if not left or not right:
        return dict(right or left or {})
    skills = {skill["address"]: skill for skill in left.get("skills", ())}
    for skill in right.get("skills", ()):
        known = skills.get(skill["address"])
        if known is None or skill["turn"] >= known["turn"]:
            skills.pop(skill["address"], None)
            skills[skill["address"]] = skill
    newest = right if right.get("turn", 0) >= left.get("turn", 0) else left
    return {**newest, "skills": list(skills.values())}


def shortened(text: str, most: int) -> str:
    """Returns a text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
