"""Asks every place whether it can be read and lets us do what leases need: when a worker starts, and on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import structlog

from lessor.contracts import Alarm, Delivery, PageInput
from lessor.domain.checkup import Checkup
from lessor.domain.request import Place
from lessor.ports import Provider, ProviderError, Watch

log = structlog.get_logger(__name__)

Page = Callable[[PageInput], Awaitable[Delivery]]


@runtime_checkable
class SelfCheck(Protocol):
    """A provider that knows what it may do in its places."""

    def checkup(self, place: Place) -> Checkup:
        """What of our rights is missing in the place, by its own word. Raises `PermanentError` for unknown places."""
        ...


def check_place(providers: Mapping[str, Provider], watches: Mapping[str, Watch], place: Place) -> Checkup:
    """By the place's own word where it can say what we may do, else by reading it once. Blocks; raises nothing."""
    provider = providers.get(place.provider)
    try:
        if isinstance(provider, SelfCheck):
            return provider.checkup(place)
        watches[place.provider].conditions(place)
    except KeyError:
        return Checkup(place.name, problem=f"no provider of kind {place.provider} is there")
    except ProviderError as error:
        return Checkup(place.name, problem=str(error))
    return Checkup(place.name)


async def check_places(
    providers: Mapping[str, Provider], watches: Mapping[str, Watch], places: Sequence[Place]
) -> tuple[Checkup, ...]:
    """All of them beside each other, in their order."""
    looks = (asyncio.to_thread(check_place, providers, watches, place) for place in places)
    return tuple(await asyncio.gather(*looks))


async def tell_checkups(checkups: Sequence[Checkup], page: Page) -> None:
    """Log what is not as it should be, and page administrators for each place with missing rights (case D15).

    So too for one whose leases cannot be ended any more. A place that only gives no answer is left to the sweep, which
    pages when that lasts.
    """
    for one in checkups:
        if one.fine:
            log.info("place-checked", place=one.place)
            continue
        log.warning("place-not-fine", place=one.place, missing=list(one.missing), why=one.problem)
        if one.missing or one.urgent:
            try:
                await page(PageInput(Alarm.RIGHTS, one.place, str(one)))
            except Exception as error:
                log.warning("place-not-fine-untold", place=one.place, why=str(error)[:200])
