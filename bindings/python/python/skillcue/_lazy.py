"""``LazyTuple``: a sequence whose items are made when they are first looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class LazyTuple(Sequence[_T], Generic[_T]):
    """A tuple that does not exist before it is needed. Equal to a tuple of equal items."""

    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[], tuple[_T, ...]]) -> None:
        self._make: Callable[[], tuple[_T, ...]] | None = make
        self._items: tuple[_T, ...] = ()

    def _made(self) -> tuple[_T, ...]:
        make = self._make
        if make is not None:
            # Two threads may both make them, and both results are equal.
            self._items = make()
            self._make = None
        return self._items

    @overload
    def __getitem__(self, at: int) -> _T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[_T, ...]: ...
    def __getitem__(self, at: int | slice) -> _T | tuple[_T, ...]:
        return self._made()[at]

    def __len__(self) -> int:
        return len(self._made())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyTuple):
            return self._made() == other._made()
        return self._made() == other

    def __hash__(self) -> int:
        return hash(self._made())

    def __repr__(self) -> str:
        return repr(self._made())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._made(),))


def _restored(items: tuple[_T, ...]) -> LazyTuple[_T]:
    return LazyTuple(lambda: items)
