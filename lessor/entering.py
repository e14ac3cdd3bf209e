"""Lets people into leases by access that runs out by itself, and puts on record that they were let in.

Whoever may act on an active lease may get in. What is handed out goes to the one who asked and is kept nowhere; the
record says who got it and until when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.lease import Event, Lease, State, require_state
from lessor.domain.people import Person
from lessor.domain.provisioning import Credentials
from lessor.ports import Keys, LeaseBook, PermanentError, Provider, ProviderError

GIVEN = "access-given"


class Entering:
    """Over the providers, as far as they hand out access, and the record.

    `lease` and `person` look things up by id and raise `Refused` for what is not known.
    """

    def __init__(
        self,
        providers: Mapping[str, Provider],
        ledger: LeaseBook,
        lease: Callable[[str], Awaitable[Lease]],
        person: Callable[[str], Awaitable[Person]],
        clock: Callable[[], datetime],
    ) -> None:
        self._providers, self._ledger, self._clock = providers, ledger, clock
        self._lease, self._person = lease, person

    async def credentials(self, lease_id: str, person_id: str, via: str) -> Credentials:
        """A new access to the lease's resources for this person; nothing is handed out that is not on record.

        `via` is where they asked, `cli` or `slack`. Raises `Refused`: not-found, unknown-person, not-owner,
        wrong-state, no-keys, nothing-there, place-unreachable.
        """
        lease = await self._lease(lease_id)
        require_steward(lease, await self._person(person_id))
        require_state(lease, State.ACTIVE)
        keys = self._providers.get(lease.request.place.provider)
        if not isinstance(keys, Keys):
            raise Refused("no-keys", f"{lease.id} needs no access of its own; {_as_told(lease)}")
        given = await self._ask(keys, lease)
        event = Event(GIVEN, self._clock(), person_id, {"until": given.until.isoformat(), "via": via})
        await asyncio.to_thread(self._ledger.note, lease.id, event)
        return given

    async def _ask(self, keys: Keys, lease: Lease) -> Credentials:
        place = lease.request.place
        try:
            return await asyncio.to_thread(keys.credentials, lease.id, place, _silent)
        except PermanentError as error:
            raise Refused("nothing-there", f"there is no access to {lease.id}: {error}") from error
        except ProviderError as error:
            raise Refused(
                "place-unreachable", f"{place} gave no access to {lease.id} now ({error}); try again in a minute"
            ) from error


def _as_told(lease: Lease) -> str:
    return f"get in with: {lease.access}" if lease.access else "how to get in was told when it was ready"


def _silent(_: str) -> None:
    """Nobody waits for signs of life while one question is asked."""
