"""Types that several tests of `skillcue.compat` name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

# Writes a skill; returns its directory.
MakeSkill = Callable[..., Path]
