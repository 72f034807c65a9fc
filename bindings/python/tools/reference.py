"""Writes `docs/python/reference.md` from the signatures and docstrings of the installed package: `reference.py FILE`."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import skillcue

HEAD = """# Reference

Generated from the code by `bindings/python/tools/reference.py`; a test compares. Everything is importable from `skillcue`.
"""


def signature(function: Any) -> str:
    """Returns a signature as it is written; one that is long has a parameter a line."""
    found = inspect.signature(function)
    parts, is_star = [], False
    for it in found.parameters.values():
        if it.name == "self":
            continue
        if it.kind is it.VAR_POSITIONAL:
            is_star = True
        elif it.kind is it.KEYWORD_ONLY and not is_star:
            parts.append("*")
            is_star = True
        mark = {it.VAR_POSITIONAL: "*", it.VAR_KEYWORD: "**"}.get(it.kind, "")
        default = "" if it.default is it.empty else f" = {it.default!r}"
        parts.append(f"{mark}{it.name}: {plain(it.annotation)}{default}")
    result = plain(found.return_annotation)
    line = f"({', '.join(parts)}) -> {result}"
    return line if len(line) < 90 else f"(\n    {(chr(44) + chr(10) + '    ').join(parts)},\n) -> {result}"


def plain(annotation: Any) -> str:
    """Returns an annotation as text."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text.replace("builtins.", "").replace("_native.", "")


def prose(function: Any) -> str:
    """Returns a docstring as Markdown."""
    text = inspect.getdoc(function) or ""
    text = re.sub(r">>>.*(\n|$)", "", text)
    text = re.sub(r":(?:meth|class):`~?([^`]*)`", r"`\1`", text).replace("``", "`")
    text = re.sub(r"^:param (\w+): ", r"- `\1`: ", text, flags=re.M)
    text = re.sub(r"^:raises (\w+): ", r"- raises `\1` ", text, flags=re.M)
    return re.sub(r"\n    (?=\S)", "\n  ", text).strip()


def fields(cls: Any) -> list[str]:
    """Returns the fields and properties of a class."""
    if dataclasses.is_dataclass(cls):
        found = [f"`{field.name}: {field.type}`" for field in dataclasses.fields(cls)]
    else:
        found = [f"`{name}: {kind}`" for name, kind in inspect.get_annotations(cls).items() if not name.startswith("_")]
    made = (name for name, it in vars(cls).items() if isinstance(it, property) and not name.startswith("_"))
    return [*found, *(f"`{name}` (property)" for name in made)]


def page() -> str:
    """Returns the page."""
    out = [HEAD]
    items = {name: getattr(skillcue, name) for name in skillcue.__all__}
    classes = {name: it for name, it in items.items() if inspect.isclass(it)}
    errors = {name: it for name, it in classes.items() if issubclass(it, Exception)}
    results = {name: it for name, it in classes.items() if dataclasses.is_dataclass(it)}
    functions = {name: it for name, it in items.items() if inspect.isfunction(it)}
    main = skillcue.Skillcue
    out += ["## Skillcue\n", f"```text\nSkillcue{signature(main.__init__)}\n```\n", prose(main) + "\n"]
    out += [prose(main.__init__) + "\n"]
    for name, it in vars(main).items():
        if name.startswith("_") or name in ("context", "acontext"):
            continue
        function = it.__func__ if isinstance(it, (classmethod, staticmethod)) else it
        if isinstance(it, property):
            out.append(f"### {name}\n\n{prose(it)}\n")
        elif inspect.iscoroutinefunction(function) and name != "aopen":
            continue
        elif callable(function):
            out.append(f"### {name}\n\n```text\n{name}{signature(function)}\n```\n\n{prose(function)}\n")
    twins = [name for name, it in vars(main).items() if inspect.iscoroutinefunction(it) and not name.startswith("_")]
    out.append(f"### Asynchronous twins\n\n{', '.join(f'`{name}`' for name in twins)}.\n")
    out.append("## Functions\n")
    for name, it in functions.items():
        out.append(f"### {name}\n\n```text\n{name}{signature(it)}\n```\n\n{prose(it)}\n")
    out.append("## Results\n\n| class | fields |\n| --- | --- |")
    for name, it in results.items():
        listed = ", ".join(fields(it)).replace("|", "\\|")
        out.append(f"| `{name}`: {prose(it).splitlines()[0]} | {listed} |")
    out.append("\n## Exceptions\n\n| class | bases | meaning | further fields |\n| --- | --- | --- | --- |")
    for name, it in errors.items():
        bases = ", ".join(f"`{base.__name__}`" for base in it.__bases__)
        listed = ", ".join(fields(it)).replace("|", "\\|")
        out.append(f"| `{name}` | {bases} | {prose(it).splitlines()[0]} | {listed} |")
    others = [name for name in classes if name not in errors and name not in results and name != "Skillcue"]
    out.append("\n## Others\n\n| class | meaning |\n| --- | --- |")
    out += [f"| `{name}` | {prose(classes[name]).splitlines()[0]} |" for name in others]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
