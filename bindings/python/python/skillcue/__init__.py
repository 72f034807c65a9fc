"""The right skill at the right moment, for the fewest tokens.

>>> import skillcue
>>> skills = skillcue.Skillcue("./skills")                                       # doctest: +SKIP
>>> shown = skills.disclose("Say bonjour to Alice", session=session)             # doctest: +SKIP

A host puts two texts before the model: ``shown.stable``, which does not change while the skills do not, and
``shown.turn``, which is for this message. Models load the rest themselves: ``skills.tools()`` lists the tools for it, and
``skills.call_tool()`` runs them.
"""

from . import _interpreter as _interpreter  # isort: skip
from ._errors import *  # noqa: F403
from ._errors import __all__ as _error_names
from ._functions import (
    StrPath,
    cli,
    count_tokens,
    files_in,
    lint,
    parse,
    program,
    read_in,
    run_script_in,
    scripts_in,
    validate,
)
from ._native import VERSION as __version__
from ._native import Cancel
from ._skills import Session, Skillcue
from ._types import *  # noqa: F403
from ._types import __all__ as _type_names
from ._types import Counter, Fallback, Mode, Policy, Severity
from ._watch import Watch

__all__ = [
    *_error_names,
    *_type_names,
    "Cancel",
    "Counter",
    "Fallback",
    "Mode",
    "Policy",
    "Session",
    "Severity",
    "Skillcue",
    "StrPath",
    "Watch",
    "__version__",
    "cli",
    "count_tokens",
    "files_in",
    "lint",
    "parse",
    "program",
    "read_in",
    "run_script_in",
    "scripts_in",
    "validate",
]
