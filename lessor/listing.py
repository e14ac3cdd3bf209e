"""What people narrow lists of leases down by, the same on the command line and on pages."""

from __future__ import annotations

from collections.abc import Iterable

from lessor.domain.errors import Refused
from lessor.domain.lease import OPEN, State


def states(asked: Iterable[str], *, closed: bool) -> tuple[str, ...]:
    """The states that are meant, `waiting for capacity` as well as with hyphens; without any the open ones.

    With `closed` it is all of them, which is told by none. Raises `Refused` ("no-state").
    """
    known = [state.value for state in State]
    wanted = tuple("-".join(state.split()) for state in asked)
    unknown = [state for state in wanted if state not in known]
    if unknown:
        raise Refused("no-state", f"'{unknown[0][:40]}' is no state; there are: {', '.join(known)}")
    if wanted or closed:
        return wanted
    return tuple(state.value for state in State if state in OPEN)
