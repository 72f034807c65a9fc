"""Asks skillcue and the reference validator of agentskills.io about the same skills.

    python compare.py PATH/TO/skillcue

Needs `skills-ref` (pinned by `cargo xtask test reference`). Fails on every disagreement that is not in the table of
known differences, and on every entry of that table that no longer occurs or is not explained in docs/reference/validate.md.

To look for further disagreements: SEED=7 MUTANTS=20000 python compare.py …
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from skills_ref.validator import validate

# No litter beside the sources.
sys.dont_write_bytecode = True

from cases import Case, every_case
from differences import DIFFERENCES

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "validate.md"
PER_RUN = 1000


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    binary = Path(sys.argv[1]).resolve()
    cases = every_case()
    with tempfile.TemporaryDirectory(prefix="skillcue-reference-") as tmp:
        dirs = [write(Path(tmp), at, it) for at, it in enumerate(cases)]
        reference = [ask_reference(dir) for dir in dirs]
        ours = ask_skillcue(binary, dirs)
    return report(cases, reference, ours)


def write(tmp: Path, at: int, it: Case) -> Path:
    dir = tmp / f"{at:05}" / it.dir
    dir.mkdir(parents=True)
    if it.file is not None:
        (dir / it.file).write_bytes(it.content)
    return dir


def ask_reference(dir: Path) -> list[str]:
    """The reference's complaints. An exception that it does not expect ends its command with code 1: invalid too."""
    try:
        return validate(dir)
    except Exception as crash:  # noqa: BLE001
        return [f"crash: {type(crash).__name__}: {crash}"]


@dataclass(frozen=True)
class Error:
    code: str
    text: str


def ask_skillcue(binary: Path, dirs: list[Path]) -> list[list[Error]]:
    """Our errors for each directory. A few runs for all of them: a command line has a limited length."""
    found: dict[str, list[Error]] = {str(dir): [] for dir in dirs}
    for start in range(0, len(dirs), PER_RUN):
        batch = [str(dir) for dir in dirs[start : start + PER_RUN]]
        run = subprocess.run([binary, "validate", "--json", "--", *batch], capture_output=True, text=True, check=False)
        if run.returncode not in (0, 1):
            sys.exit(f"skillcue ended with {run.returncode}: {run.stderr}")
        answer = json.loads(run.stdout)
        errors = [it for it in answer["diagnostics"] if it["severity"] == "error"]
        if answer["valid"] != (not errors):
            sys.exit(f"skillcue says valid: {answer['valid']}, with {len(errors)} errors")
        for it in errors:
            path = Path(it["path"])
            owner = next((str(dir) for dir in (path, *path.parents) if str(dir) in found), None)
            if owner is None:
                sys.exit(f"a diagnostic belongs to no case: {it}")
            found[owner].append(Error(it["code"], f"{it['line']}:{it['column']}: {it['code']}: {it['message']}"))
    return [found[str(dir)] for dir in dirs]


def report(cases: list[Case], reference: list[list[str]], ours: list[list[Error]]) -> int:
    failures = 0
    used: Counter[str] = Counter()
    both_valid = both_invalid = 0
    for it, theirs, mine in zip(cases, reference, ours, strict=True):
        if bool(theirs) == bool(mine):
            both_valid += not theirs
            both_invalid += bool(theirs)
            continue
        known = next((known for known in DIFFERENCES if known.explains(it, not theirs, {error.code for error in mine})), None)
        if known is not None:
            used[known.id] += 1
            continue
        failures += 1
        print(f"\nDISAGREEMENT: {it.label}, directory {it.dir!r}\n  {it.content[:300]!r}")
        print(f"  reference: {'; '.join(theirs) or 'valid'}"[:600])
        print(f"  skillcue: {'; '.join(error.text for error in mine) or 'valid'}"[:600])
    docs = DOCS.read_text(encoding="utf-8") if DOCS.is_file() else ""
    for known in DIFFERENCES:
        if not used[known.id]:
            failures += 1
            print(f"\nSTALE: the difference {known.id!r} no longer occurs: remove it")
        if f"`{known.id}`" not in docs:
            failures += 1
            print(f"\nUNDOCUMENTED: the difference {known.id!r} is not explained in {DOCS.name}")
    agreed = both_valid + both_invalid
    print(f"\n{len(cases)} skills: {agreed} agree ({both_valid} valid, {both_invalid} invalid), {sum(used.values())} differ as documented")
    for known in DIFFERENCES:
        print(f"  {used[known.id]:5}  {known.id}: {known.reason}")
    if failures:
        print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
