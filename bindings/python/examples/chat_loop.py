"""A conversation: what a host puts before a model, message by message. Run it with a directory of skills."""

from __future__ import annotations

import json
import sys

from skillcue import Session, Skillcue


def main(directory: str, messages: list[str]) -> None:
    session: Session = {}
    with Skillcue(directory) as skills:
        for message in messages:
            shown = skills.disclose(message, session=session)
            print(f"> {message}")
            print(shown.text)
            print(f"({shown.tokens.stable + shown.tokens.turn} tokens instead of {shown.tokens.eager})\n")
        names = [tool.name for tool in skills.tools(session=session)]
    print(f"tools: {', '.join(names)}")
    # A session is plain JSON: store it with the conversation.
    print(f"session: {len(json.dumps(session))} bytes")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or ["What is 2+2?", "What can you do?"])
