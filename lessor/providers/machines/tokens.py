"""Launch tokens: the same launch has the same token for ever, another one never has it."""

from __future__ import annotations

import hashlib

from lessor.domain.money import Money


def token(lease_id: str, form: str, hourly: Money | None) -> str:
    """64 ASCII characters that depend on every argument."""
    return hashlib.sha256("\x00".join((lease_id, form, str(hourly))).encode()).hexdigest()
