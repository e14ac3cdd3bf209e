"""What people say to a verdict of idle: that they use it, that it is wrong, that a stop may lose data, or may not be.

Each word has its limit and its reason, and goes on record: what nobody had to say again would keep machines for ever.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from lessor.domain.errors import Refused, instant
from lessor.domain.figures import figures
from lessor.domain.ladder import Consent, Dispute, Ladder, Snooze, Spared, Why, untold
from lessor.domain.lease import IN_USE, Change, Event, Lease, changed, minute, require_state
from lessor.domain.pausing import LESSOR
from lessor.domain.people import Person
from lessor.domain.request import spell, to_the_minute

DISPUTE_HOLDS = timedelta(hours=24)
"""How long a verdict that somebody called wrong is not believed, unless the lease is seen busy before."""


def snooze(lease: Lease, until: datetime, person: Person, reason: str, now: datetime) -> Change:
    """Nothing is said or done about its being idle until then; then it is warned from the beginning.

    Snoozes that overlap hold until the later of their ends (case E26). An administrator's has no limit.

    Raises `Refused`: wrong-state, not-idle, end-too-early, no-reason, beyond-maximum, snoozed-enough.
    """
    ladder = _idle(lease, "snooze")
    until = instant("until", until)
    if until <= now:
        raise Refused("end-too-early", "a snooze ends in the future; nothing was changed")
    if not reason.strip():
        raise Refused("no-reason", "say what it is used for: the reason goes on record")
    held = lease.snooze.until if lease.snooze else now
    longer = until > held
    if longer and not person.admin:
        _within_limits(lease, ladder, until, now)
    made = Snooze(max(until, held), person.id, now, reason.strip())
    data = {"until": made.until.isoformat(), "reason": made.reason, "told": str(len(ladder.told))}
    data |= {"again": "yes"} if lease.snooze and held > now else {}
    count = lease.snoozes + (longer and not person.admin)
    return changed(lease, Event("snoozed", now, person.id, data), snooze=made, snoozes=count, idle=untold(ladder))


def dispute(lease: Lease, by: str, reason: str, now: datetime) -> Change:
    """The verdict is wrong: as if it was seen busy, and not believed again before a day has gone by.

    What it rested on goes on record with the reason, so that thresholds can be tuned. Also said of what was stopped.

    Raises `Refused`: wrong-state, not-idle, no-reason, already-disputed.
    """
    require_state(lease, *IN_USE)
    already = called_wrong(lease, now)
    if already and lease.idle is None:
        raise Refused("already-disputed", already)
    ladder = _idle(lease, "dispute")
    if not reason.strip():
        raise Refused("no-reason", "say what it was doing: whoever tunes the thresholds reads it")
    made = Dispute(now + DISPUTE_HOLDS, by, now, reason.strip())
    told = {"told": str(len(ladder.told)), "stopped": "yes" if lease.pause else "no"}
    event = Event("verdict-disputed", now, by, {"reason": made.reason, **told, **figures(ladder.evidence)})
    return changed(lease, event, disputed=made, idle=None)


def called_wrong(lease: Lease, now: datetime) -> str:
    """That somebody called the verdict wrong not long ago, in words; empty where nobody did."""
    said = lease.disputed
    if said is None or said.by == LESSOR or now >= said.until:
        return ""
    left = spell(to_the_minute(said.until - now))
    return (
        f"the verdict on {lease.id} was called wrong already ({said.reason}); nothing is made of it for another {left}"
    )


def consent(lease: Lease, by: str, now: datetime) -> Change:
    """A stop for being idle may lose what is on the local disks. Raises `Refused`: wrong-state, not-needed."""
    require_state(lease, *IN_USE)
    if not lease.volatile or lease.consent is not None:
        why = "its owner has agreed already" if lease.consent else "a stop loses nothing of it"
        raise Refused("not-needed", f"{lease.id} needs no consent: {why}")
    return changed(lease, Event("consented", now, by, {"to": "losing local disks"}), consent=Consent(by, now))


def spare(lease: Lease, until: datetime | None, by: str, reason: str, now: datetime) -> Change:
    """It is not stopped for being idle until then, or until its end. With an end that has come it is spared no more.

    Raises `Refused`: wrong-state, no-reason, not-spared.
    """
    require_state(lease, *IN_USE)
    until = instant("until", until) if until else None
    back = until is not None and until <= now
    if back and lease.spared is None:
        raise Refused("not-spared", f"{lease.id} is not spared; nothing was changed")
    if not back and not reason.strip():
        raise Refused("no-reason", "say why it is spared: the reason goes on record")
    made = None if back else Spared(by, now, reason.strip(), until)
    data = {"until": until.isoformat() if until else "its end", "reason": reason.strip()}
    told = len(lease.idle.told) if lease.idle else 0
    return changed(lease, Event("spared", now, by, data | {"told": str(told)}), spared=made, idle=untold(lease.idle))


def _within_limits(lease: Lease, ladder: Ladder, until: datetime, now: datetime) -> None:
    terms = ladder.terms
    if until > now + terms.snooze_most:
        raise Refused("beyond-maximum", f"at most {spell(terms.snooze_most)} are allowed; nothing was changed")
    if lease.snoozes >= terms.snoozes:
        times = f"{lease.snoozes} time{'' if lease.snoozes == 1 else 's'}"
        raise Refused(
            "snoozed-enough",
            f"{lease.id} was snoozed {times} since it last did anything, and {terms.snoozes} are allowed; "
            "an administrator can snooze or spare it",
        )


def _idle(lease: Lease, verb: str) -> Ladder:
    """What can be answered: of a stopped lease the verdict that it was stopped for."""
    require_state(lease, *IN_USE)
    if lease.pause is not None and not (verb == "dispute" and lease.pause.why is Why.IDLE):
        since = minute(lease.pause.at)
        raise Refused("paused", f"{lease.id} is stopped since {since}: {lease.pause.words}. Start it again to use it")
    if lease.idle is None:
        raise Refused(
            "not-idle", f"{lease.id} is not seen idle now, so there is nothing to {verb}; nothing was changed"
        )
    return lease.idle
