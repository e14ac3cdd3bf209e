"""Who may act on a lease that exists."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.people import Person
from tests.builders import ADMIN, FINANCE, MANAGER, REQUESTER, STRANGER, a_lease, a_person


@pytest.mark.parametrize("person", [REQUESTER, a_person("W0REQUESTER"), MANAGER, ADMIN])
def test_who_may(person: Person) -> None:
    require_steward(a_lease(), person)


@pytest.mark.parametrize(
    ("person", "code"),
    [
        (STRANGER, "not-owner"),
        (FINANCE, "not-owner"),
        (a_person("U0OTHERLEAD", leads=("vision",)), "not-owner"),
        (replace(REQUESTER, active=False), "inactive"),
        (replace(ADMIN, active=False), "inactive"),
    ],
)
def test_who_may_not(person: Person, code: str) -> None:
    with pytest.raises(Refused) as refused:
        require_steward(a_lease(), person)
    assert refused.value.code == code
