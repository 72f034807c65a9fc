"""The options of a turn, as the native module takes them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ._functions import StrPath
from ._types import Mode, Policy


def turn(
    files: Iterable[StrPath],
    languages: Iterable[str],
    nearby: Iterable[StrPath],
    earlier: Iterable[str],
    mode: Mode | None,
    limit: int | None,
    policy: Policy | None = None,
    max_total_tokens: int | None = None,
    max_per_skill_tokens: int | None = None,
) -> dict[str, Any] | None:
    """Returns the options that were given, as the native module takes them."""
    options: dict[str, Any] = {}
    if files:
        options["files"] = [os.fspath(path) for path in files]
    if languages:
        options["languages"] = list(languages)
    if nearby:
        options["nearby"] = [os.fspath(path) for path in nearby]
    if earlier:
        options["earlier"] = list(earlier)
    if mode is not None:
        options["mode"] = mode
    if limit is not None:
        options["limit"] = limit
    if policy is not None:
        options["policy"] = policy
    if max_total_tokens is not None:
        options["max_total_tokens"] = max_total_tokens
    if max_per_skill_tokens is not None:
        options["max_per_skill_tokens"] = max_per_skill_tokens
    return options or None
