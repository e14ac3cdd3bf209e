"""What the Temporal UI shows of a lease: Markdown that tells an auditor the whole story without another tool."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from lessor.domain import capping, changes, ends, rungs, suspension
from lessor.domain.approval import Step, Vote
from lessor.domain.costing import added_cost, storage_cost
from lessor.domain.disks import added
from lessor.domain.lease import Lease, Span
from lessor.domain.request import spell

QUESTIONS_MOST = 3

_ESCAPED = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|!~"})


def details(lease: Lease, now: datetime) -> str:
    """The current state of the lease as Markdown: who asked, who decided and why, price, resources, proof."""
    rows = [*_asked(lease), *_decided(lease), *_running(lease, now), *_ended(lease, now)]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows if value)
    return f"### {lease.id}: {lease.state.value}\n\n| | |\n|---|---|\n{table}\n"


def _asked(lease: Lease) -> list[tuple[str, str]]:
    request = lease.request
    end = _time(request.until) or f"{spell(request.length(lease.requested_at))} after it is ready"
    moved = bool(lease.former_owners)
    team = "" if moved else f" for team `{_text(request.team, 40)}`"
    return [
        ("asked by", f"`{request.requester if moved else lease.owner}`{team} at {_time(lease.requested_at)}"),
        ("what", f"{_text(str(request.need), 80)}, {request.market.value}, {_text(str(request.place), 80)}"),
        ("purpose", f"{request.workload.value}: {_text(request.purpose, 300)}"),
        ("reserved from", _time(request.start)),
        ("asked until", end),
    ]


def _decided(lease: Lease) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if lease.quote:
        offer = lease.quote.offer
        rows.append(
            (
                "quote",
                f"{offer} at {offer.hourly or 'unknown'} an hour ({_text(lease.quote.price_list, 60)})",
            )
        )
    if lease.decision:
        rules = "; ".join(f"`{_text(r.rule, 60)}`: {_text(r.text, 160)}" for r in lease.decision.reasons)
        rows.append(
            ("policy", f"**{lease.decision.outcome.value}** ({rules}), version `{lease.decision.policy_version[:12]}`")
        )
    rows += [*_steps("step", lease.steps), *_talked(lease)]
    if lease.decided_at:
        why = f": {_text(lease.decided_reason, 200)}" if lease.decided_reason else ""
        rows.append(("decided by", f"`{lease.decided_by}` at {_time(lease.decided_at)}{why}"))
    return rows


def _steps(kind: str, steps: tuple[Step, ...]) -> Iterator[tuple[str, str]]:
    """Who decided each step, for whom they stood in, and what became of it while nobody did."""
    for step in steps:
        votes = ", ".join(_vote(vote) for vote in step.votes) or "nobody yet"
        told = [f"{len(step.counted)} of {step.quorum}: {votes}", f"may decide: {', '.join(step.approvers)}"]
        if step.escalated:
            why = "nobody decided in time" if step.escalations else "nobody else could decide"
            told.append(f"escalated to {_text(step.escalated, 80)}: {why}")
        if step.reminders:
            told.append(f"reminded {step.reminders} times")
        told += _clock(step)
        yield f"{kind} {_text(step.name, 40)}", "; ".join(told)


def _clock(step: Step) -> list[str]:
    """Since when a step waits, and what comes next while nobody decides."""
    if step.done or step.asked_at is None:
        return []
    coming = {"reminds": step.remind_at, "asks the next level": step.escalate_at, "lapses": step.lapses_at}
    return [f"asked at {_time(step.asked_at)}", *(f"{what} at {_time(at)}" for what, at in coming.items() if at)]


def _vote(vote: Vote) -> str:
    stood_in = f", standing in for `{vote.stood_in}`," if vote.stood_in else ""
    return f"`{vote.by}`{stood_in} at {_time(vote.at)}"


def _talked(lease: Lease) -> list[tuple[str, str]]:
    """What was said before the decision: other terms that were proposed, questions and their answers."""
    rows: list[tuple[str, str]] = []
    if lease.counter:
        wanted = _text(changes.describe(lease.counter.changes), 200)
        rows.append(("proposed instead", f"`{lease.counter.by}` at {_time(lease.counter.at)}: {wanted}"))
    for one in lease.questions[-QUESTIONS_MOST:]:
        answer = f"; `{one.answered_by}`: {_text(one.answer, 200)}" if one.answer else "; no answer yet"
        rows.append(("question", f"`{one.by}`: {_text(one.text, 200)}{answer}"))
    return rows


def _running(lease: Lease, now: datetime) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if lease.capacity and lease.capacity.queued:
        rows.append(("queue", f"{', '.join(lease.capacity.tried)}; looked at again {_time(lease.capacity.next_try)}"))
    elif lease.capacity:
        rows.append(("capacity", f"none found in {lease.capacity.tries} tries; next {_time(lease.capacity.next_try)}"))
    if lease.resources:
        rows.append(("resources", ", ".join(f"`{r.ref}`" for r in lease.resources[:20])))
    rows += _holders(lease)
    if lease.ready_at:
        rows.append(("usable since", _time(lease.ready_at)))
    if over := ends.over(lease):
        rows.append(("ended", f"{_time(over)}, extended {lease.extensions} times"))
    elif lease.ends_at:
        rows.append(("ends", f"{_time(lease.ends_at)}, extended {lease.extensions} times"))
    rows += _lasting(lease)
    rows += _idle(lease, now)
    if lease.warned:
        rows.append(("warned", ", ".join(f"{_time(w.at)} by {w.via}" for w in lease.warned)))
    return rows


def _lasting(lease: Lease) -> list[tuple[str, str]]:
    """What else moves its end or its hours: a later end that people decide on, a schedule, an exemption from it."""
    rows: list[tuple[str, str]] = []
    if lease.wish:
        rows.append(("later end asked", f"`{lease.wish.by}` until {_time(lease.wish.until)}"))
        rows.append(("runs on meanwhile", f"until {_time(lease.runs_until)} at the longest"))
        rows += _steps("later end", lease.wish.steps)
    if lease.schedule:
        hours = suspension.spelled(lease.schedule)
        rows.append(("working hours", f"{_text(lease.request.schedule or 'of the team', 40)}: {hours}"))
    if lease.suspended_at:
        rows.append(("suspended since", _time(lease.suspended_at)))
    if lease.exemption:
        why = _text(lease.exemption.reason, 200)
        rows.append(("runs on until", f"{_time(lease.exemption.until)}, by `{lease.exemption.by}`: {why}"))
    return rows


def _idle(lease: Lease, now: datetime) -> Iterator[tuple[str, str]]:
    """Since when it does nothing and what follows from that, what people said to it, and why it is stopped."""
    if lease.idle:
        seen, stops = lease.idle.evidence, rungs.stops_at(lease, now)
        told = ", ".join(f"{one.rung.value} at {_time(one.at)} by {one.via}" for one in lease.idle.told)
        yield f"{seen.verdict.value} since", f"{_time(seen.since)}, as seen at {_time(seen.at)}"
        yield "warned of being idle", told
        yield "stops as idle", _time(stops) or _text(rungs.barred(lease, now), 200)
        yield "not stopped yet", _text(lease.idle.held_back, 200)
    if lease.snooze and lease.snooze.until > now:
        yield "snoozed until", f"{_time(lease.snooze.until)}, by `{lease.snooze.by}`: {_text(lease.snooze.reason, 200)}"
    if lease.disputed:
        yield (
            "verdict disputed",
            f"`{lease.disputed.by}` at {_time(lease.disputed.at)}: {_text(lease.disputed.reason, 200)}",
        )
    if lease.pause:
        yield "stopped by", f"`{lease.pause.by}` at {_time(lease.pause.at)}: {_text(lease.pause.words, 200)}"


def _holders(lease: Lease) -> list[tuple[str, str]]:
    """Whose it is, where that is not just whoever asked for it."""
    offered = lease.transfer
    return [
        ("owner", f"`{lease.owner}`, team `{_text(lease.request.team, 40)}` pays" if lease.former_owners else ""),
        ("owned before by", ", ".join(f"`{one}`" for one in lease.former_owners)),
        ("shared with", ", ".join(f"`{one.id}`" for one in lease.co_owners)),
        ("offered to", f"{_text(', '.join(offered.to), 200)} until {_time(offered.expires)}" if offered else ""),
    ]


def _ended(lease: Lease, now: datetime) -> list[tuple[str, str]]:
    cost = lease.cost(now)
    spans: tuple[Span, ...] = lease.spans
    return [
        ("cost so far", f"{cost or 'unknown'} for {spell(lease.hours(now))}" if spans else ""),
        ("may cost at most", capping.spelled(lease, now)),
        ("of that for disks", str(storage_cost(lease, now) or "unknown") if lease.storage else ""),
        ("of that for added disks", str(added_cost(lease, now) or "unknown") if added(lease.storage) else ""),
        ("ended by", _text(lease.ending_reason, 200)),
        ("stopped", f"{_time(lease.stopped_at)}, deleted after {spell(lease.terms.grace)}" if lease.stopped_at else ""),
        ("left over", ", ".join(f"`{r}`" for r in lease.left[:20])),
        ("problem", _text(lease.problem, 300)),
        ("held up", _text(lease.held, 300)),
        ("proof of deletion", _text(lease.proof, 600)),
    ]


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else ""


def _text(text: str, most: int) -> str:
    """A person's words, inert in Markdown and on one line."""
    line = " ".join(text.split())
    return (line if len(line) <= most else line[: most - 1] + "…").translate(_ESCAPED)
