"""Uses an installed package that has nothing beside it: imports, the main job, and a script in the sandbox."""

from __future__ import annotations

import os
import tempfile
from importlib import metadata
from pathlib import Path

import skillcue

installed = {dist.metadata["Name"] for dist in metadata.distributions()}
assert installed <= {"skillcue", "pip", "setuptools"}, installed
with tempfile.TemporaryDirectory() as home:
    variables = {"HOME": home, "PATH": os.environ["PATH"]}
    with skillcue.Skillcue(cwd=home, environ=variables) as skills:
        shown = skills.disclose("Say bonjour to Alice")
        assert "hello-extended" in shown.turn, shown.turn
        directory = Path(home, "count")
        (directory / "scripts").mkdir(parents=True)
        (directory / "SKILL.md").write_text("---\nname: count\ndescription: Counts.\n---\nCount.\n")
        (directory / "scripts" / "count.sh").write_text("#!/bin/sh\necho $#\n")
        counted = skillcue.run_script_in(directory, "count.sh", ["a", "b"])
        assert (counted.stdout, counted.sandboxed) == ("2\n", True), counted
    print(f"    skillcue {skillcue.__version__}: {len(skills)} skills, {shown.tokens.turn} tokens, a script in the sandbox")
