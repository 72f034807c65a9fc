"""skillkit's core, without any framework."""

from .discovery import SkillDiscovery
from .exceptions import (
    ArgumentProcessingError,
    ContentLoadError,
    InvalidFrontmatterError,
    InvalidYAMLError,
    MissingRequiredFieldError,
    SizeLimitExceededError,
    SkillInvocationError,
    SkillNotFoundError,
    SkillParsingError,
    SkillSecurityError,
    SkillsUseError,
    SuspiciousInputError,
)
from .manager import SkillManager
from .models import CacheStats, ContentCache, Skill, SkillMetadata
from .parser import SkillParser
from .processors import (
    ArgumentSubstitutionProcessor,
    BaseDirectoryProcessor,
    CompositeProcessor,
    ContentProcessor,
    normalize_arguments,
    process_skill_content,
)

__all__ = [
    "ArgumentProcessingError",
    "ArgumentSubstitutionProcessor",
    "BaseDirectoryProcessor",
    "CacheStats",
    "CompositeProcessor",
    "ContentCache",
    "ContentLoadError",
    "ContentProcessor",
    "InvalidFrontmatterError",
    "InvalidYAMLError",
    "MissingRequiredFieldError",
    "SizeLimitExceededError",
    "Skill",
    "SkillDiscovery",
    "SkillInvocationError",
    "SkillManager",
    "SkillMetadata",
    "SkillNotFoundError",
    "SkillParser",
    "SkillParsingError",
    "SkillSecurityError",
    "SkillsUseError",
    "SuspiciousInputError",
    "normalize_arguments",
    "process_skill_content",
]
