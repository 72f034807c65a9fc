"""Many bodies at once, without blocking the event loop."""

from __future__ import annotations

import asyncio
import sys

from skillcue import NotFoundError, Skillcue


async def main(directory: str) -> None:
    async with await Skillcue.aopen(directory) as skills:
        names = [skill.name for skill in skills]
        for loaded in await asyncio.gather(*(skills.aload(name, "Alice") for name in names)):
            print(f"{loaded.name}: {loaded.tokens} tokens")
        try:
            await skills.aload("absent")
        except NotFoundError as error:
            print(f"{error.code}: {error} ({error.hint})")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
