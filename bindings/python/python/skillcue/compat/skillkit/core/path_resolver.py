"""Paths below a skill's directory, and reading there."""

from __future__ import annotations

import logging
from pathlib import Path

from .. import _engine
from .exceptions import PathSecurityError

logger = logging.getLogger("skillkit.core.path_resolver")


class FilePathResolver:
    """Checks that paths stay below a skill's directory."""

    @staticmethod
    def resolve_path(base_directory: Path, relative_path: str) -> Path:
        """Returns the absolute path, with links followed.

        The path is checked now and opened later: a link that is swapped in between leads out. `read` checks and opens
        in one step.

        Raises:
            PathSecurityError: The path leads out of `base_directory`, or cannot be resolved.
        """
        base = base_directory.resolve()
        try:
            resolved = (base / relative_path).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            logger.error(
                "Path resolution failed",
                extra={
                    "base_directory": str(base),
                    "requested_path": relative_path,
                    "error": str(error),
                    "error_type": type(error).__name__,
                },
            )
            raise PathSecurityError(
                f"Failed to resolve path '{relative_path}' from base directory {base}: {error}",
                requested_path=relative_path,
                base_directory=str(base),
            ) from error

        if not resolved.is_relative_to(base):
            logger.error(
                "SECURITY VIOLATION: Path traversal attempt detected",
                extra={
                    "base_directory": str(base),
                    "requested_path": relative_path,
                    "resolved_path": str(resolved),
                    "violation_type": "path_traversal",
                },
            )
            raise PathSecurityError(
                f"Path traversal attempt detected: '{relative_path}' resolves outside skill directory {base}",
                requested_path=relative_path,
                base_directory=str(base),
            )

        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(
                "Path resolved successfully",
                extra={
                    "base_directory": str(base),
                    "requested_path": relative_path,
                    "resolved_path": str(resolved),
                },
            )
        return resolved

    @staticmethod
    def read(base_directory: Path, relative_path: str) -> bytes:
        """Returns the bytes of a file below a skill's directory; not in skillkit.

        Checking and opening are one step: whatever happens to the directory meanwhile, nothing outside of it is read.

        Raises:
            PathSecurityError: The path leads out of `base_directory`, or names a device or a pipe.
            OSError: The file is not there, or cannot be read.
        """
        try:
            return _engine.read_below(base_directory, relative_path)
        except _engine.LeadsOut as error:
            base = str(base_directory)
            logger.error(
                "SECURITY VIOLATION: Path traversal attempt detected",
                extra={
                    "base_directory": base,
                    "requested_path": relative_path,
                    "resolved_path": None,
                    "violation_type": "path_traversal",
                },
            )
            raise PathSecurityError(str(error), requested_path=relative_path, base_directory=base) from error
