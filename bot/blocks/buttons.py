"""Which buttons a lease has in its state; each carries the lease's id."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bot.blocks.message import button, confirmation
from bot.facts import remaining
from bot.ids import Do
from lessor.domain.lease import Lease, State
from lessor.domain.transitions import BEFORE_USE


def decide(lease: Lease) -> list[Any]:
    """For those who can decide."""
    return [
        button("Approve", Do.APPROVE, lease.id, style="primary"),
        button("Deny", Do.DENY, lease.id, style="danger"),
        details(lease),
    ]


def details(lease: Lease) -> Any:
    return button("Details", Do.DETAILS, lease.id)


def owner(lease: Lease, now: datetime) -> list[Any]:
    """For the owner: what the state allows, without what would be refused anyway."""
    if lease.state is State.ACTIVE:
        return [*_extend(lease), release(lease)]
    if lease.state is State.STOPPED:
        return _restore(lease, now)
    return [withdraw(lease)] if lease.state in BEFORE_USE else []


def warned(lease: Lease) -> list[Any]:
    """Under a warning."""
    return [*_extend(lease), release(lease), button("Keep until the end", Do.KEEP, lease.id)]


def release(lease: Lease) -> Any:
    ask = confirmation(
        f"Release {lease.id}?",
        "The machine is stopped now and deleted after the grace period. Until then it can be restored.",
        "Release now",
        "Not yet",
    )
    return button("Release now", Do.RELEASE, lease.id, style="danger", confirm=ask)


def withdraw(lease: Lease) -> Any:
    ask = confirmation(
        f"Withdraw {lease.id}?", "Nothing is decided or created after this.", "Withdraw", "Keep the request"
    )
    return button("Withdraw", Do.WITHDRAW, lease.id, confirm=ask)


def _extend(lease: Lease) -> list[Any]:
    return [button("Extend", Do.EXTEND, lease.id, style="primary")] if remaining(lease) else []


def _restore(lease: Lease, now: datetime) -> list[Any]:
    possible = lease.stoppable and lease.last_end and lease.last_end >= now + lease.terms.min_duration
    return [button("Restore", Do.RESTORE, lease.id, style="primary")] if possible else []
