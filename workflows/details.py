"""What the Temporal UI shows of a lease: Markdown that tells an auditor the whole story without another tool."""

from __future__ import annotations

from datetime import datetime

from lessor.domain.lease import Lease, Span
from lessor.domain.request import spell

_ESCAPED = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|!~"})


def details(lease: Lease, now: datetime) -> str:
    """The current state of the lease as Markdown: who asked, who decided and why, price, resources, proof."""
    rows = [*_asked(lease), *_decided(lease), *_running(lease, now), *_ended(lease, now)]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows if value)
    return f"### {lease.id}: {lease.state.value}\n\n| | |\n|---|---|\n{table}\n"


def _asked(lease: Lease) -> list[tuple[str, str]]:
    request = lease.request
    end = _time(request.until) or f"{spell(request.length(lease.requested_at))} after it is ready"
    return [
        ("asked by", f"`{lease.owner}` for team `{_text(request.team, 40)}` at {_time(lease.requested_at)}"),
        ("what", f"{_text(str(request.need), 80)}, {request.market.value}, {_text(str(request.place), 80)}"),
        ("purpose", f"{request.workload.value}: {_text(request.purpose, 300)}"),
        ("asked until", end),
    ]


def _decided(lease: Lease) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if lease.quote:
        offer = lease.quote.offer
        rows.append(
            (
                "quote",
                f"{offer.instance_type} at {offer.hourly or 'unknown'} an hour ({_text(lease.quote.price_list, 60)})",
            )
        )
    if lease.decision:
        rules = "; ".join(f"`{_text(r.rule, 60)}`: {_text(r.text, 160)}" for r in lease.decision.reasons)
        rows.append(
            ("policy", f"**{lease.decision.outcome.value}** ({rules}), version `{lease.decision.policy_version[:12]}`")
        )
    for step in lease.steps:
        votes = ", ".join(f"`{v.by}` at {_time(v.at)}" for v in step.votes) or "nobody yet"
        rows.append(
            (
                f"step {_text(step.name, 40)}",
                f"{len(step.votes)} of {step.quorum}: {votes}; may decide: {', '.join(step.approvers)}",
            )
        )
    if lease.decided_at:
        why = f": {_text(lease.decided_reason, 200)}" if lease.decided_reason else ""
        rows.append(("decided by", f"`{lease.decided_by}` at {_time(lease.decided_at)}{why}"))
    return rows


def _running(lease: Lease, now: datetime) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if lease.capacity:
        rows.append(("capacity", f"none found in {lease.capacity.tries} tries; next {_time(lease.capacity.next_try)}"))
    if lease.resources:
        rows.append(("resources", ", ".join(f"`{r.ref}`" for r in lease.resources[:20])))
    rows += _holders(lease)
    if lease.ready_at:
        rows.append(("usable since", _time(lease.ready_at)))
    if lease.ends_at:
        rows.append(("ends", f"{_time(lease.ends_at)}, extended {lease.extensions} times"))
    if lease.warned:
        rows.append(("warned", ", ".join(f"{_time(w.at)} by {w.via}" for w in lease.warned)))
    return rows


def _holders(lease: Lease) -> list[tuple[str, str]]:
    """Whose it is, where that is not just whoever asked for it."""
    offered = lease.transfer
    return [
        ("owner", f"`{lease.owner}`" if lease.former_owners else ""),
        ("owned before by", ", ".join(f"`{one}`" for one in lease.former_owners)),
        ("shared with", ", ".join(f"`{one.id}`" for one in lease.co_owners)),
        ("offered to", f"{_text(', '.join(offered.to), 200)} until {_time(offered.expires)}" if offered else ""),
    ]


def _ended(lease: Lease, now: datetime) -> list[tuple[str, str]]:
    cost = lease.cost(now)
    spans: tuple[Span, ...] = lease.spans
    return [
        ("cost so far", f"{cost or 'unknown'} for {spell(lease.hours(now))}" if spans else ""),
        ("ended by", _text(lease.ending_reason, 200)),
        ("stopped", f"{_time(lease.stopped_at)}, deleted after {spell(lease.terms.grace)}" if lease.stopped_at else ""),
        ("left over", ", ".join(f"`{r}`" for r in lease.left[:20])),
        ("problem", _text(lease.problem, 300)),
        ("proof of deletion", _text(lease.proof, 600)),
    ]


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else ""


def _text(text: str, most: int) -> str:
    """A person's words, inert in Markdown and on one line."""
    line = " ".join(text.split())
    return (line if len(line) <= most else line[: most - 1] + "…").translate(_ESCAPED)
