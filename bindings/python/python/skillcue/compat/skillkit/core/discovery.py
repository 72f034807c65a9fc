"""Discovery of skill files and plugins."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from .. import _engine
from .exceptions import ManifestNotFoundError, ManifestParseError, ManifestValidationError
from .models import PluginManifest, SkillSource, SourceType
from .parser import parse_plugin_manifest

logger = logging.getLogger("skillkit.core.discovery")

# Levels below a directory in which skills are looked for.
_MAX_DEPTH = 5


class SkillDiscovery:
    """Finds skill files, sorted by path, up to five levels below a directory, skills in skills included."""

    SKILL_FILE_NAME = "SKILL.md"

    def discover_skills(self, source: SkillSource) -> list[Path]:
        """Returns the skill files of a source: of a plugin, those in the directories that its manifest names."""
        return [path for path, _ in self.discover_fronts(source)]

    def discover_fronts(self, source: SkillSource) -> list[tuple[Path, _engine.FrontMatter]]:
        """Returns the skill files of a source with their front matter, from one reading; not in skillkit."""
        if source.source_type != SourceType.PLUGIN or not source.plugin_manifest:
            return self._scan_directory(source.directory)
        found: list[tuple[Path, _engine.FrontMatter]] = []
        for relative in source.plugin_manifest.skills:
            directory = source.directory / relative
            below = self._scan_directory(directory)
            found.extend(below)
            logger.debug(f"Found {len(below)} skill(s) in plugin directory {directory}")
        return found

    def scan_directory(self, skills_dir: Path) -> list[Path]:
        """Returns the skill files below a directory; none, if there is no such directory."""
        return [path for path, _ in self._scan_directory(skills_dir)]

    def find_skill_files(self, skills_dir: Path, max_depth: int = _MAX_DEPTH) -> list[Path]:
        """Returns the skill files below a directory. 0 means the directory itself; more than 5 levels are never read."""
        return [path for path, _ in self._find(skills_dir, max_depth)]

    def _scan_directory(self, skills_dir: Path) -> list[tuple[Path, _engine.FrontMatter]]:
        if not skills_dir.exists():
            logger.debug(f"Skills directory does not exist: {skills_dir}")
            return []
        if not skills_dir.is_dir():
            logger.warning(f"Skills path is not a directory: {skills_dir}")
            return []
        return self._find(skills_dir, _MAX_DEPTH)

    def _find(self, skills_dir: Path, max_depth: int) -> list[tuple[Path, _engine.FrontMatter]]:
        try:
            fronts, findings = _engine.scan(skills_dir)
        except OSError as error:
            logger.warning(f"Error scanning directory {skills_dir}: {error}")
            fronts, findings = [], []
        for finding in findings:
            self._log_finding(finding, max_depth)
        found: list[tuple[Path, _engine.FrontMatter]] = []
        root = skills_dir.absolute()
        for front in fronts:
            path = Path(front.path)
            if max_depth < _MAX_DEPTH and len(path.relative_to(root).parts) - 1 > max_depth:
                continue
            found.append((path, front))
        if logger.isEnabledFor(logging.DEBUG):
            for path, _ in found:
                depth = len(path.relative_to(root).parts) - 1
                logger.debug(f"Found skill file: {path} (depth={depth})")
        logger.info(f"Discovery found {len(found)} skill(s) in {skills_dir}")
        return found

    def _log_finding(self, finding: _engine.Finding, max_depth: int) -> None:
        if finding.code == "link_cycle":
            logger.warning(f"Circular symlink detected at {finding.path}. Skipping.")
        elif finding.code == "search_limit":
            logger.warning(
                f"Depth limit ({max_depth}) exceeded at {finding.path}. "
                f"Skills deeper than {max_depth} levels will not be discovered. "
                f"Consider reorganizing your skill directory structure."
            )
        elif finding.code == "dangling_link":
            logger.warning(f"Cannot resolve directory {finding.path}: {finding.message}")
        elif finding.code == "unreadable":
            logger.warning(f"Permission denied accessing: {finding.path}")

    async def _read_skill_file_async(self, path: Path) -> str:
        return await asyncio.to_thread(path.read_text, encoding="utf-8")

    async def adiscover_skills(self, source: SkillSource) -> list[Path]:
        """Like `discover_skills`, without blocking the event loop."""
        return await asyncio.to_thread(self.discover_skills, source)

    async def adiscover_fronts(self, source: SkillSource) -> list[tuple[Path, _engine.FrontMatter]]:
        """Like `discover_fronts`, without blocking the event loop."""
        return await asyncio.to_thread(self.discover_fronts, source)

    async def ascan_directory(self, skills_dir: Path) -> list[Path]:
        """Like `scan_directory`, without blocking the event loop."""
        return await asyncio.to_thread(self.scan_directory, skills_dir)

    async def afind_skill_files(self, skills_dir: Path, max_depth: int = _MAX_DEPTH) -> list[Path]:
        """Like `find_skill_files`, without blocking the event loop."""
        return await asyncio.to_thread(self.find_skill_files, skills_dir, max_depth)


def discover_plugin_manifest(plugin_dir: Path) -> PluginManifest | None:
    """Returns the manifest of a plugin; nothing, with a record in the log, if it has none or a wrong one."""
    manifest_path = plugin_dir / ".claude-plugin" / "plugin.json"
    if not manifest_path.exists():
        logger.debug(f"No plugin manifest found at {manifest_path}")
        return None
    skipped = f"Plugin at {plugin_dir} will be skipped."
    try:
        manifest = parse_plugin_manifest(manifest_path)
    except ManifestNotFoundError as error:
        logger.warning(f"Plugin manifest not found: {error}")
    except ManifestParseError as error:
        logger.warning(f"Failed to parse plugin manifest at {manifest_path}: {error}\n{skipped}")
    except ManifestValidationError as error:
        logger.warning(f"Plugin manifest validation failed at {manifest_path}: {error}\n{skipped}")
    except Exception as error:
        logger.error(
            f"Unexpected error discovering plugin manifest at {manifest_path}: {error}\n{skipped}", exc_info=True
        )
    else:
        logger.info(
            f"Discovered plugin '{manifest.name}' v{manifest.version} "
            f"with {len(manifest.skills)} skill directory(ies) at {plugin_dir}"
        )
        return manifest
    return None
