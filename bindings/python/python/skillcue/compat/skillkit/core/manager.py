"""The manager: sources of skills, their discovery, and invoking them."""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from .. import _engine
from .cache import CacheStats, ContentCache
from .discovery import SkillDiscovery
from .exceptions import AsyncStateError, ContentLoadError, ScriptNotFoundError, SkillNotFoundError, SkillsUseError
from .models import InitMode, QualifiedSkillName, Skill, SkillMetadata, SkillSource, SourceType, read_content
from .parser import SkillParser
from .processors import normalize_arguments, process_skill_content
from .sources import (
    DEFAULT_ANTHROPIC_DIR,
    DEFAULT_PROJECT_DIR,
    PRIORITY_ANTHROPIC,
    PRIORITY_CUSTOM_BASE,
    PRIORITY_PLUGIN,
    PRIORITY_PROJECT,
    build_sources,
)

if TYPE_CHECKING:
    from .scripts import ScriptExecutionResult

__all__ = [
    "DEFAULT_ANTHROPIC_DIR",
    "DEFAULT_PROJECT_DIR",
    "PRIORITY_ANTHROPIC",
    "PRIORITY_CUSTOM_BASE",
    "PRIORITY_PLUGIN",
    "PRIORITY_PROJECT",
    "SkillManager",
]

logger = logging.getLogger("skillkit.core.manager")


