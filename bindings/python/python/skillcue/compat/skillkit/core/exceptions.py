"""The exceptions of skillkit. `SkillsUseError` is the base of all of them."""

from __future__ import annotations


class SkillsUseError(Exception):
    """Base of every error of this package."""


class SkillParsingError(SkillsUseError):
    """A skill file cannot be parsed."""


class InvalidYAMLError(SkillParsingError):
    """The front matter is not valid YAML.

    `line` and `column` count from 1 and are those of the file (skillkit counted lines from the front matter's first).
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class MissingRequiredFieldError(SkillParsingError):
    """A required field is missing, empty, or no string."""

    def __init__(self, message: str, field_name: str | None = None) -> None:
        super().__init__(message)
        self.field_name = field_name


class InvalidFrontmatterError(SkillParsingError):
    """The file has no front matter, or one that is no mapping."""


class SkillNotFoundError(SkillsUseError):
    """No skill has that name."""


class SkillInvocationError(SkillsUseError):
    """Base of the errors of invoking a skill."""


class ArgumentProcessingError(SkillInvocationError):
    """The arguments cannot be put into the content."""


class ContentLoadError(SkillInvocationError):
    """The skill file cannot be read."""


class SkillSecurityError(SkillsUseError):
    """Base of the errors about security."""


class SuspiciousInputError(SkillSecurityError):
    """The input looks malicious. Never raised: suspicious arguments are logged."""


class SizeLimitExceededError(SkillSecurityError):
    """The arguments are larger than 1,000,000 bytes."""


class PathSecurityError(SkillSecurityError):
    """A path leads out of the skill's directory."""

    def __init__(
        self,
        message: str,
        requested_path: str | None = None,
        base_directory: str | None = None,
    ) -> None:
        super().__init__(message)
        self.requested_path = requested_path
        self.base_directory = base_directory


class ConfigurationError(SkillsUseError):
    """A directory that was named explicitly does not exist."""

    def __init__(
        self,
        message: str,
        parameter_name: str | None = None,
        invalid_path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.parameter_name = parameter_name
        self.invalid_path = invalid_path


class AsyncStateError(SkillsUseError):
    """Synchronous and asynchronous methods were mixed on one manager."""


class PluginError(SkillsUseError):
    """Base of the errors about plugins."""


class ManifestNotFoundError(PluginError):
    """There is no `.claude-plugin/plugin.json`."""


class ManifestParseError(PluginError):
    """A plugin's manifest cannot be read, or is not JSON."""

    def __init__(
        self,
        message: str,
        manifest_path: str | None = None,
        parse_error: Exception | None = None,
    ) -> None:
        super().__init__(message)
        self.manifest_path = manifest_path
        self.parse_error = parse_error


class ManifestValidationError(PluginError):
    """A field of a plugin's manifest is missing or wrong."""

    def __init__(
        self,
        message: str,
        field_name: str | None = None,
        invalid_value: str | None = None,
    ) -> None:
        super().__init__(message)
        self.field_name = field_name
        self.invalid_value = invalid_value


class ScriptError(SkillsUseError):
    """Base of the errors about scripts. Raised itself where the machine offers no sandbox."""


class InterpreterNotFoundError(ScriptError):
    """Nothing on the PATH runs the script."""

    def __init__(
        self,
        message: str,
        interpreter: str | None = None,
        script_path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.interpreter = interpreter
        self.script_path = script_path


class ScriptNotFoundError(ScriptError):
    """The skill has no script of that name."""

    def __init__(
        self,
        message: str,
        script_name: str | None = None,
        skill_name: str | None = None,
    ) -> None:
        super().__init__(message)
        self.script_name = script_name
        self.skill_name = skill_name


class ScriptPermissionError(ScriptError):
    """The script's file has the setuid or the setgid bit."""

    def __init__(
        self,
        message: str,
        script_path: str | None = None,
        permission_mode: str | None = None,
    ) -> None:
        super().__init__(message)
        self.script_path = script_path
        self.permission_mode = permission_mode


class ArgumentSerializationError(ScriptError):
    """The arguments cannot be written as JSON."""

    def __init__(
        self,
        message: str,
        argument_data: str | None = None,
        serialization_error: Exception | None = None,
    ) -> None:
        super().__init__(message)
        self.argument_data = argument_data
        self.serialization_error = serialization_error


class ArgumentSizeError(ScriptError):
    """The arguments, as JSON, are larger than 10,000,000 bytes."""

    def __init__(
        self,
        message: str,
        size_bytes: int | None = None,
        max_bytes: int | None = None,
    ) -> None:
        super().__init__(message)
        self.size_bytes = size_bytes
        self.max_bytes = max_bytes


class ToolIDValidationError(ScriptError):
    """The name of a script's tool is too long, or has characters that tools must not have."""

    def __init__(
        self,
        message: str,
        tool_id: str | None = None,
        skill_name: str | None = None,
        script_name: str | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.tool_id = tool_id
        self.skill_name = skill_name
        self.script_name = script_name
        self.reason = reason
