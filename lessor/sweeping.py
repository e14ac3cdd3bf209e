"""The use case of a look that somebody starts. Part of the gateway."""

from __future__ import annotations

from lessor import contracts
from lessor.contracts import PeopleReport, SweepOutcome
from lessor.domain.errors import Refused
from lessor.domain.people import Person
from lessor.engine import Engine, UnreachableError


async def sweep(engine: Engine, person: Person, *, people: bool) -> SweepOutcome | PeopleReport:
    """One look over all places, or over all people, now. Raises `Refused` ("not-admin", "unreachable", ...)."""
    if not person.admin:
        raise Refused("not-admin", "only administrators start a look; it runs by itself as well")
    try:
        if people:
            return await engine.look(contracts.PEOPLE_SCHEDULE, PeopleReport)
        return await engine.look(contracts.SWEEP_SCHEDULE, SweepOutcome)
    except UnreachableError as error:
        raise Refused("unreachable", f"{error}; try again in a minute") from error
