"""Events of use: Python writes into the same ledger as the program, by the same setting."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import skillcue
from skillcue import Skillcue

MESSAGE = "fill in the pdf form of the quokka"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    skill = tmp_path / ".agents/skills/pdf-forms"
    skill.mkdir(parents=True)
    head = "---\nname: pdf-forms\ndescription: Fills in PDF forms.\ntriggers: [pdf, form]\n---\n"
    (skill / "SKILL.md").write_text(head + "Use pdftk.\n")
    (skill / "forms.md").write_text("# Forms\n")
    (tmp_path / "work").mkdir()
    return tmp_path


def variables(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], **more}


def events(home: Path) -> list[str]:
    command = [skillcue.program(), "usage", "export"]
    run = subprocess.run(command, env=variables(home), cwd=home / "work", capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    return [f"{row['client']} {row['kind']} {row['skill']}" for row in rows]


def use(home: Path, **options: object) -> None:
    environ = variables(home, **options.pop("more", {}))  # type: ignore[arg-type]
    with Skillcue(environ=environ, cwd=home / "work", **options) as skills:  # type: ignore[arg-type]
        session: dict[str, object] = {}
        assert "pdftk" in skills.disclose(MESSAGE, session=session).turn
        skills.call_tool("read_skill_file", {"skill_id": "pdf-forms", "path": "forms.md"}, session=session)


def test_events_of_python_are_in_the_ledger_of_the_program(home: Path) -> None:
    use(home)
    assert events(home) == ["python shown pdf-forms", "python file_read pdf-forms"]
    for path in (home / ".local/share/skillcue").iterdir():
        assert not path.is_file() or b"quokka" not in path.read_bytes(), path


def test_the_setting_the_variable_and_the_argument_switch_it_off(home: Path) -> None:
    use(home, usage=False)
    use(home, more={"SKILLCUE_USAGE": "off"}, usage=True)
    subprocess.run([skillcue.program(), "usage", "off"], env=variables(home), check=True, capture_output=True)
    use(home)
    assert events(home) == []


def test_named_directories_record_only_if_they_are_told_to(home: Path) -> None:
    for usage, count in [(None, 0), (True, 1)]:
        with Skillcue(home / ".agents/skills", environ=variables(home), cwd=home / "work", usage=usage) as skills:
            skills.disclose(MESSAGE)
        assert len(events(home)) == count


def test_an_interpreter_that_ends_leaves_no_event_behind(home: Path) -> None:
    code = f"import skillcue; skills = skillcue.Skillcue(); skills.disclose({MESSAGE!r})"
    environ = variables(home, PYTHONPATH=os.pathsep.join(sys.path))
    subprocess.run([sys.executable, "-c", code], env=environ, cwd=home / "work", check=True)
    assert events(home) == ["python shown pdf-forms"]
