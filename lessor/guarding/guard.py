"""One look of the guard: read every place, tell who is late, stop what is late for long, and say what was done.

It works with Temporal, Slack and the ledger down. It stops and never deletes; what is unknown is left alone; one place
or lease that fails holds up no other (law 11).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

import structlog

from lessor.domain.guarding import (
    WITHIN,
    Finding,
    GuardTerms,
    Overdue,
    Roll,
    Said,
    Stand,
    Strays,
    Word,
    held_back,
    is_late,
    judge,
    noted,
    recalled,
)
from lessor.domain.records import MessageRef
from lessor.domain.request import Place
from lessor.guarding import saying
from lessor.guarding.grounds import Grounds
from lessor.guarding.notebook import Notebook, Page
from lessor.guarding.outside import Outside, TooLongError
from lessor.guarding.report import Acted, PlaceLook, Report
from lessor.guarding.stopping import READ_WITHIN, Stops, come_through
from lessor.guarding.telling import Teller
from lessor.guarding.tidings import Kind, Tiding

T = TypeVar("T")
SILENT, NO_RECORD = Said(Word.SILENT), Said(Word.NO_RECORD)
AT_ONCE = 8
"""How many stops are under way at the same time in each place: one in which they hang holds up no other."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Look:
    """One look: when it began, by which terms, and what was remembered then."""

    at: datetime
    terms: GuardTerms
    page: Page

    @property
    def lately(self) -> dict[str, datetime]:
        """What the guard itself has stopped of late; a time yet to come is of a clock that was wrong."""
        return {key: at for key, at in self.page.stopped.items() if abs(self.at - at) < WITHIN}


