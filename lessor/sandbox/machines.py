"""The sandbox's pool of machines: directories that stand for machines, with the executables that production uses.

Each machine is a folder with its file of authorized keys. A file `unfit` in one, with words in it, makes its health
check fail: that is how things go wrong here.
"""

from __future__ import annotations

import shutil
import stat
from importlib import resources
from pathlib import Path

FOLDER = "machines"
HOOK = "lessor-authorized-keys"
NAMES = ("dgx-1", "dgx-2", "lab-1")
PEOPLE = ("requester", "manager", "manager-2", "finance", "admin")

HEALTH = """#!/bin/sh
# Ends with 0 while the machine is fit for use: while there is no file `unfit` in its folder.
name=$(sed -n 's/.*"machine": *{"name": *"\\([a-z0-9.-]*\\)".*/\\1/p')
folder=$(dirname "$0")/$name
[ -n "$name" ] && [ -d "$folder" ] || { echo "there is no machine '$name'" >&2; exit 1; }
[ ! -e "$folder/unfit" ] || { cat "$folder/unfit" >&2; exit 1; }
"""


def lay_machines(root: Path) -> None:
    """Make the pool's folder in the data directory, where it is not there yet; what people changed in it is kept."""
    pool = root / FOLDER
    for name in (*NAMES, "keys"):
        (pool / name).mkdir(parents=True, exist_ok=True)
    for who in PEOPLE:
        _lay(pool / "keys" / f"{who}@example.com.pub", f"ssh-ed25519 {who.encode().hex():A<68} {who}\n")
    _lay(pool / "health", HEALTH, executable=True)
    if not (pool / HOOK).exists():
        shutil.copyfile(_shipped(), pool / HOOK)
        _executable(pool / HOOK)


def _shipped() -> Path:
    """The hook, from the package or from the checkout that this is."""
    packed = Path(str(resources.files("lessor"))) / "deploy" / FOLDER / HOOK
    return packed if packed.exists() else Path(__file__).resolve().parents[2] / "deploy" / FOLDER / HOOK


def _lay(path: Path, text: str, *, executable: bool = False) -> None:
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        if executable:
            _executable(path)


def _executable(path: Path) -> None:
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
