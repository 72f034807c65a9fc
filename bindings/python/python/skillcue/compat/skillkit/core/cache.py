"""The cache of processed content."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Figures of a cache at one moment; `hit_rate` is 0.0 to 1.0."""

    size: int
    max_size: int
    hits: int
    misses: int
    hit_rate: float


class ContentCache:
    """Keeps the most recently used contents by skill and arguments, each with its file's time of change.

    Usable from several threads and event loops at once: a lock is held for the moment of a look-up, never while
    anything waits.
    """

    def __init__(self, max_size: int = 100) -> None:
        if max_size <= 0:
            raise ValueError(f"max_size must be positive, got: {max_size}")
        self._cache: OrderedDict[tuple[str, str], tuple[str, object]] = OrderedDict()
        self._max_size = max_size
        self._hits = 0
        self._misses = 0
        self._lock = threading.Lock()

    async def get(self, skill_name: str, arguments: str, file_mtime: float) -> str | None:
        """Returns the content, unless there is none or the file is newer than it."""
        with self._lock:
            key = (skill_name, arguments)
            entry = self._cache.get(key)
            if entry is not None:
                content, cached = entry
                if isinstance(cached, (int, float)) and cached >= file_mtime:
                    self._cache.move_to_end(key)
                    self._hits += 1
                    return content
                del self._cache[key]
            self._misses += 1
            return None

    async def put(self, skill_name: str, arguments: str, content: str, file_mtime: float) -> None:
        """Keeps a content; the least recently used one goes if there are too many."""
        with self._lock:
            self._keep((skill_name, arguments), content, file_mtime)

    async def clear(self, skill_name: str | None = None) -> int:
        """Drops the contents of one skill, or all. Returns how many."""
        return self.drop(skill_name)

    def get_stats(self) -> CacheStats:
        """Returns the figures."""
        with self._lock:
            total = self._hits + self._misses
            rate = self._hits / total if total else 0.0
            return CacheStats(len(self._cache), self._max_size, self._hits, self._misses, rate)

    def look_up(self, skill_name: str, arguments: str, stamp: object, *, last: bool) -> str | None:
        """Returns the content made from the file with exactly this stamp; not in skillkit.

        A look-up that fails counts as a miss only if it is the caller's `last` one.
        """
        with self._lock:
            key = (skill_name, arguments)
            entry = self._cache.get(key)
            if entry is not None:
                content, cached = entry
                if cached == stamp:
                    self._cache.move_to_end(key)
                    self._hits += 1
                    return content
                del self._cache[key]
            if last:
                self._misses += 1
            return None

    def keep(self, skill_name: str, arguments: str, content: str, stamp: object) -> None:
        """Like `put`, with any stamp; not in skillkit."""
        with self._lock:
            self._keep((skill_name, arguments), content, stamp)

    def drop(self, skill_name: str | None = None) -> int:
        """Like `clear`, without awaiting; not in skillkit."""
        with self._lock:
            if skill_name is None:
                count = len(self._cache)
                self._cache.clear()
                return count
            keys = [key for key in self._cache if key[0] == skill_name]
            for key in keys:
                del self._cache[key]
            return len(keys)

    def _keep(self, key: tuple[str, str], content: str, stamp: object) -> None:
        if key in self._cache:
            del self._cache[key]
        elif len(self._cache) >= self._max_size:
            self._cache.popitem(last=False)
        self._cache[key] = (content, stamp)
