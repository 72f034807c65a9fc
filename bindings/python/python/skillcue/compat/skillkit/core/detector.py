"""Finding scripts, and their descriptions in their first comments, by skillkit's rules."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

from .script_models import ScriptMetadata

logger = logging.getLogger("skillkit.core.scripts")

INTERPRETER_MAP: dict[str, str] = {
    ".py": "python3",
    ".sh": "bash",
    ".js": "node",
    ".rb": "ruby",
    ".pl": "perl",
    ".bat": "cmd",
    ".cmd": "cmd",
    ".ps1": "powershell",
}

_LANGUAGES = {
    ".py": "python",
    ".sh": "shell",
    ".js": "javascript",
    ".rb": "ruby",
    ".pl": "perl",
    ".bat": "batch",
    ".cmd": "batch",
    ".ps1": "powershell",
}

_SKIPPED_DIRECTORIES = frozenset({"__pycache__", "node_modules", ".venv", "venv"})

# Bytes of a script that are read for its description.
_MAX_HEAD = 16 * 1024


def _get_script_type(file_path: Path) -> str:
    return _LANGUAGES.get(file_path.suffix.lower(), "unknown")


class ScriptDescriptionExtractor:
    """Reads the description of a script: its docstring, or its first comment."""

    def __init__(self, max_chars: int = 500) -> None:
        self.max_chars = max_chars

    def extract(self, script_path: Path, max_lines: int = 50) -> str:
        """Returns the description, cut to `max_chars`; an empty string, if there is none or the file is unreadable."""
        try:
            with open(script_path, "rb", buffering=0) as file:
                head = file.read(_MAX_HEAD)
        except OSError:
            return ""
        lines = head.decode("utf-8", "replace").splitlines()[:max_lines]
        language = _get_script_type(script_path)
        if language == "python":
            text = self._extract_python_docstring(lines)
        elif language in ("shell", "ruby", "perl"):
            text = self._extract_hash_comments(lines)
        elif language == "javascript":
            text = self._extract_js_comments(lines)
        else:
            text = ""
        return text[: self.max_chars]

    def _extract_python_docstring(self, lines: list[str]) -> str:
        stripped = [line.strip() for line in lines]
        start = next((at for at, line in enumerate(stripped) if line and not line.startswith("#!")), None)
        if start is None:
            return ""
        first = stripped[start]
        quote = next((it for it in ('"""', "'''") if first.startswith(it)), None)
        if quote is None:
            return self._extract_hash_comments(lines)
        if first.count(quote) >= 2:
            return first.strip(quote).strip()
        words = [first[len(quote) :]]
        for line in stripped[start + 1 :]:
            before, end, _ = line.partition(quote)
            words.append(before.strip())
            if end:
                break
        return " ".join(words).strip()

    def _extract_hash_comments(self, lines: list[str]) -> str:
        words: list[str] = []
        started = False
        for line in map(str.strip, lines):
            if line.startswith("#!"):
                continue
            if line.startswith("#"):
                started = True
                if comment := line.lstrip("#").strip():
                    words.append(comment)
            elif line and started:
                break
        return " ".join(words)

    def _extract_js_comments(self, lines: list[str]) -> str:
        words: list[str] = []
        inside = False
        for line in map(str.strip, lines):
            if not inside and "/*" in line:
                line = line.partition("/*")[2]
                inside = True
            if inside:
                text, end, _ = line.partition("*/")
                words.append(text.strip(" *"))
                inside = not end
            elif line.startswith("//"):
                words.append(line.lstrip("/").strip())
            elif line:
                break
        return " ".join(word for word in words if word)


class ScriptDetector:
    """Finds the scripts of a skill: below `scripts/`, and those directly in its directory. Links are left out."""

    def __init__(self, max_depth: int = 5, max_lines_for_description: int = 50) -> None:
        self.max_depth = max_depth
        self.max_lines_for_description = max_lines_for_description
        self.extractor = ScriptDescriptionExtractor()

    def detect_scripts(self, skill_base_dir: Path) -> list[ScriptMetadata]:
        """Returns the scripts, sorted by path, those below `scripts/` first."""
        began = time.perf_counter()
        scripts: list[ScriptMetadata] = []
        below = skill_base_dir / "scripts"
        if below.is_dir():
            scripts.extend(self._scan_directories(below, skill_base_dir, depth=0))
        scripts.extend(self._scan_root_directory(skill_base_dir))
        took = (time.perf_counter() - began) * 1000
        logger.info(f"Detected {len(scripts)} scripts in skill (took {took:.1f}ms)")
        return scripts

    def _scan_directories(self, directory: Path, skill_base_dir: Path, depth: int) -> list[ScriptMetadata]:
        if depth >= self.max_depth:
            return []
        scripts: list[ScriptMetadata] = []
        try:
            entries = _sorted_entries(directory)
        except OSError as error:
            logger.warning(f"Failed to scan directory {directory}: {error}")
            return []
        for entry in entries:
            if entry.name in _SKIPPED_DIRECTORIES:
                continue
            if entry.is_dir(follow_symlinks=False):
                scripts.extend(self._scan_directories(Path(entry.path), skill_base_dir, depth + 1))
            else:
                scripts.extend(self._scripts_of(entry, skill_base_dir))
        return scripts

    def _scan_root_directory(self, skill_base_dir: Path) -> list[ScriptMetadata]:
        try:
            entries = _sorted_entries(skill_base_dir)
        except OSError as error:
            logger.warning(f"Failed to scan root directory {skill_base_dir}: {error}")
            return []
        return [script for entry in entries for script in self._scripts_of(entry, skill_base_dir)]

    def _scripts_of(self, entry: os.DirEntry[str], skill_base_dir: Path) -> list[ScriptMetadata]:
        if not entry.is_file(follow_symlinks=False):
            return []
        path = Path(entry.path)
        if path.suffix.lower() not in INTERPRETER_MAP:
            return []
        metadata = self._extract_metadata(path, skill_base_dir)
        return [metadata] if metadata else []

    def _is_executable_script(self, file_path: Path) -> bool:
        regular = file_path.is_file() and not file_path.is_symlink()
        return regular and file_path.suffix.lower() in INTERPRETER_MAP

    def _extract_metadata(self, script_path: Path, skill_base_dir: Path) -> ScriptMetadata | None:
        try:
            return ScriptMetadata(
                name=script_path.stem,
                path=script_path.relative_to(skill_base_dir),
                script_type=_get_script_type(script_path),
                description=self.extractor.extract(script_path, max_lines=self.max_lines_for_description),
            )
        except (ValueError, OSError) as error:
            logger.warning(f"Failed to extract metadata from {script_path}: {error}")
            return None


def _sorted_entries(directory: Path) -> list[os.DirEntry[str]]:
    """Returns what is in a directory, without hidden entries, in an order that does not depend on the file system."""
    with os.scandir(directory) as found:
        return sorted((it for it in found if not it.name.startswith(".")), key=lambda it: it.name)
