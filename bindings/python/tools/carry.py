"""Puts the program `skillcue` into a wheel that maturin has made: `carry.py WHEEL PROGRAM OUT_DIR`.

maturin packs one native module, and the program is another crate of another workspace. Packed by this, it is a file of
the package with the right to be executed, where `skillcue.program()` finds it in every kind of installation.

The platform tag says the oldest glibc that both need, and `auditwheel show` must agree.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

TARGET = "skillcue/bin/skillcue"
# Executable, a regular file; the date that maturin gives to its files, so that equal input makes an equal wheel.
MODE = 0o100755 << 16
DATE = (1980, 1, 1, 0, 0, 0)


def glibc_of(program: Path) -> tuple[int, int]:
    """Returns the version of glibc whose symbols a program needs."""
    needed = {(2, 0)}
    with program.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, GNUVerNeedSection):
                names = (entry.name for _, entries in section.iter_versions() for entry in entries)
                found = (re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", name) for name in names)
                needed |= {(int(it[1]), int(it[2])) for it in found if it}
    return max(needed)


def tagged(name: str, program: Path) -> tuple[str, str, str]:
    """Returns the name of a wheel whose tag also fits a program, and the tag before and after."""
    found = re.search(r"manylinux_(\d+)_(\d+)_", name)
    if found is None:
        return name, "", ""
    version = max((int(found[1]), int(found[2])), glibc_of(program))
    new = f"manylinux_{version[0]}_{version[1]}_"
    return name.replace(found[0], new), found[0], new


def carry(wheel: Path, program: Path, out: Path) -> Path:
    """Writes a copy of the wheel with the program into a directory, and returns its path."""
    name, old_tag, new_tag = tagged(wheel.name, program)
    out.mkdir(parents=True, exist_ok=True)
    made = out / name
    files: dict[str, tuple[zipfile.ZipInfo, bytes]] = {}
    with zipfile.ZipFile(wheel) as old:
        for item in old.infolist():
            data = old.read(item)
            if item.filename.endswith(".dist-info/WHEEL"):
                data = data.replace(old_tag.encode(), new_tag.encode())
            files[item.filename] = (item, data)
    info = zipfile.ZipInfo(TARGET, DATE)
    info.external_attr = MODE
    files[TARGET] = (info, program.read_bytes())
    record = next(path for path in files if path.endswith(".dist-info/RECORD"))
    lines = [line_of(path, data) for path, (_, data) in files.items() if path != record]
    files[record] = (files.pop(record)[0], "".join([*lines, f"{record},,\n"]).encode())
    with zipfile.ZipFile(made, "w") as new:
        for item, data in files.values():
            item.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(item, data, zipfile.ZIP_DEFLATED, 6)
    return made


def line_of(path: str, data: bytes) -> str:
    """Returns the line of a file in a wheel's record."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}\n"


def check_tag(wheel: Path) -> None:
    """Compares the wheel's tag with what auditwheel finds."""
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r'following platform tag:\s+"([^"]+)"', shown)
    if found is None or found[1] not in wheel.name:
        raise SystemExit(f"{wheel.name}: its tag is not what auditwheel finds\n{shown}")
    print(f"    {wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, and auditwheel agrees with its tag")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    check_tag(carry(*(Path(argument) for argument in sys.argv[1:4])))
