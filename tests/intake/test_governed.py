"""What rules and ceilings want to know of a request can be typed, and is asked for where it has to be known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lessor.domain.errors import FieldError, Invalid
from lessor.domain.request import validate
from tests.intake.typed import LIMITS, NOW, WHOLE, Offer, read

CLASSED = Offer(limits=replace(LIMITS, data=("open", "secret")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("", "", False)),
        ("project:apollo data:secret checkpoints:yes", ("apollo", "secret", True)),
        ("--project apollo --data Secret --checkpoints", ("apollo", "secret", True)),
        ("sensitivity=secret checkpointing=no", ("", "secret", False)),
    ],
)
def test_project_data_and_checkpoints(text: str, expected: tuple[str, str, bool]) -> None:
    request = read(f"{WHOLE} {text}").request("U0REQUESTER", "cli:1")
    assert (request.project, request.data, request.checkpoints) == expected


def test_contradictions_and_nonsense_are_told() -> None:
    draft = read(f"{WHOLE} data:open data:secret checkpoints:maybe")
    assert draft.problems == (
        FieldError("data", "both 'open' and 'secret' are given; choose one"),
        FieldError("checkpoints", "'maybe' is neither yes nor no"),
    )


def test_with_classes_of_data_one_is_asked_for() -> None:
    assert read(WHOLE, CLASSED).missing == ("data",)
    with pytest.raises(Invalid, match="say how sensitive the data is, such as data:internal"):
        read(WHOLE, CLASSED).request("U0REQUESTER", "cli:1")
    assert read(f"{WHOLE} data:open", CLASSED).complete


@pytest.mark.parametrize(
    ("data", "classes", "message"),
    [
        ("", (), ""),
        ("open", ("open", "secret"), ""),
        ("", ("open", "secret"), "say how sensitive the data is: open, secret"),
        ("top", ("open", "secret"), "'top' is no class of data; say one of: open, secret"),
        ("open", (), "no classes of data are configured; leave it out"),
    ],
)
def test_the_class_is_checked_at_its_field(data: str, classes: tuple[str, ...], message: str) -> None:
    request = replace(read(WHOLE).request("U0REQUESTER", "cli:1"), data=data)
    errors: tuple[FieldError, ...] = ()
    try:
        validate(request, replace(LIMITS, data=classes), NOW)
    except Invalid as invalid:
        errors = invalid.errors
    assert errors == ((FieldError("data", message),) if message else ())
