"""``Watch``: a watch of the skills on disk."""

from __future__ import annotations

from ._native import NativeWatch


class Watch:
    """A watch, which lasts until it is closed. A context manager."""

    __slots__ = ("_native",)

    def __init__(self, native: NativeWatch) -> None:
        self._native = native

    def close(self) -> None:
        """Ends it."""
        self._native.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
