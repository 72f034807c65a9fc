"""Skill files and plugins' manifests."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from pathlib import Path
from typing import Any

from .. import _engine
from .exceptions import (
    ContentLoadError,
    InvalidFrontmatterError,
    InvalidYAMLError,
    ManifestNotFoundError,
    ManifestParseError,
    ManifestValidationError,
    MissingRequiredFieldError,
    SkillsUseError,
)
from .models import PluginManifest, SkillMetadata, SkillSource

logger = logging.getLogger("skillkit.core.parser")

MAX_MANIFEST_SIZE = 1_000_000

# What Skillcue repairs is an error here, as it is for every other reader of YAML.
_BROKEN_YAML = frozenset({"yaml_syntax", "yaml_limit", "yaml_repaired"})
_NO_DELIMITERS = frozenset({"no_front_matter", "unclosed_front_matter"})

_KNOWN_FIELDS = frozenset({"name", "description", "allowed-tools", "version"})


class SkillParser:
    """Reads the front matter of skill files."""

    # For programs that use it; parsing does not.
    FRONTMATTER_PATTERN = re.compile(r"^---[\r\n]+(.*?)[\r\n]+---", re.DOTALL | re.MULTILINE)

    TYPO_MAP = {
        "allowed_tools": "allowed-tools",
        "allowedTools": "allowed-tools",
        "allowed_tool": "allowed-tools",
        "tools": "allowed-tools",
    }

    def parse_skill_file(self, skill_path: Path) -> SkillMetadata:
        """Returns the metadata of a skill file.

        Raises:
            ContentLoadError: The file cannot be read.
            InvalidFrontmatterError: It has no front matter, or one that is no mapping.
            InvalidYAMLError: The front matter is not valid YAML.
            MissingRequiredFieldError: `name` or `description` is missing, empty, or no string.
        """
        try:
            front = _engine.parse(skill_path)
        except FileNotFoundError as error:
            raise ContentLoadError(f"Skill file not found: {skill_path}") from error
        except PermissionError as error:
            raise ContentLoadError(f"Permission denied: {skill_path}") from error
        except OSError as error:
            raise ContentLoadError(f"Failed to read skill file: {skill_path}: {error}") from error
        return self.metadata_of(front, skill_path, None)

    def metadata_of(self, front: _engine.FrontMatter, skill_path: Path, source: SkillSource | None) -> SkillMetadata:
        """Returns the metadata in front matter that has been read; not in skillkit. Raises like `parse_skill_file`."""
        fields = front.fields
        if fields is None or front.findings:
            self._refuse_broken(front, skill_path)
        if fields is None:
            raise InvalidFrontmatterError(f"Skill file missing YAML frontmatter delimiters (---): {skill_path}")
        self._check_for_typos(fields, skill_path)
        name = self._extract_required_field(fields, "name", skill_path)
        description = self._extract_required_field(fields, "description", skill_path)
        allowed_tools = self._extract_allowed_tools(fields, skill_path)
        version = self._extract_version(fields, skill_path)
        model = fields.get("model")
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(f"Successfully parsed skill '{name}' from {skill_path.parent.name}")

        # Not by its constructor, which would ask the file system whether the file that was just read exists.
        metadata = object.__new__(SkillMetadata)
        put = object.__setattr__
        put(metadata, "name", name)
        put(metadata, "description", description)
        put(metadata, "skill_path", skill_path)
        put(metadata, "allowed_tools", allowed_tools)
        put(metadata, "version", version)
        put(metadata, "model", model if isinstance(model, str) else None)
        put(metadata, "disable_model_invocation", fields.get("disable-model-invocation") is True)
        put(metadata, "source", source.source_type if source else None)
        put(metadata, "plugin_name", source.plugin_name if source else None)
        return metadata

    def _refuse_broken(self, front: _engine.FrontMatter, skill_path: Path) -> None:
        """Raises the error of the first finding that skillkit would not have read past."""
        for finding in front.findings:
            error: SkillsUseError
            if finding.code in _BROKEN_YAML:
                place = ""
                if finding.line is not None:
                    place = f" at line {finding.line}, column {finding.column}"
                raise InvalidYAMLError(
                    f"Invalid YAML syntax in {skill_path}{place}: {finding.message}",
                    line=finding.line,
                    column=finding.column,
                )
            if finding.code in _NO_DELIMITERS:
                error = InvalidFrontmatterError(f"Skill file missing YAML frontmatter delimiters (---): {skill_path}")
            elif finding.code == "not_a_mapping":
                error = InvalidFrontmatterError(
                    f"Frontmatter must be a YAML dictionary, got {front.kind}: {skill_path}"
                )
            elif finding.code == "not_utf8":
                error = ContentLoadError(f"Skill file contains invalid UTF-8: {skill_path}")
            elif finding.code == "unreadable":
                error = ContentLoadError(f"Failed to read skill file: {skill_path}: {finding.message}")
            elif front.fields is None:
                error = ContentLoadError(f"{finding.message}: {skill_path}")
            else:
                continue
            raise error

    def _extract_required_field(self, frontmatter: dict[str, Any], field_name: str, skill_path: Path) -> str:
        if field_name not in frontmatter:
            raise MissingRequiredFieldError(
                f"Required field '{field_name}' missing in {skill_path}", field_name=field_name
            )
        value = frontmatter[field_name]
        if not isinstance(value, str):
            raise MissingRequiredFieldError(
                f"Field '{field_name}' must be a string, got {type(value).__name__} in {skill_path}",
                field_name=field_name,
            )
        value = value.strip()
        if not value:
            raise MissingRequiredFieldError(
                f"Field '{field_name}' cannot be empty in {skill_path}", field_name=field_name
            )
        return value

    def _extract_allowed_tools(self, frontmatter: dict[str, Any], skill_path: Path) -> tuple[str, ...]:
        tools = frontmatter.get("allowed-tools", ())
        if isinstance(tools, str):
            return tuple(_engine.split_tools(tools))
        if not isinstance(tools, (list, tuple)):
            logger.warning(
                f"Field 'allowed-tools' should be a list, got {type(tools).__name__} in {skill_path}. "
                f"Using empty tuple."
            )
            return ()
        for tool in tools:
            if not isinstance(tool, str):
                logger.warning(f"Ignoring non-string tool '{tool}' in allowed-tools for {skill_path}")
        return tuple(tool for tool in tools if isinstance(tool, str))

    def _extract_version(self, frontmatter: dict[str, Any], skill_path: Path) -> str | None:
        if "version" not in frontmatter:
            return None
        version = frontmatter["version"]
        if not isinstance(version, str):
            logger.warning(
                f"Field 'version' should be a string, got {type(version).__name__} in {skill_path}. Using None."
            )
            return None
        return version.strip() or None

    def _check_for_typos(self, frontmatter: dict[str, Any], skill_path: Path) -> None:
        for typo, correct in self.TYPO_MAP.items():
            if typo in frontmatter:
                logger.warning(f"Possible typo in {skill_path}: '{typo}' should be '{correct}'")
        if logger.isEnabledFor(logging.DEBUG):
            unknown = sorted(str(key) for key in frontmatter if key not in _KNOWN_FIELDS)
            if unknown:
                logger.debug(f"Unknown fields in {skill_path} (will be ignored): {', '.join(unknown)}")

    async def _read_manifest_async(self, path: Path) -> str:
        return await asyncio.to_thread(path.read_text, encoding="utf-8")


def parse_plugin_manifest(manifest_path: Path) -> PluginManifest:
    """Returns a plugin's manifest, checked.

    Raises:
        ManifestNotFoundError: There is no such file.
        ManifestParseError: It is larger than 1,000,000 bytes, cannot be read, or is not JSON.
        ManifestValidationError: A field is missing or wrong.
    """
    data = _read_manifest(manifest_path)
    if not isinstance(data, dict):
        kind = type(data).__name__
        raise ManifestValidationError(
            f"Manifest must be a JSON object, got {kind}", field_name="root", invalid_value=kind
        )
    required = ["name", "version", "description", "author"]
    missing = [name for name in required if name not in data]
    if missing:
        raise ManifestValidationError(
            f"Missing required fields: {', '.join(missing)}\nRequired: {', '.join(required)}",
            field_name=missing[0],
        )
    skills = data.get("skills", ["skills/"])
    if isinstance(skills, str):
        skills = [skills]
    elif not isinstance(skills, list):
        kind = type(skills).__name__
        raise ManifestValidationError(
            f"'skills' must be string or array, got {kind}", field_name="skills", invalid_value=kind
        )
    author = data["author"]
    if isinstance(author, str):
        author = {"name": author}
    elif not isinstance(author, dict):
        kind = type(author).__name__
        raise ManifestValidationError(
            f"'author' must be string or object, got {kind}", field_name="author", invalid_value=kind
        )
    try:
        return PluginManifest(
            manifest_version=data.get("manifest_version", "0.1"),
            name=data["name"],
            version=data["version"],
            description=data["description"],
            author=author,
            skills=skills,
            manifest_path=manifest_path,
            display_name=data.get("display_name"),
            homepage=data.get("homepage"),
            repository=data.get("repository"),
        )
    except ManifestValidationError:
        raise
    except Exception as error:
        raise ManifestParseError(
            f"Unexpected error parsing manifest: {error}",
            manifest_path=str(manifest_path),
            parse_error=error,
        ) from error


def _read_manifest(manifest_path: Path) -> Any:
    if not manifest_path.exists():
        raise ManifestNotFoundError(
            f"Plugin manifest not found: {manifest_path}\nExpected location: .claude-plugin/plugin.json"
        )
    where = str(manifest_path)
    size = manifest_path.stat().st_size
    if size > MAX_MANIFEST_SIZE:
        raise ManifestParseError(
            f"Manifest too large: {size:,} bytes (max {MAX_MANIFEST_SIZE:,})", manifest_path=where
        )
    try:
        return json.loads(manifest_path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ManifestParseError(
            f"Invalid JSON in {manifest_path.name}:\n  Line {error.lineno}, Column {error.colno}: {error.msg}",
            manifest_path=where,
            parse_error=error,
        ) from error
    except UnicodeDecodeError as error:
        raise ManifestParseError(
            f"Manifest file contains invalid UTF-8: {manifest_path}", manifest_path=where, parse_error=error
        ) from error
    except RecursionError as error:
        raise ManifestParseError(
            f"Manifest nests too deeply: {manifest_path}", manifest_path=where
        ) from error
    except OSError as error:
        raise ManifestParseError(
            f"Failed to read manifest file: {manifest_path}", manifest_path=where, parse_error=error
        ) from error