class Guard:
    """Looks when it is told to. `terms` are asked for at each look, so that a changed configuration holds."""

    def __init__(
        self,
        grounds: Grounds,
        notebook: Notebook,
        teller: Callable[[], Teller],
        terms: Callable[[], GuardTerms],
        clock: Callable[[], datetime],
    ) -> None:
        self._grounds, self._notebook, self._teller = grounds, notebook, teller
        self._terms, self._clock = terms, clock
        self._outside = Outside()
        self._stops = Stops(grounds, self._outside, clock)

    async def look(self, *, dry: bool = False, despite_brake: bool = False) -> Report:
        """Look once. `dry` tells and stops nothing, and remembers nothing. Raises `BusyError`."""
        with self._notebook.held(keep=not dry) as page:
            look, teller = _Look(self._clock(), self._terms(), page), self._teller()
            rolls = await self._roll_call()
            findings, silence = await self._judged(rolls, look)
            strays = await self._unleased(look, always=dry)
            unread = {place: _problems(roll, strays.get(place)) for place, roll in rolls.items()}
            acted: list[Acted] = [] if dry else _come_through(findings, look)
            if not dry:
                _count_unread(unread, page)
                through = [saying.stopped(done, look.at) for done in acted]
                await self._told(teller, [*page.untold.values(), *through, *self._news(unread, findings, look)])
                await self._told_unleased(teller, strays, look)
                findings = await self._warned(teller, findings, look)
            due = [one for one in findings if one.stand is Stand.DUE]
            brake = held_back(len(due), findings, look.lately, look.terms)
            if due and not dry:
                acted += await self._acted(teller, due, "" if despite_brake else brake, look)
            _forget(findings, rolls, look)
            page.looked_at = look.at
        return Report(
            at=look.at,
            dry=dry,
            places=tuple(PlaceLook(place, len(roll.dated), unread[place]) for place, roll in rolls.items()),
            findings=tuple(findings),
            acted=tuple(acted),
            strays=tuple(one for found in strays.values() for one in found.found),
            brake="" if despite_brake else brake,
            ledger=silence,
            told=tuple(teller.told),
            untold=tuple(teller.untold),
            memory=self._notebook.problem,
        )

    async def _roll_call(self) -> dict[Place, Roll]:
        """Every place beside each other, each for a limited time."""
        places = self._grounds.places

        def unread(why: str) -> Roll:
            return Roll(problems=(why,))

        read = (self._read(f"reading {one}", partial(self._grounds.dated, one), unread) for one in places)
        return dict(zip(places, await asyncio.gather(*read), strict=True))

    async def _judged(self, rolls: Mapping[Place, Roll], look: _Look) -> tuple[list[Finding], str]:
        """What stands with each lease, and why the ledger was silent where it was asked."""
        dated = [one for roll in rolls.values() for one in roll.dated]
        late = [one.lease for one in dated if is_late(one, look.terms, look.at)]
        heard, silence = await self._stops.said(list(dict.fromkeys(late)))
        strangers = look.page.strangers
        said = {
            lease: recalled(one, look.page.heard.get(lease), look.at, stranger=lease in strangers)
            for lease, one in heard.items()
        }
        # What the ledger said last is remembered for the time when it says nothing.
        runs_on = {lease: one.until for lease, one in said.items() if one.until and one.word is Word.NOT_OVER}
        kept = {lease: until for lease, until in look.page.heard.items() if lease not in said}
        look.page.heard = {**kept, **runs_on}
        unknown = {lease: look.at for lease, one in heard.items() if one.word is Word.NO_RECORD}
        kept = {lease: at for lease, at in strangers.items() if said.get(lease, NO_RECORD).word is Word.NO_RECORD}
        look.page.strangers = {**kept, **unknown}
        known = look.page.overdue
        found = [judge(one, said.get(one.lease, SILENT), known.get(one.key), look.terms, look.at) for one in dated]
        return found, silence

    async def _unleased(self, look: _Look, *, always: bool) -> dict[Place, Strays]:
        """What has no lease, in places of which that was not told today."""
        places = [one for one in self._grounds.places if always or not self._notebook.message(_today(one, look.at))]

        def unread(why: str) -> Strays:
            return Strays(problems=(why,))

        read = (self._read(f"counting {one}", partial(self._grounds.unleased, one), unread) for one in places)
        return dict(zip(places, await asyncio.gather(*read), strict=True))

    async def _read(self, what: str, work: Callable[[], T], unread: Callable[[str], T]) -> T:
        try:
            return await self._outside.call(what, work, READ_WITHIN)
        except TooLongError as error:
            return unread(str(error))
        except Exception as error:
            log.exception("guard-could-not-read", what=what)
            return unread(f"{what} failed ({type(error).__name__})")

    def _news(self, unread: Mapping[Place, Sequence[str]], findings: Sequence[Finding], look: _Look) -> list[Tiding]:
        """What is told once a day while it lasts."""
        told = saying.unwell(findings, look.at)
        for place, problems in unread.items():
            if look.page.unread.get(place.name, 0) >= look.terms.unread:
                told.append(saying.unread(place, problems, look.at))
        if self._notebook.problem:
            told.append(saying.forgotten(self._notebook.problem, look.at))
        return told

    async def _told(self, teller: Teller, news: Sequence[Tiding]) -> None:
        heard = await teller.tell_each(news)
        if any(reached and one.kind is Kind.FORGOTTEN for one, reached in zip(news, heard, strict=True)):
            self._notebook.own_up()

    async def _told_unleased(self, teller: Teller, strays: Mapping[Place, Strays], look: _Look) -> None:
        """Each place by itself, once a day; until there is something to tell it is looked for at every look."""
        for place, seen in strays.items():
            if seen.found and await teller.tell(saying.unleased(place, seen.found, seen.problems, look.at)):
                self._notebook.save_message(MessageRef(_today(place, look.at), place.name, ts=saying.day(look.at)))

    async def _warned(self, teller: Teller, findings: Sequence[Finding], look: _Look) -> list[Finding]:
        """All findings, those that are late with the time that holds now that people were told, or were not."""
        late = [one for one in findings if one.stand in (Stand.LATE, Stand.DUE) and one.dated.ends]
        known = {one.dated.key: noted(one.dated.ends or look.at, _before(look, one), look.at) for one in late}
        announced = {key: one if one.told_at else replace(one, told_at=look.at) for key, one in known.items()}
        warnings = [
            saying.late(
                replace(one, stops_at=announced[one.dated.key].stops_at(look.terms)),
                known[one.dated.key].seen_at,
                look.at,
            )
            for one in late
        ]
        heard = await teller.tell_each(warnings)
        for one, reached in zip(late, heard, strict=True):
            look.page.overdue[one.dated.key] = (announced if reached else known)[one.dated.key]
        self._notebook.save()
        return [_again(one, look) if one in late else one for one in findings]

    async def _acted(self, teller: Teller, due: Sequence[Finding], brake: str, look: _Look) -> list[Acted]:
        """Stop what is due, unless the brake holds; what came of each."""
        if brake:
            log.error("guard-brake", why=brake)
            await teller.tell(saying.braked(due, brake, look.at))
            return []
        slots = {each.dated.place.name: asyncio.Semaphore(AT_ONCE) for each in due}

        async def one(finding: Finding) -> Acted:
            async with slots[finding.dated.place.name]:
                return await self._stops.stop(finding, look.page.overdue[finding.dated.key], look.terms)

        # Written down before: what comes of it is told also by a guard that was started anew meanwhile.
        look.page.begun |= {each.dated.key: self._clock() for each in due if each.dated.key not in look.page.begun}
        self._notebook.save()
        acted = list(await asyncio.gather(*map(one, due)))
        for done in acted:
            if not done.begun:
                look.page.begun.pop(done.finding.dated.key, None)
            if done.stopped:
                look.page.stopped[done.finding.dated.key] = self._clock()
                # Whoever starts it again is told again before the next stop.
                look.page.overdue.pop(done.finding.dated.key, None)
        self._notebook.save()
        told = [saying.stopped(done, look.at) if done.stopped else saying.not_stopped(done, look.at) for done in acted]
        await teller.tell_each(tiding for tiding, done in zip(told, acted, strict=True) if not done.spared)
        return acted


