"""Puts the program `skillcue` into a wheel that maturin has made: `carry.py WHEEL PROGRAM OUT_DIR`.

maturin packs one native module, and the program is another crate of another workspace. Packed by this, it is a file of
the package with the right to be executed, where `skillcue.program()` finds it in every kind of installation.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

TARGET = "skillcue/bin/skillcue"
# Executable, a regular file; the date that maturin gives to its files, so that equal input makes an equal wheel.
MODE = 0o100755 << 16
DATE = (1980, 1, 1, 0, 0, 0)


def carry(wheel: Path, program: Path, out: Path) -> Path:
    """Writes a copy of the wheel with the program into a directory, and returns its path."""
    content = program.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    line = f"{TARGET},sha256={digest},{len(content)}\n"
    out.mkdir(parents=True, exist_ok=True)
    made = out / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as new:
        records = [item for item in old.infolist() if item.filename.endswith(".dist-info/RECORD")]
        if len(records) != 1:
            raise SystemExit(f"{wheel}: expected one RECORD, found {len(records)}")
        for item in old.infolist():
            if item.filename == TARGET:
                raise SystemExit(f"{wheel} has a program already")
            data = old.read(item)
            if item is records[0]:
                # The line of the record itself stays the last.
                lines = data.decode().splitlines(keepends=True)
                own = [at for at, text in enumerate(lines) if text.startswith(item.filename + ",")]
                lines.insert(own[0] if own else len(lines), line)
                data = "".join(lines).encode()
            new.writestr(item, data, zipfile.ZIP_DEFLATED)
        info = zipfile.ZipInfo(TARGET, DATE)
        info.external_attr = MODE
        info.compress_type = zipfile.ZIP_DEFLATED
        new.writestr(info, content)
    return made


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    print(carry(*(Path(argument) for argument in sys.argv[1:4])))
