"""Running scripts of skills, in Skillcue's sandbox unless told otherwise."""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import shutil
import signal as signals
import stat
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _engine
from .detector import INTERPRETER_MAP, ScriptDescriptionExtractor, ScriptDetector
from .exceptions import (
    ArgumentSerializationError,
    ArgumentSizeError,
    InterpreterNotFoundError,
    PathSecurityError,
    ScriptError,
    ScriptPermissionError,
)
from .script_models import ScriptExecutionResult, ScriptMetadata, validate_tool_id
from .version import __version__

if TYPE_CHECKING:
    from .models import SkillMetadata

__all__ = [
    "INTERPRETER_MAP",
    "ScriptArguments",
    "ScriptDescriptionExtractor",
    "ScriptDetector",
    "ScriptEnvironment",
    "ScriptExecutionResult",
    "ScriptExecutor",
    "ScriptList",
    "ScriptMetadata",
    "validate_tool_id",
]

logger = logging.getLogger("skillkit.core.scripts")

ScriptArguments = dict[str, Any]
ScriptEnvironment = dict[str, str]
ScriptList = list[ScriptMetadata]

_MAX_JSON = 10_000_000
_MAX_LOGGED_ARGUMENTS = 256
# Seconds that a script which was killed has to close its pipes.
_MAX_GOODBYE = 1.0


