"""The sources of a manager, from its arguments."""

from __future__ import annotations

import logging
from pathlib import Path

from .discovery import discover_plugin_manifest
from .exceptions import ConfigurationError
from .models import SkillSource, SourceType

# Where skillkit logged it.
logger = logging.getLogger("skillkit.core.manager")

DEFAULT_PROJECT_DIR = Path("./skills")
DEFAULT_ANTHROPIC_DIR = Path("./.claude/skills")

PRIORITY_PROJECT = 100
PRIORITY_ANTHROPIC = 50
PRIORITY_PLUGIN = 10
PRIORITY_CUSTOM_BASE = 5


def build_sources(
    project_skill_dir: Path | str | None,
    anthropic_config_dir: Path | str | None,
    plugin_dirs: list[Path | str] | None,
    additional_search_paths: list[Path | str] | None,
) -> list[SkillSource]:
    """Returns the sources, the highest precedence first.

    Raises:
        ConfigurationError: A directory that was named does not exist.
    """
    sources: list[SkillSource] = []
    for parameter, given, default, kind, priority in (
        ("project_skill_dir", project_skill_dir, DEFAULT_PROJECT_DIR, SourceType.PROJECT, PRIORITY_PROJECT),
        ("anthropic_config_dir", anthropic_config_dir, DEFAULT_ANTHROPIC_DIR, SourceType.ANTHROPIC, PRIORITY_ANTHROPIC),
    ):
        if given == "":
            continue
        if given is None:
            if default.is_dir():
                sources.append(SkillSource(kind, default.resolve(), priority))
            continue
        directory = Path(given)
        what = f"Explicitly configured directory does not exist: {parameter}='{directory}'"
        sources.append(SkillSource(kind, _existing(directory, what, parameter), priority))
    sources.extend(_plugins(plugin_dirs or []))
    for at, given in enumerate(additional_search_paths or []):
        directory = Path(given)
        what = f"Explicitly configured custom directory does not exist: '{directory}'"
        # Sorting keeps the order of equals: from the fifth path on all have the lowest priority.
        priority = max(PRIORITY_CUSTOM_BASE - at, 1)
        sources.append(SkillSource(SourceType.CUSTOM, _existing(directory, what, "additional_search_paths"), priority))
    sources.sort(key=lambda source: source.priority, reverse=True)
    if not sources:
        logger.info("No skill directories found; initialized with empty skill list")
    logger.debug(
        f"Built {len(sources)} skill sources with priorities: "
        f"{[(source.source_type.value, source.priority) for source in sources]}"
    )
    return sources


def _existing(directory: Path, message: str, parameter: str) -> Path:
    if not directory.is_dir():
        raise ConfigurationError(message, parameter_name=parameter, invalid_path=str(directory))
    return directory.resolve()


def _plugins(plugin_dirs: list[Path | str]) -> list[SkillSource]:
    """Returns a source a plugin. Of two with one name, the second is called `name-2`."""
    sources: list[SkillSource] = []
    seen: dict[str, int] = {}
    for given in plugin_dirs:
        directory = Path(given)
        what = f"Explicitly configured plugin directory does not exist: '{directory}'"
        root = _existing(directory, what, "plugin_dirs")
        manifest = discover_plugin_manifest(root)
        name = manifest.name if manifest else directory.name
        if manifest is None:
            logger.warning(
                f"No valid plugin manifest found at {directory}. "
                f"Using directory name '{name}' as plugin identifier."
            )
        count = seen.get(name, 0) + 1
        seen[name] = count
        if count > 1:
            other = f"{name}-{count}"
            logger.warning(
                f"Duplicate plugin name '{name}' detected. "
                f"Disambiguating as '{other}' for plugin at {directory}. "
                f"Consider renaming the plugin to avoid conflicts."
            )
            name = other
        sources.append(SkillSource(SourceType.PLUGIN, root, PRIORITY_PLUGIN, plugin_name=name, plugin_manifest=manifest))
    return sources
