"""What an open lease waits for, and whose answer that is: what people look for first when nothing moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from lessor.domain.approval import Step, waiting
from lessor.domain.lease import Lease, State


@dataclass(frozen=True)
class Wait:
    """One thing that is waited for: `what` in words, and since when, where that is known.

    `steps` are decided by the people who may, `who` are references as in `Person.refs`. Without either it is nobody's
    answer: lessor itself goes on.
    """

    what: str
    since: datetime | None
    steps: tuple[Step, ...] = ()
    who: tuple[str, ...] = ()


def waits(lease: Lease) -> Iterator[Wait]:
    """All that it waits for, decisions first."""
    owner = (f"person:{lease.owner}",)
    if lease.state is State.AWAITING_APPROVAL:
        yield from _decisions("approval", lease.steps, lease.asked_at)
        if lease.counter:
            yield Wait("answer to a proposal", lease.counter.at, who=owner)
        yield from (Wait("answer to a question", one.at, who=owner) for one in lease.questions if not one.answer)
    if lease.wish:
        yield from _decisions("later end", lease.wish.steps, lease.wish.at)
    if lease.transfer:
        yield Wait("new owner", lease.transfer.at, who=lease.transfer.to)
    if lease.state is State.WAITING_FOR_CAPACITY:
        yield Wait("capacity", lease.approved_at)
    if lease.state is State.BLOCKED:
        yield Wait("clean-up", lease.deleting_at, who=("admins",))


def _decisions(what: str, steps: tuple[Step, ...], asked: datetime | None) -> Iterator[Wait]:
    for step in waiting(steps):
        yield Wait(f"{what}: {step.name}", step.asked_at or asked, steps=(step,))