class ScriptExecutor:
    """Runs scripts: with a timeout, a limit on output, and, unless `sandbox` is False, in Skillcue's sandbox.

    In the sandbox a script reads the system's programs and the skill's directory, writes to a private temporary
    directory, has no network, and sees the locale and the `SKILL_…` variables only. Without, it is what skillkit ran:
    a process with all of the user's rights and variables.
    """

    def __init__(
        self,
        timeout: float = 30,
        max_output_size: int = 10_000_000,
        use_cache: bool = False,
        *,
        sandbox: bool = True,
    ) -> None:
        self.timeout = timeout
        self.max_output_size = max_output_size
        self.use_cache = use_cache
        self.sandbox = sandbox

    def execute(
        self,
        script_path: Path,
        arguments: ScriptArguments,
        skill_base_dir: Path,
        skill_metadata: SkillMetadata,
    ) -> ScriptExecutionResult:
        """Runs a script with the arguments as JSON on its standard input. A script that fails is no error.

        Raises:
            PathSecurityError: The path leads out of the skill's directory.
            ScriptPermissionError: The file has the setuid or the setgid bit.
            InterpreterNotFoundError: Nothing on the PATH runs it.
            ArgumentSerializationError: The arguments cannot be written as JSON.
            ArgumentSizeError: They are larger than 10,000,000 bytes.
            ScriptError: It could not be started, or the machine offers no sandbox.
        """
        began = time.perf_counter()
        path = self._validate_script_path(script_path, skill_base_dir)
        self._check_permissions(path)
        interpreter = self._resolve_interpreter(path)
        data = self._serialize_arguments(arguments)
        if self.sandbox:
            outcome = self._run_in_sandbox(path, data, skill_base_dir, skill_metadata)
        else:
            env = self._build_environment(skill_metadata, skill_base_dir)
            outcome = self._execute_subprocess(interpreter, path, data, env, skill_base_dir)
        exit_code, stdout, stderr, signal_name, signal_number = outcome
        stdout, stderr, stdout_truncated, stderr_truncated = self._handle_output_truncation(stdout, stderr)
        result = ScriptExecutionResult(
            stdout=stdout,
            stderr=stderr,
            exit_code=exit_code,
            execution_time_ms=(time.perf_counter() - began) * 1000,
            script_path=path,
            signal=signal_name,
            signal_number=signal_number,
            stdout_truncated=stdout_truncated,
            stderr_truncated=stderr_truncated,
        )
        self._log(result, arguments, skill_base_dir, skill_metadata)
        return result

    def _validate_script_path(self, script_path: Path, skill_base_dir: Path) -> Path:
        """Returns the script's real path, which is below the skill's directory."""
        base = Path(os.path.realpath(skill_base_dir))
        asked = base / script_path

        def refuse(what: str, message: str) -> PathSecurityError:
            logger.error(f"Security violation: {what} - path={asked}, resolved={resolved}, skill_base_dir={base}")
            return PathSecurityError(message, requested_path=str(script_path), base_directory=str(base))

        resolved: Path | None = None
        try:
            resolved = Path(os.path.realpath(asked))
        except (OSError, RuntimeError, ValueError) as error:
            raise refuse(
                "Invalid script path or symlink loop detected", f"Invalid script path or symlink loop: {asked}"
            ) from error
        if resolved == base or not resolved.is_relative_to(base):
            raise refuse(
                "Path traversal attempt detected", f"Script path escapes skill directory: {asked} -> {resolved}"
            )
        if not resolved.is_file():
            raise FileNotFoundError(f"Script not found: {resolved}")
        return resolved

    def _check_permissions(self, script_path: Path) -> None:
        if os.name == "nt":
            return
        mode = script_path.stat().st_mode
        setuid, setgid = bool(mode & stat.S_ISUID), bool(mode & stat.S_ISGID)
        if not setuid and not setgid:
            return
        logger.error(
            f"Security violation: Script has dangerous permissions - "
            f"path={script_path}, mode={oct(mode)}, setuid={setuid}, setgid={setgid}"
        )
        raise ScriptPermissionError(
            f"Script has dangerous permissions: {script_path}\n"
            f"  Mode: {oct(mode)}\n"
            f"  Setuid: {setuid}\n"
            f"  Setgid: {setgid}\n"
            f"  Recommendation: Remove dangerous bits with 'chmod u-s,g-s {script_path}'",
            script_path=str(script_path),
            permission_mode=oct(mode),
        )

    def _resolve_interpreter(self, script_path: Path) -> str:
        extension = script_path.suffix.lower()
        interpreter = INTERPRETER_MAP.get(extension)
        if not interpreter:
            raise InterpreterNotFoundError(
                f"No interpreter mapping for extension: {extension}", script_path=str(script_path)
            )
        if not shutil.which(interpreter):
            raise InterpreterNotFoundError(
                f"Interpreter '{interpreter}' not found in PATH for {script_path.name}",
                interpreter=interpreter,
                script_path=str(script_path),
            )
        return interpreter

    def _serialize_arguments(self, arguments: ScriptArguments) -> str:
        try:
            text = json.dumps(arguments, ensure_ascii=False)
            size = len(text.encode("utf-8"))
        except (TypeError, ValueError, RecursionError) as error:
            raise ArgumentSerializationError(
                f"Cannot serialize arguments to JSON: {error}",
                serialization_error=error,
            ) from error
        if size > _MAX_JSON:
            raise ArgumentSizeError(
                f"Arguments too large: {size} bytes (max 10MB)", size_bytes=size, max_bytes=_MAX_JSON
            )
        return text

    def _skill_variables(self, skill_metadata: SkillMetadata, skill_base_dir: Path) -> ScriptEnvironment:
        return {
            "SKILL_NAME": skill_metadata.name,
            "SKILL_BASE_DIR": str(skill_base_dir),
            "SKILL_VERSION": skill_metadata.version or "0.0.0",
            "SKILLKIT_VERSION": __version__,
        }

    def _build_environment(self, skill_metadata: SkillMetadata, skill_base_dir: Path) -> ScriptEnvironment:
        return {**os.environ, **self._skill_variables(skill_metadata, skill_base_dir)}

    def _run_in_sandbox(
        self, script_path: Path, data: str, skill_base_dir: Path, skill_metadata: SkillMetadata
    ) -> tuple[int, str, str, str | None, int | None]:
        base = Path(os.path.realpath(skill_base_dir))
        try:
            run = _engine.run_script(
                base,
                script_path.relative_to(base).as_posix(),
                name=skill_metadata.name,
                variables=self._skill_variables(skill_metadata, base),
                stdin=data.encode("utf-8"),
                timeout=self.timeout,
                # Of both outputs together; each is cut below. A script that writes more than that is ended.
                max_output=2 * self.max_output_size + 1,
            )
        except _engine.LeadsOut as error:
            logger.error(f"Security violation: {error} - path={script_path}, skill_base_dir={base}")
            raise PathSecurityError(str(error), requested_path=str(script_path), base_directory=str(base)) from error
        except _engine.CannotRun as error:
            if error.code == "interpreter_not_found":
                raise InterpreterNotFoundError(str(error), script_path=str(script_path)) from error
            raise ScriptError(f"Script cannot be run: {error}") from error
        stdout = run.stdout.decode("utf-8", "replace")
        stderr = run.stderr.decode("utf-8", "replace")
        if run.timed_out:
            self._log_timeout(script_path)
            return 124, stdout, f"{stderr}\nTimeout", None, None
        if run.stopped:
            stderr = f"{stderr}\n{run.stopped}" if stderr else run.stopped
        if run.signal:
            return -run.signal, stdout, stderr, _signal_name(run.signal), run.signal
        return run.exit_code or 0, stdout, stderr, None, None

    def _execute_subprocess(
        self,
        interpreter: str,
        script_path: Path,
        arguments_json: str,
        env: ScriptEnvironment,
        skill_base_dir: Path,
    ) -> tuple[int, str, str, str | None, int | None]:
        """Runs the script without a sandbox, in a process group of its own, which ends with its time."""
        with subprocess.Popen(
            [interpreter, str(script_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=str(skill_base_dir),
            env=env,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(arguments_json.encode("utf-8"), timeout=self.timeout)
            except subprocess.TimeoutExpired:
                self._log_timeout(script_path)
                out, err = _end(process)
                return 124, out.decode("utf-8", "replace"), f"{err.decode('utf-8', 'replace')}\nTimeout", None, None
            except BaseException:
                _end(process)
                raise
        stdout, stderr, code = out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), process.returncode
        if code < 0:
            return code, stdout, stderr, _signal_name(-code), -code
        return code, stdout, stderr, None, None

    def _log_timeout(self, script_path: Path) -> None:
        logger.warning(
            f"Script execution timed out after {self.timeout}s - "
            f"script={script_path.name}, timeout={self.timeout}s"
        )

    def _handle_output_truncation(self, stdout: str, stderr: str) -> tuple[str, str, bool, bool]:
        stdout, stdout_truncated = self._cut(stdout, "OUTPUT")
        stderr, stderr_truncated = self._cut(stderr, "STDERR")
        return stdout, stderr, stdout_truncated, stderr_truncated

    def _cut(self, text: str, what: str) -> tuple[str, bool]:
        data = text.encode("utf-8", "surrogatepass")
        if len(data) <= self.max_output_size:
            return text, False
        kept = data[: self.max_output_size].decode("utf-8", "ignore")
        return f"{kept}\n[... {what} TRUNCATED: exceeded 10MB limit ...]", True

    def _log(
        self,
        result: ScriptExecutionResult,
        arguments: ScriptArguments,
        skill_base_dir: Path,
        skill_metadata: SkillMetadata,
    ) -> None:
        path = result.script_path
        shown = str(arguments)
        if len(shown) > _MAX_LOGGED_ARGUMENTS:
            shown = f"{shown[:_MAX_LOGGED_ARGUMENTS]}..."
        timestamp = datetime.datetime.now(datetime.timezone.utc).isoformat()
        logger.info(
            f"AUDIT: Script execution - "
            f"timestamp={timestamp}, "
            f"skill={skill_metadata.name}, "
            f"script={path.relative_to(os.path.realpath(skill_base_dir))}, "
            f"args={shown}, "
            f"exit_code={result.exit_code}, "
            f"execution_time_ms={result.execution_time_ms:.1f}, "
            f"signal={result.signal}, "
            f"stdout_truncated={result.stdout_truncated}, "
            f"stderr_truncated={result.stderr_truncated}"
        )
        how = f"{path.name} (exit_code={result.exit_code}, time={result.execution_time_ms:.1f}ms)"
        if result.exit_code == 0:
            logger.info(f"Script executed successfully: {how}")
        else:
            logger.error(f"Script execution failed: {how}")
        if result.stdout_truncated:
            logger.warning(f"Script stdout truncated: {path.name}")
        if result.stderr_truncated:
            logger.warning(f"Script stderr truncated: {path.name}")


def _end(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Kills a script and what it has started, and returns its output so far. `subprocess.run` kills the script alone, and
    waits until the last of its children has closed the pipes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signals.SIGKILL)
    try:
        return process.communicate(timeout=_MAX_GOODBYE)
    except subprocess.TimeoutExpired as late:
        # A process that has left the group holds the pipes; it is not waited for.
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        return late.stdout or b"", late.stderr or b""


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"UNKNOWN_SIGNAL_{number}"
