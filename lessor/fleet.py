"""The use cases of the fleet: every place at one glance, and what is free where somebody is about to ask.

Part of the gateway. Places are read in threads for a limited time each; one that does not answer spoils no other, and
no acknowledgement ever waits for any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from lessor.censuses import Censuses
from lessor.domain import fleet
from lessor.domain.clouds import Gpus, cloud_census
from lessor.domain.fleet import SHOWN, Fleet, Record
from lessor.domain.lease import Lease
from lessor.domain.pools import Census
from lessor.domain.request import Place
from lessor.domain.vacancy import Vacancy, vacancy
from lessor.ports import Capacity, LeaseQuery, Ledger, Watch

LONGEST = timedelta(seconds=10)
"""How long one look at the fleet waits for a place."""

FORM = timedelta(seconds=2)
"""How long a form waits for one; it is asked again with the next choice."""

PAGE = 500

Places = Callable[[], Sequence[Place]]


def counting(providers: Mapping[str, object]) -> dict[str, Capacity]:
    """Those of the providers that count the GPUs of their places, by kind of place."""
    return {kind: provider for kind, provider in providers.items() if isinstance(provider, Capacity)}


class Surveying:
    """Reads places by their kind: those with a `Capacity` count themselves, of others only leases' machines are seen.

    `gpus` knows what instance types have, `every` how often the meter ticks.
    """

    def __init__(
        self,
        ledger: Ledger,
        capacities: Mapping[str, Capacity],
        watches: Mapping[str, Watch],
        places: Places,
        clock: Callable[[], datetime],
        gpus: Gpus = lambda _: None,
        every: Callable[[], timedelta | None] = lambda: None,
    ) -> None:
        self._ledger = ledger
        self._capacities = capacities
        self._watches = watches
        self._places = places
        self._clock = clock
        self._gpus = gpus
        self._every = every
        self._censuses = Censuses(self._census, clock)

    async def view(self, wanted: str = "", within: timedelta = LONGEST) -> Fleet:
        """All places, one, or one model in all of them. Raises `Refused` ("no-such") with what there is."""
        places = [Place(one.provider, one.name) for one in self._places()]
        named = [one for one in places if one.name.casefold() == wanted.strip().casefold()]
        read = await asyncio.gather(*(self._censuses.of(one, within) for one in named or places))
        record = await asyncio.to_thread(self._record, read)
        found = (fleet.place_fleet(one, record, on_demand=self.on_demand(one.place)) for one in read)
        return fleet.narrowed(Fleet(record.now, tuple(found)), wanted)

    async def vacancy(self, place: Place, model: str, within: timedelta = FORM) -> Vacancy:
        """What is free of a model in a place; `on_demand` where nobody can know before it is tried."""
        where = Place(place.provider, place.name)
        if self.on_demand(where):
            return Vacancy(where, model, on_demand=True)
        return vacancy(await self._censuses.of(where, within), model)

    def reading(self, place: Place) -> bool:
        """Whether the place is being read now: somebody who did not wait for it may ask again."""
        return self._censuses.reading(Place(place.provider, place.name))

    async def free(self, within: timedelta = FORM) -> tuple[Census, ...]:
        """The readings of all places that count themselves, for a short overview."""
        places = [Place(one.provider, one.name) for one in self._places()]
        counted = [one for one in places if not self.on_demand(one)]
        return tuple(await asyncio.gather(*(self._censuses.of(one, within) for one in counted)))

    def models(self) -> dict[str, str]:
        """Models that places were seen to hand out, slices too, with what each is counted in; nothing is read now."""
        read = (pool for one in self._censuses.latest() for pool in one.pools if pool.free is not None)
        return {pool.model: pool.unit for pool in read if pool.model}

    def warm(self) -> None:
        """Begin to read the places that count themselves, so that a form that opens shows them at once."""
        for one in self._places():
            if not self.on_demand(one):
                self._censuses.warm(Place(one.provider, one.name))

    def on_demand(self, place: Place) -> bool:
        """Whether the place makes machines as they are ordered, so that nobody knows how many it has."""
        return place.provider not in self._capacities

    def _census(self, place: Place) -> Census:
        if not self.on_demand(place):
            return self._capacities[place.provider].census(place)
        at = self._clock()
        watch = self._watches.get(place.provider)
        if watch is None:
            return Census(place, at, problem=f"nothing here can read places of kind {place.provider}")
        leases = {one.id: one for one in self._open()}
        return cloud_census(place, watch.conditions(place), leases, self._gpus, at)

    def _record(self, read: Sequence[Census]) -> Record:
        """The leases on record now, those that were over when their places had just been read among them."""
        leases = {one.id: one for one in self._open()}
        strange = sorted({one.lease for census in read for one in census.holders if one.lease} - leases.keys())
        for first in range(0, len(strange), PAGE):
            ids = tuple(strange[first : first + PAGE])
            leases |= {one.id: one for one in self._ledger.leases(LeaseQuery(ids=ids, limit=PAGE))}
        every = self._every()
        standings = {one.lease_id: one for one in self._ledger.standings()} if every else {}
        return Record(tuple(leases.values()), standings, every, self._clock())

    def _open(self) -> list[Lease]:
        states, after, found = tuple(state.value for state in SHOWN), "", list[Lease]()
        while page := self._ledger.leases(LeaseQuery(states=states, after=after, limit=PAGE)):
            found += page
            after = page[-1].id
        return found
