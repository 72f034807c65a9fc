"""The skills of one catalog as objects, each made once."""

from __future__ import annotations

from ._errors import NotFoundError
from ._native import NativeCatalog
from ._types import Skill


class Listing:
    """One catalog. Its objects are made when they are first asked for, and shared from then on."""

    __slots__ = ("_all", "_found", "_usable", "native")

    def __init__(self, native: NativeCatalog) -> None:
        self.native = native
        self._all: tuple[Skill, ...] | None = None
        self._usable: tuple[Skill, ...] | None = None
        self._found: dict[str, tuple[int, Skill]] = {}

    def all(self) -> tuple[Skill, ...]:
        """Returns all skills, disabled and shadowed ones too."""
        if self._all is None:
            self._all = tuple(Skill._listed(self.native, position) for position in range(len(self.native)))
        return self._all

    def usable(self) -> tuple[Skill, ...]:
        """Returns the skills that are switched on, have what they require, and are hidden by no other of their name."""
        if self._usable is None:
            self._usable = tuple(it for it in self.all() if it.enabled and it.available and not it.shadowed)
        return self._usable

    def find(self, address: str) -> tuple[int, Skill] | None:
        """Returns the place of a skill, and the skill."""
        found = self._found.get(address)
        if found is None:
            position = self.native.position(address)
            if position is None:
                return None
            if self._all is not None:
                found = (position, self._all[position])
            else:
                row = self.native.row(position)
                assert row is not None, "a catalog does not change"
                found = (position, Skill._of(row))
            self._found[address] = found
        return found

    def get(self, address: str) -> tuple[int, Skill]:
        """Like :meth:`find`, and raises an error for an unknown name."""
        found = self.find(address)
        if found is None:
            close = tuple(self.native.close_names(address))
            hint = f"did you mean {', '.join(close)}?" if close else "list the skills to see which there are"
            error = NotFoundError(f'no skill is called "{address}"', code="not_found", hint=hint)
            error.name, error.close = address, close
            raise error
        return found
