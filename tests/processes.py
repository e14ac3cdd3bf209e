"""What tests ask the machine about processes."""

from __future__ import annotations

import psutil


def alive(pid: int) -> bool:
    """Whether it runs; one that has ended and that nobody has waited for yet does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
