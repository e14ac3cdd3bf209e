"""Lets people into leases by access that runs out by itself, and puts on record that they were let in.

Whoever may act on an active lease may get in. What is handed out goes to the one who asked and is kept nowhere; the
record says who got it and until when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Protocol, runtime_checkable

from lessor.domain.authority import require_steward
from lessor.domain.errors import Refused
from lessor.domain.lease import Event, Lease, State, require_state
from lessor.domain.people import Person
from lessor.domain.provisioning import Credentials
from lessor.domain.request import Place
from lessor.ports import Keys, LeaseBook, PermanentError, Provider, ProviderError

GIVEN = "access-given"
CLOSED = "closed-by-hand"


@runtime_checkable
class Doors(Protocol):
    """Lets people in by means that an organisation can take away, and then cannot see whether they get in still."""

    def unseen(self, lease_id: str, place: Place) -> tuple[str, ...]:
        """What people of the lease were let into and may be in, where nothing is there any more to see that."""
        ...

    def confirm_closed(self, lease_id: str, place: Place) -> None:
        """Believe that nobody gets in there any more, since an administrator says so."""
        ...


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

    async def confirm_closed(self, lease_id: str, person_id: str, reason: str, via: str) -> tuple[str, ...]:
        """An administrator says that nobody gets into these machines any more, where nothing is left to see that.

        On record with the reason before it is believed; the lease goes on with its next try. Raises `Refused`:
        not-found, unknown-person, not-admin, no-reason, nothing-unseen, nothing-there, place-unreachable.
        """
        lease, person = await self._lease(lease_id), await self._person(person_id)
        if not person.admin:
            raise Refused("not-admin", "only administrators confirm that people are locked out; nothing was changed")
        words = " ".join(reason.split())
        if not words:
            raise Refused("no-reason", "say how they were locked out: it goes on record; nothing was changed")
        event = Event(CLOSED, self._clock(), person.id, {"reason": words[:500], "via": via})
        try:
            return await asyncio.to_thread(self._believe_closed, lease, event)
        except PermanentError as error:
            raise Refused("nothing-there", f"{lease.request.place}: {error}; nothing was confirmed") from error
        except ProviderError as error:
            raise Refused("place-unreachable", f"{lease.request.place}: {error}; try again in a minute") from error

    def _believe_closed(self, lease: Lease, event: Event) -> tuple[str, ...]:
        place = lease.request.place
        doors = self._providers.get(place.provider)
        unseen = doors.unseen(lease.id, place) if isinstance(doors, Doors) else ()
        if not isinstance(doors, Doors) or not unseen:
            raise Refused(
                "nothing-unseen",
                f"nothing of {lease.id} has to be confirmed: nobody was let in, or lessor sees by itself who gets in",
            )
        said = {**event.data, "resources": ", ".join(unseen)}
        self._ledger.note(lease.id, replace(event, data=said))
        doors.confirm_closed(lease.id, place)
        return unseen

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
