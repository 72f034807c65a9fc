"""The loop of an agent by hand: a model's calls of tools, here written down, run on real skills."""

from __future__ import annotations

import sys
from typing import Any

from skillcue import Session, Skillcue

Call = tuple[str, dict[str, Any]]


def answer(skills: Skillcue, session: Session, calls: list[Call]) -> None:
    for name, arguments in calls:
        result = skills.call_tool(name, arguments, session=session)
        first = result.text.splitlines()[0] if result.text else ""
        print(f"{name}: {'error' if result.is_error else 'ok'}: {first}")


def main(directory: str, skill: str) -> None:
    session: Session = {}
    with Skillcue(directory, policy="catalog") as skills:
        print(skills.prompt().text)
        answer(skills, session, [("search_skills", {"query": skill}), ("load_skill", {"skill_id": skill})])
        # The host has dropped the conversation's beginning: what must the model see again?
        again = skills.rehydrate(session)
        print(f"shown again: {[it.name for it in again.skills]}, {again.tokens} tokens")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