def _come_through(findings: Sequence[Finding], look: _Look) -> list[Acted]:
    """Stops of earlier looks that took long and are seen done now; what was given more time needs none any more."""
    begun, page = dict(look.page.begun), look.page
    known = {one.dated.key: one for one in findings if one.dated.key in begun}
    found = {key: done for key, one in known.items() if (done := come_through(one, begun[key]))}
    page.stopped |= {key: begun[key] for key in found}
    page.begun = {
        key: at
        for key, at in begun.items()
        if key not in found and not (key in known and known[key].stand in (Stand.FINE, Stand.DISPUTED))
    }
    return list(found.values())


def _again(finding: Finding, look: _Look) -> Finding:
    """With the time that holds by what is remembered now."""
    stops_at = look.page.overdue[finding.dated.key].stops_at(look.terms)
    return replace(finding, stand=Stand.DUE if look.at >= stops_at else Stand.LATE, stops_at=stops_at)


def _problems(roll: Roll, strays: Strays | None) -> tuple[str, ...]:
    """What of a place was not read, each once: its leases, or what it has without one."""
    besides = (one for one in (strays.problems if strays else ()) if one not in roll.problems)
    return (*roll.problems, *(f"what has no lease there is not known: {one}" for one in besides))


def _count_unread(unread: Mapping[Place, Sequence[str]], page: Page) -> None:
    page.unread = {place.name: page.unread.get(place.name, 0) + 1 for place, why in unread.items() if why}


def _forget(findings: Sequence[Finding], rolls: Mapping[Place, Roll], look: _Look) -> None:
    """Only what is late still is remembered as late; what was not read this time stays as it was."""
    late = {one.dated.key for one in findings if one.stand in (Stand.LATE, Stand.DUE, Stand.UNKNOWN)}
    unread = tuple(f"{place.name}/" for place, roll in rolls.items() if roll.problems)
    look.page.overdue = {key: one for key, one in look.page.overdue.items() if key in late or key.startswith(unread)}


def _before(look: _Look, finding: Finding) -> Overdue | None:
    return look.page.overdue.get(finding.dated.key)


def _today(place: Place, at: datetime) -> str:
    return f"unleased/{place.name}/{saying.day(at)}"
