"""The pages of the documentation: their programs run, and the reference is what the code says."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted import serving

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "python"
EXAMPLES = Path(__file__).parents[1] / "examples"
FRAMEWORKS = {
    "langchain": "langchain_openai",
    "agent-framework": "agent_framework_openai",
    "pydantic-ai": "pydantic_ai",
    "openai-agents": "agents",
    "claude-agent-sdk": "claude_agent_sdk",
    "google-adk": "google.adk",
}
# Pages whose programs are in other directories.
OTHERS = {"the front page": ROOT / "README.md", "the page of the package": ROOT / "bindings" / "python" / "README.md"}


def programs(page: Path) -> str:
    """Returns the Python of a page, each line where it is in the page."""
    lines, is_code = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_code = line == "```python"
            lines.append("")
        else:
            lines.append(line if is_code else "")
    return "\n".join(lines)


# Warnings of the frameworks' own are not ours.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", [*sorted(page.stem for page in PAGES.glob("*.md") if page.stem != "reference"), *OTHERS])
def test_the_programs_of_a_page_run(name: str, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in FRAMEWORKS:
        pytest.importorskip(FRAMEWORKS[name])
    page = OTHERS.get(name, PAGES / f"{name}.md")
    code = programs(page)
    if not code.strip():
        pytest.skip("a page without programs")
    monkeypatch.chdir(tree.parent)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, "none")
    for variable in ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"):
        monkeypatch.setenv(variable, "1")
    with serving(lambda request: "Bonjour, Alice!") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        for variable in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
            monkeypatch.setenv(variable, server.url.removesuffix("/v1"))
        names: dict[str, Any] = {"__name__": "__page__"}
        exec(compile(code, str(page), "exec"), names)
        if name in FRAMEWORKS:
            assert any("guten Tag" in server.everything(at) for at in range(len(server.requests)))


@pytest.mark.parametrize(
    ("program", "arguments", "expected"),
    [
        ("chat_loop.py", ["What is 2+2?", "Say bonjour"], "[2 skills available]"),
        ("async_loads.py", [], "not_found: no skill is called"),
        ("own_loop.py", ["pdf"], "shown again: ['pdf']"),
    ],
)
def test_examples_run(program: str, arguments: list[str], expected: str, tree: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / program, tree, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


def test_the_reference_is_what_the_code_says() -> None:
    tool = EXAMPLES.parent / "tools" / "reference.py"
    spec = importlib.util.spec_from_file_location("reference", tool)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = PAGES / "reference.md"
    if os.environ.get("UPDATE_PAGES"):
        page.write_text(module.page(), encoding="utf-8")
    if sys.version_info[:2] != (3, 11):
        pytest.skip("signatures are written another way by other versions of Python")
    assert page.read_text(encoding="utf-8") == module.page(), "UPDATE_PAGES=1 writes it anew"


def test_links_lead_somewhere() -> None:
    for page in PAGES.glob("*.md"):
        for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert "://" in link or (page.parent / link).exists(), f"{page.name}: {link}"