class SkillManager:
    """Skills of several sources, by name.

    Sources in order of precedence: `project_skill_dir` (100), `anthropic_config_dir` (50), `plugin_dirs` (10 each),
    `additional_search_paths` (5, 4, …). Of two skills with one name the one with the higher precedence wins, then the
    first path; a plugin's is still there as `plugin:skill`.
    """

    def __init__(
        self,
        skill_dir: Path | str | None = None,
        project_skill_dir: Path | str | None = None,
        anthropic_config_dir: Path | str | None = None,
        plugin_dirs: list[Path | str] | None = None,
        additional_search_paths: list[Path | str] | None = None,
        default_script_timeout: int = 30,
        max_cache_size: int = 100,
        *,
        sandbox: bool = True,
    ) -> None:
        """Sets up the sources; nothing is read but plugins' manifests.

        None means `./skills` and `./.claude/skills`, if they are there; an empty string means no directory.

        Args:
            skill_dir: The old name of `project_skill_dir`.
            default_script_timeout: Seconds that a script may take.
            max_cache_size: Contents that are kept.
            sandbox: Whether scripts run in Skillcue's sandbox; not in skillkit, whose scripts could do anything.

        Raises:
            ConfigurationError: A directory that was named does not exist.
        """
        if skill_dir is not None and project_skill_dir is None:
            logger.warning("Parameter 'skill_dir' is deprecated in v0.2. Use 'project_skill_dir' instead.")
            project_skill_dir = skill_dir
        self.sources: list[SkillSource] = self._build_sources(
            project_skill_dir, anthropic_config_dir, plugin_dirs, additional_search_paths
        )
        self._skills: dict[str, SkillMetadata] = {}
        self._plugin_skills: dict[str, dict[str, SkillMetadata]] = {}
        self._parser = SkillParser()
        self._discovery = SkillDiscovery()
        self._init_mode = InitMode.UNINITIALIZED
        self.default_script_timeout = default_script_timeout
        self.sandbox = sandbox
        self._cache = ContentCache(max_size=max_cache_size)
        # A lock of asyncio belongs to one event loop: a manager may see several, one after the other.
        self._skill_locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = (
            weakref.WeakKeyDictionary()
        )
        self.skills_dir = Path(project_skill_dir) if project_skill_dir else Path.cwd() / ".claude" / "skills"

    def _build_sources(
        self,
        project_skill_dir: Path | str | None,
        anthropic_config_dir: Path | str | None,
        plugin_dirs: list[Path | str] | None,
        additional_search_paths: list[Path | str] | None,
    ) -> list[SkillSource]:
        return build_sources(project_skill_dir, anthropic_config_dir, plugin_dirs, additional_search_paths)

    @property
    def init_mode(self) -> InitMode:
        """How the skills were discovered."""
        return self._init_mode

    def discover(self) -> None:
        """Discovers the skills of every source. A bad skill is logged and left out.

        Raises:
            AsyncStateError: They were discovered with `adiscover` before.
        """
        if self._init_mode == InitMode.ASYNC:
            raise AsyncStateError(
                "Manager was initialized with adiscover() (async mode). "
                "Cannot mix sync and async methods. Create a new manager instance."
            )
        self._init_mode = InitMode.SYNC
        logger.info("Starting multi-source skill discovery (sync mode)")
        self._begin()
        found = 0
        for source in self.sources:
            self._log_source(source)
            found += self._register(source, self._discovery.discover_fronts(source))
        logger.info(f"Discovery complete: {found} skill(s) registered from {len(self.sources)} source(s)")

    async def adiscover(self) -> None:
        """Like `discover`, without blocking the event loop while files are read.

        Raises:
            AsyncStateError: They were discovered with `discover` before.
        """
        if self._init_mode == InitMode.SYNC:
            raise AsyncStateError(
                "Manager was initialized with discover() (sync mode). "
                "Cannot mix sync and async methods. Create a new manager instance."
            )
        self._init_mode = InitMode.ASYNC
        logger.info("Starting multi-source skill discovery (async mode)")
        self._begin()
        found = 0
        for source in self.sources:
            self._log_source(source)
            found += self._register(source, await self._discovery.adiscover_fronts(source))
        logger.info(f"Async discovery complete: {found} skill(s) registered from {len(self.sources)} source(s)")

    def _begin(self) -> None:
        self._skills.clear()
        self._plugin_skills.clear()

    def _log_source(self, source: SkillSource) -> None:
        logger.debug(
            f"Scanning source: {source.source_type.value} at {source.directory} (priority: {source.priority})"
        )

    def _register(self, source: SkillSource, found: Iterable[tuple[Path, _engine.FrontMatter]]) -> int:
        """Adds the skills of one source; those before it have precedence. Returns how many were new."""
        debug = logger.isEnabledFor(logging.DEBUG)
        plugin = source.plugin_name if source.source_type == SourceType.PLUGIN else None
        added = 0
        empty = True
        for path, front in found:
            empty = False
            try:
                metadata = self._parser.metadata_of(front, path, source)
            except SkillsUseError as error:
                logger.error(f"Failed to parse skill at {path}: {error}", exc_info=True)
                continue
            except Exception as error:
                logger.error(f"Unexpected error parsing {path}: {error}", exc_info=True)
                continue
            if plugin:
                self._plugin_skills.setdefault(plugin, {})[metadata.name] = metadata
                if debug:
                    logger.debug(f"Registered plugin skill: {plugin}:{metadata.name} from {source.directory}")
            if metadata.name in self._skills:
                self._log_conflict(metadata, source, plugin)
                continue
            self._skills[metadata.name] = metadata
            if debug:
                logger.debug(f"Registered skill: {metadata.name} from {source.source_type.value}")
            added += 1
        if empty and debug:
            logger.debug(f"No skills found in {source.directory}")
        return added

    def _log_conflict(self, metadata: SkillMetadata, source: SkillSource, plugin: str | None) -> None:
        kept = self._skills[metadata.name]
        owner = next((it for it in self.sources if kept.skill_path.is_relative_to(it.directory)), None)
        kind, priority = (owner.source_type.value, str(owner.priority)) if owner else ("unknown", "unknown")
        hint = ""
        if plugin:
            hint = f" Use qualified name '{plugin}:{metadata.name}' to access the ignored version."
        logger.warning(
            f"Skill name conflict detected for '{metadata.name}':\n"
            f"  KEEPING: {kept.skill_path} (source: {kind}, priority: {priority})\n"
            f"  IGNORING: {metadata.skill_path} (source: {source.source_type.value}, priority: {source.priority})\n"
            f"  RESOLUTION: Higher priority source wins.{hint}"
        )

    @overload
    def list_skills(self, include_qualified: Literal[False] = False) -> list[SkillMetadata]: ...

    @overload
    def list_skills(self, include_qualified: Literal[True]) -> list[str]: ...

    @overload
    def list_skills(self, include_qualified: bool) -> list[SkillMetadata] | list[str]: ...

    def list_skills(self, include_qualified: bool = False) -> list[SkillMetadata] | list[str]:
        """Returns the metadata of every skill, in the order of precedence.

        With `include_qualified`, their names instead, and `plugin:skill` for plugins' skills that another one hides.
        """
        if not include_qualified:
            return list(self._skills.values())
        names = list(self._skills)
        for plugin, skills in self._plugin_skills.items():
            for name, metadata in skills.items():
                shown = self._skills.get(name)
                if shown is not None and shown.skill_path != metadata.skill_path:
                    names.append(f"{plugin}:{name}")
        return names

    def get_skill(self, name: str) -> SkillMetadata:
        """Returns the metadata of `skill` or `plugin:skill`; case counts.

        Raises:
            SkillNotFoundError: There is none.
        """
        found = self._skills.get(name)
        if found is not None and ":" not in name:
            return found
        try:
            asked = QualifiedSkillName.parse(name)
        except ValueError as error:
            raise SkillNotFoundError(str(error)) from error
        if asked.plugin is None:
            available = ", ".join(self._skills) or "none"
            raise SkillNotFoundError(f"Skill '{asked.skill}' not found. Available skills: {available}")
        skills = self._plugin_skills.get(asked.plugin)
        if skills is None:
            available = ", ".join(self._plugin_skills) or "none"
            raise SkillNotFoundError(f"Plugin '{asked.plugin}' not found. Available plugins: {available}")
        found = skills.get(asked.skill)
        if found is None:
            raise SkillNotFoundError(
                f"Skill '{asked.skill}' not found in plugin '{asked.plugin}'. "
                f"Available skills in this plugin: {', '.join(skills)}"
            )
        return found

    def load_skill(self, name: str) -> Skill:
        """Returns a skill whose content is read when it is first needed.

        Raises:
            SkillNotFoundError: There is none of that name.
        """
        metadata = self.get_skill(name)
        return Skill(metadata=metadata, base_directory=metadata.skill_path.parent)

    def get_cache_stats(self) -> CacheStats:
        """Returns the figures of the cache of contents."""
        return self._cache.get_stats()

    def clear_cache(self, skill_name: str | None = None) -> int:
        """Drops the contents of one skill, or all. Returns how many."""
        return self._cache.drop(skill_name)

    async def aclear_cache(self, skill_name: str | None = None) -> int:
        """Like `clear_cache`."""
        return self._cache.drop(skill_name)

    def invoke_skill(self, name: str, arguments: str | None = "") -> str:
        """Returns the content of a skill with its base directory and the arguments; kept for the next time.

        Arguments that differ in white space only share one kept content: that of the first call.

        Raises:
            SkillNotFoundError: There is none of that name.
            ContentLoadError: Its file cannot be read.
            SizeLimitExceededError: The arguments are larger than 1,000,000 bytes.
        """
        metadata = self.get_skill(name)
        key = normalize_arguments(arguments)
        stamp = _stamp(metadata.skill_path)
        content = self._cache.look_up(name, key, stamp, last=True)
        if content is None:
            content = _load(metadata.skill_path, arguments)
            self._cache.keep(name, key, content, stamp)
        return content

    async def ainvoke_skill(self, name: str, arguments: str | None = "") -> str:
        """Like `invoke_skill`, without blocking the event loop while the file is read; it is read once for all
        callers that want the same.

        Raises:
            AsyncStateError: The skills were discovered with `discover`.
            SkillsUseError: They were not discovered yet.
            SkillNotFoundError: There is none of that name.
            ContentLoadError: Its file cannot be read.
            SizeLimitExceededError: The arguments are larger than 1,000,000 bytes.
        """
        if self._init_mode == InitMode.SYNC:
            raise AsyncStateError(
                "Manager was initialized with discover() (sync mode). "
                "Cannot use ainvoke_skill(). Use invoke_skill() instead, "
                "or create a new manager and call adiscover()."
            )
        if self._init_mode == InitMode.UNINITIALIZED:
            raise SkillsUseError("Manager not initialized. Call adiscover() before invoking skills.")
        metadata = self.get_skill(name)
        path = metadata.skill_path
        key = normalize_arguments(arguments)
        # A `stat` is some microseconds: a thread for it would take ten times as long.
        content = self._cache.look_up(name, key, _stamp(path), last=False)
        if content is not None:
            return content
        async with self._lock_of(name):
            stamp = _stamp(path)
            content = self._cache.look_up(name, key, stamp, last=True)
            if content is None:
                content = await asyncio.to_thread(_load, path, arguments)
                self._cache.keep(name, key, content, stamp)
        return content

    def _lock_of(self, name: str) -> asyncio.Lock:
        locks = self._skill_locks.setdefault(asyncio.get_running_loop(), {})
        return locks.setdefault(name, asyncio.Lock())

    def execute_skill_script(
        self,
        skill_name: str,
        script_name: str,
        arguments: dict[str, Any],
        timeout: int | None = None,
        *,
        sandbox: bool | None = None,
    ) -> ScriptExecutionResult:
        """Runs a script of a skill with the arguments as JSON on its standard input; their names in lower case.

        Args:
            script_name: The file's name without its extension.
            timeout: Seconds that it may take, instead of the manager's.
            sandbox: Whether it runs in the sandbox, instead of the manager's; not in skillkit.

        Raises:
            SkillsUseError: The skills were not discovered yet.
            SkillNotFoundError: There is no skill of that name.
            ScriptNotFoundError: It has no script of that name.
            ScriptError: The script cannot be run; see `ScriptExecutor.execute`.
        """
        from .scripts import ScriptExecutor

        if self._init_mode == InitMode.UNINITIALIZED:
            raise SkillsUseError(
                "Manager not initialized. Call discover() or adiscover() before executing scripts."
            )
        skill = self.load_skill(skill_name)
        script = next((it for it in skill.scripts if it.name == script_name), None)
        if script is None:
            available = ", ".join(it.name for it in skill.scripts) or "none"
            raise ScriptNotFoundError(
                f"Script '{script_name}' not found in skill '{skill_name}'. Available scripts: {available}",
                script_name=script_name,
                skill_name=skill_name,
            )
        executor = ScriptExecutor(
            timeout=self.default_script_timeout if timeout is None else timeout,
            sandbox=self.sandbox if sandbox is None else sandbox,
        )
        return executor.execute(
            script_path=script.path,
            arguments={key.lower(): value for key, value in arguments.items()},
            skill_base_dir=skill.base_directory,
            skill_metadata=skill.metadata,
        )


def _stamp(path: Path) -> tuple[int, int, int]:
    """Returns what changes when a file does: a content made from another one is stale."""
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        raise ContentLoadError(
            f"Skill file not found: {path}. File may have been deleted after discovery."
        ) from error
    except OSError as error:
        raise ContentLoadError(f"Permission denied reading skill: {path}") from error
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _load(path: Path, arguments: str | None) -> str:
    return process_skill_content(read_content(path), path.parent, arguments or "")
