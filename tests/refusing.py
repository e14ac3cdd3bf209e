"""How the domain refuses an act: with which code, and in which words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lessor.domain.errors import Refused


def refusal(act: Callable[..., object], *arguments: object, **named: object) -> tuple[str, str]:
    """Its code and its words. The test fails where the act is let through."""
    with pytest.raises(Refused) as refused:
        act(*arguments, **named)
    return refused.value.code, str(refused.value)


def refusal_code(act: Callable[..., object], *arguments: object, **named: object) -> str:
    return refusal(act, *arguments, **named)[0]
