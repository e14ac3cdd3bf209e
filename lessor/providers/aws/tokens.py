"""Client tokens: the same launch has the same token for ever, another launch never has it."""

from __future__ import annotations

import hashlib

from lessor.domain.request import Market

GENERATIONS = 16
"""How often a launch may be begun anew after its machines were seen terminated; each has a token of its own."""


def token(lease_id: str, index: int, instance_type: str, zone: str, market: Market) -> str:
    """64 ASCII characters that depend on every argument (cases C02, C06). `index` counts the generations."""
    parts = (lease_id, str(index), instance_type, zone, market.value)
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


def generations(lease_id: str, instance_type: str, zone: str, market: Market) -> tuple[str, ...]:
    """Every token that a launch of this kind for this lease can have had."""
    return tuple(token(lease_id, index, instance_type, zone, market) for index in range(GENERATIONS))
