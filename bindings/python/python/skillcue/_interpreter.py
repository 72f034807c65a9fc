"""Refuses sub-interpreters: static data of the native module must not be shared by two.

Python 3.12 and later refuse by themselves, because the module does not say that it supports them.
"""

from __future__ import annotations

import importlib
import sys


def _refuse() -> None:
    if sys.version_info >= (3, 12):
        return
    try:
        known = importlib.import_module("_xxsubinterpreters")
    except ImportError:  # Without that module there are no others.
        return
    if known.get_current() != known.get_main():
        raise ImportError("module skillcue._native does not support loading in subinterpreters")


_refuse()
