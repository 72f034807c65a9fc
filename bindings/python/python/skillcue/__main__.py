"""``skillcue`` and ``python -m skillcue``: the program that the package carries."""

from __future__ import annotations

import os
import sys

from ._functions import program


def main() -> None:
    """Becomes the program."""
    path = os.fspath(program())
    try:
        os.execv(path, ["skillcue", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"skillcue: {path}: {error.strerror}")


if __name__ == "__main__":
    main()
