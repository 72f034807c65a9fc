"""Calls on threads, for programs with an event loop."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from ._native import Cancel

_P = ParamSpec("_P")
_T = TypeVar("_T")

_SHORT_THREADS = min(32, (os.cpu_count() or 1) + 4)
_PROGRAM_THREADS = 32

_Job = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class _Lane:
    """Threads of this process that work on a queue.

    A call of a microsecond must not cost fifty: a thread takes job after job while there are any, and a loop is woken once
    for all results that wait for it.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = threads
        self._lock = threading.Lock()
        self._jobs: deque[_Job] = deque()
        self._busy = 0
        self._done: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, BaseException | None]]] = {}

    def start(self, job: _Job) -> None:
        with self._lock:
            self._jobs.append(job)
            if self._busy >= self._most:
                return
            self._busy += 1
        self._threads.submit(self._work)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._busy -= 1
                    return
                loop, future, work = self._jobs.popleft()
            if future.cancelled():
                continue
            try:
                self._finish(loop, (future, work(), None))
            except BaseException as error:
                self._finish(loop, (future, None, error))

    def _finish(
        self, loop: asyncio.AbstractEventLoop, done: tuple[asyncio.Future[Any], Any, BaseException | None]
    ) -> None:
        with self._lock:
            waiting = self._done.setdefault(loop, [])
            waiting.append(done)
            if len(waiting) > 1:
                return
        try:
            loop.call_soon_threadsafe(self._tell, loop)
        except RuntimeError:  # The loop was closed: there is nothing to tell.
            with self._lock:
                self._done.pop(loop, None)

    def _tell(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            done = self._done.pop(loop, [])
        for future, result, error in done:
            if future.cancelled():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


_lanes: dict[tuple[int, bool], _Lane] = {}


def _lane(for_programs: bool) -> _Lane:
    """Returns the threads of this process. A forked one has none of its parent's.

    Programs have threads of their own: short calls never wait behind a script of a minute.
    """
    key = (os.getpid(), for_programs)
    found = _lanes.get(key)
    if found is None:
        made = _Lane(_PROGRAM_THREADS, "skillcue-run") if for_programs else _Lane(_SHORT_THREADS, "skillcue")
        found = _lanes.setdefault(key, made)
    return found


async def in_thread(work: Callable[[], _T], cancel: Cancel | None = None) -> _T:
    """Runs work on a thread. If the task is cancelled meanwhile, so is the work: at once if it has not begun."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()
    _lane(cancel is not None).start((loop, future, work))
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

    if place is None and not runs_programs:

        @functools.wraps(sync)
        async def short(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[_T] = loop.create_future()
            _lane(False).start((loop, future, functools.partial(sync, *args, **kwargs)))
            return await future

        return _named(short, sync)

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

    return _named(twin, sync)


def _named(
    twin: Callable[_P, Coroutine[Any, Any, _T]], sync: Callable[_P, _T]
) -> Callable[_P, Coroutine[Any, Any, _T]]:
    name = sync.__name__
    twin.__name__ = f"a{name}"
    twin.__qualname__ = f"Skillcue.a{name}"
    twin.__doc__ = f"Like :meth:`{name}`, without blocking the event loop."
    return twin
