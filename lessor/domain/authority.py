"""Who may act on a lease that exists and get into it: its owner and co-owners under any id, its team's lead,
administrators, and everybody of its team where it is shared with the team. Not those who owned it before.
"""

from __future__ import annotations

from lessor.domain.errors import Refused
from lessor.domain.lease import Lease, minute
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, StepSpec


def require_steward(lease: Lease, person: Person) -> None:
    """Raise `Refused` ("not-owner" or "inactive") unless `person` may extend, release, keep or restore the lease."""
    if not person.active:
        raise Refused("inactive", "this account is deactivated and cannot act on leases")
    team = lease.request.team
    member = f"team:{team}" in lease.holder_ids and team in person.teams
    if not (person.is_same(lease.holder_ids) or member or person.admin or team in person.leads):
        raise Refused(
            "not-owner",
            f"{lease.id} belongs to somebody else; its owner, the lead of team {team} or an administrator can do this",
        )


def require_member(lease: Lease, person: Person) -> None:
    """Raise `Refused` ("not-in-team") when a steward left the team that pays: it is not made longer by them (case F04).

    Co-owners who never belonged to the team, its lead and administrators may go on.
    """
    team = lease.request.team
    if person.admin or team in person.teams or team in person.leads:
        return
    belonged = {lease.owner, *lease.owner_ids}
    belonged |= {i for one in lease.co_owners if one.member for i in (one.id, *one.ids)}
    if person.is_same(frozenset(belonged - {""})):
        ends = f" and ends at {minute(lease.ends_at)}" if lease.ends_at else ""
        raise Refused(
            "not-in-team",
            f"you do not belong to team {team} any more, which pays for {lease.id}; it keeps running as it was{ends}. "
            "Ask the team's lead to extend it",
        )


def may_enter(lease: Lease, viewer: Person) -> bool:
    """Whether the viewer is shown how to get in, and what else only a steward is offered."""
    try:
        require_steward(lease, viewer)
    except Refused:
        return False
    return True


def require_covered(lease: Lease, decision: Decision, person: Person) -> None:
    """Raise `Refused` unless those whom the policy would ask about a longer lease approved it, or `person` is one.

    `decision` is what the policy says of the lease with its new length: an extension is no way around the rules.
    """
    if decision.outcome is Outcome.APPROVE:
        return
    why = "; ".join(f"{r.rule}: {r.text}" for r in decision.reasons)
    kept = f"the lease still ends at {minute(lease.ends_at)}" if lease.ends_at else "nothing was changed"
    if decision.outcome is Outcome.DENY:
        raise Refused("policy", f"so long a lease is not allowed ({why}); {kept}")
    missing = [step for step in decision.steps if not _covered(step, lease, person)]
    if missing:
        names = ", ".join(f"{step.name} ({', '.join(step.approvers)})" for step in missing)
        raise Refused(
            "needs-approval",
            f"so long a lease needs the approval of {names}, because of {why}; {kept}. "
            "Ask one of them to extend it, or make a new request",
        )


def _covered(wanted: StepSpec, lease: Lease, person: Person) -> bool:
    decides = not person.is_same(lease.requester_ids) and not person.refs.isdisjoint(wanted.approvers)
    asked = (step for step in lease.steps if set(wanted.approvers) <= set(step.approvers))
    return (decides and wanted.quorum <= 1) or any(len(step.votes) >= wanted.quorum for step in asked)
