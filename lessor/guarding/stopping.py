"""One stop by the guard: looked at again before, done by the provider's own means, and seen afterwards (law 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from lessor.domain.guarding import Dated, Finding, GuardTerms, Overdue, Said, Stand, Word, judge, said_of
from lessor.domain.lease import Event, minute
from lessor.domain.resource import Condition
from lessor.guarding.grounds import Grounds
from lessor.guarding.outside import Outside, TooLongError
from lessor.guarding.report import Acted
from lessor.ports import ProviderError

READ_WITHIN = timedelta(minutes=3)
ASK_WITHIN = timedelta(seconds=30)
STOP_WITHIN = timedelta(minutes=5)
"""How long a stop is waited for. One that takes longer goes on, and is looked at again at the next look."""

RESTS = frozenset({Condition.STOPPED, Condition.GONE, Condition.DELETING})

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Stops:
    """Stops leases, and asks the ledger about them."""

    grounds: Grounds
    outside: Outside
    clock: Callable[[], datetime]

    async def said(self, ids: Sequence[str], what: str = "asking the ledger") -> tuple[dict[str, Said], str]:
        """What the ledger says of leases, and why it says nothing, if so: then their tags alone hold.

        `what` is asked: another question that is under way is no silence, the same one that hangs is.
        """
        if not ids:
            return {}, ""
        try:
            found = await self.outside.call(what, lambda: self.grounds.leases(ids), ASK_WITHIN)
        except Exception as error:
            # Whatever is wrong with the ledger, the ends on the machines hold (law 10).
            why = str(error) or type(error).__name__
            return {one: Said(Word.SILENT, why=why) for one in ids}, why
        now = self.clock()
        return {one: said_of(found[one], now) if one in found else Said(Word.UNREADABLE) for one in ids}, ""

    async def stop(self, finding: Finding, overdue: Overdue, terms: GuardTerms) -> Acted:
        """Stop what is due, if it still is. Never raises."""
        one = finding.dated
        try:
            now = await self._seen(one)
            said, _ = await self.said([one.lease], f"asking the ledger for {one.key}")
            again = judge(now, said[one.lease], overdue, terms, self.clock()) if now else None
            if again is None or again.stand is not Stand.DUE:
                return Acted(finding, False, _changed(again), spared=True)
            what = f"stopping {one.key}"
            log.warning("guard-stops", lease=one.lease, place=str(one.place), refs=list(one.refs), ends=one.written)
            try:
                at = await self.outside.call(
                    what, lambda: self.grounds.stop(one.lease, one.place, lambda _: None), STOP_WITHIN
                )
            except TooLongError as error:
                return Acted(finding, False, str(error), begun=True)
            done = await self._verified(again, at)
            await self._recorded(done, said[one.lease])
            return done
        except (ProviderError, TooLongError) as error:
            log.warning("guard-stop-failed", lease=one.lease, place=str(one.place), why=str(error)[:500])
            return Acted(finding, False, str(error))
        except Exception as error:
            log.exception("guard-stop-failed", lease=one.lease, place=str(one.place))
            return Acted(finding, False, f"it failed ({type(error).__name__}); see the guard's log")

    async def _verified(self, finding: Finding, at: datetime) -> Acted:
        after = await self._seen(finding.dated)
        if after is not None and after.condition not in RESTS:
            return Acted(finding, False, f"its place said that it was stopped, and shows it {after.condition} still")
        log.warning("guard-stopped", lease=finding.dated.lease, place=str(finding.dated.place), at=at.isoformat())
        seen = "it is not there any more" if after is None else f"seen {after.condition.value}"
        return Acted(finding, True, f"{finding.why}; it was stopped at {minute(at)} and {seen}")

    async def _recorded(self, done: Acted, said: Said) -> None:
        """Where the ledger answers, it has the stop too. It is done whether that succeeds or not."""
        one = done.finding.dated
        if said.word is Word.SILENT or not done.stopped:
            return
        event = Event("guard-stopped", self.clock(), "lessor", {"place": str(one.place), "ends": one.written})
        try:
            what = f"telling the ledger of {one.key}"
            await self.outside.call(what, lambda: self.grounds.note(one.lease, event), ASK_WITHIN)
        except Exception as error:
            log.warning("guard-stop-not-recorded", lease=one.lease, why=str(error)[:200] or type(error).__name__)

    async def _seen(self, one: Dated) -> Dated | None:
        """The lease as its place shows it now. Raises `ProviderError` when that cannot be read whole."""
        roll = await self.outside.call(
            f"reading {one.place} for {one.lease}", lambda: self.grounds.dated(one.place), READ_WITHIN
        )
        found = next((other for other in roll.dated if other.key == one.key), None)
        if found is None and roll.problems:
            raise ProviderError(f"it could not be seen: {'; '.join(roll.problems)}")
        return found


def come_through(finding: Finding, begun: datetime) -> Acted | None:
    """A stop that was begun and not waited for, once its lease is seen at rest; `None` until then."""
    condition = finding.dated.condition
    if condition not in RESTS:
        return None
    return Acted(finding, True, f"its stop was begun at {minute(begun)} and took long; it was seen {condition.value}")


def _changed(again: Finding | None) -> str:
    """Why it is not stopped after all."""
    if again is None:
        return "it is not there any more; nothing was done"
    return f"a second look found it {again.stand.value}{f': {again.why}' if again.why else ''}; nothing was done"
