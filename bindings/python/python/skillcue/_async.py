"""Calls on threads, for programs with an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from ._native import Cancel

_P = ParamSpec("_P")
_T = TypeVar("_T")

_SHORT_THREADS = min(32, (os.cpu_count() or 1) + 4)
_PROGRAM_THREADS = 32

_executors: dict[tuple[int, bool], ThreadPoolExecutor] = {}


def _executor(for_programs: bool) -> ThreadPoolExecutor:
    """Returns the threads of this process. A forked one has none of its parent's.

    Programs have threads of their own: short calls never wait behind a script of a minute.
    """
    key = (os.getpid(), for_programs)
    found = _executors.get(key)
    if found is None:
        threads = _PROGRAM_THREADS if for_programs else _SHORT_THREADS
        found = _executors.setdefault(key, ThreadPoolExecutor(threads, thread_name_prefix="skillcue"))
    return found


async def in_thread(work: Callable[[], _T], cancel: Cancel | None = None) -> _T:
    """Runs work on a thread. If the task is cancelled meanwhile, so is the work: at once if it has not begun."""
    context = contextvars.copy_context()
    future = asyncio.get_running_loop().run_in_executor(_executor(cancel is not None), context.run, work)
    try:
        return await future
    except asyncio.CancelledError:
        if cancel is not None:
            cancel.cancel()
        raise


def async_twin(sync: Callable[_P, _T]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Returns a function that does on a thread what ``sync`` does.

    A session is copied for the thread, and updated by the task itself: only if the call came to its end, and never while
    the loop does something else.
    """
    parameters = list(inspect.signature(sync).parameters)
    place = parameters.index("session") if "session" in parameters else None
    runs_programs = "cancel" in parameters

    @functools.wraps(sync)
    async def twin(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        given, named = list(args), dict(kwargs)
        session = named.get("session")
        copy: dict[str, Any] | None = None
        if isinstance(session, dict):
            named["session"] = copy = dict(session)
        elif place is not None and place < len(given) and isinstance(given[place], dict):
            session = given[place]
            given[place] = copy = dict(session)  # type: ignore[call-overload]
        cancel: Cancel | None = None
        if runs_programs:
            asked = named.get("cancel")
            cancel = asked if isinstance(asked, Cancel) else Cancel()
            named["cancel"] = cancel
        result = await in_thread(lambda: sync(*given, **named), cancel)  # type: ignore[arg-type]
        if copy is not None and isinstance(session, dict):
            session.clear()
            session.update(copy)
        return result

    twin.__name__ = f"a{sync.__name__}"
    twin.__qualname__ = twin.__qualname__.replace(sync.__name__, twin.__name__)
    twin.__doc__ = f"Like :meth:`{sync.__name__}`, without blocking the event loop."
    return twin
