"""What the command line answers to an act names an end only where one is still to come."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.cli.acting import _words
from lessor.contracts import Answer
from tests.builders import ENDS, REQUESTER


@pytest.mark.parametrize(
    ("state", "words"),
    [("ending", "released"), ("active", "released; it ends Friday 27 November 2026 18:15 UTC")],
)
def test_an_end_that_is_over_is_not_told_once_more(state: str, words: str) -> None:
    answer = Answer(True, "", "released", "gpu-7k3qxa2m", state, ends_at=ENDS + timedelta(hours=1))
    assert _words(answer, REQUESTER) == words
