"""Who may act on a lease that exists and get into it: its owner and co-owners under any id, its team's lead,
administrators, and everybody of its team where it is shared with the team. Not those who owned it before.
"""

from __future__ import annotations

from lessor.domain.approval import Step, Vote
from lessor.domain.errors import Refused
from lessor.domain.lease import Lease, minute
from lessor.domain.people import Person
from lessor.domain.policy import Decision, Outcome, Reason, StepSpec


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
    if belongs(lease, person):
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


def belongs(lease: Lease, person: Person) -> bool:
    """Whether the person is of the team that pays, leads it, or is an administrator."""
    team = lease.request.team
    return person.admin or team in person.teams or team in person.leads


def may_enter(lease: Lease, viewer: Person) -> bool:
    """Whether the viewer is shown how to get in, and what else only a steward is offered."""
    try:
        require_steward(lease, viewer)
    except Refused:
        return False
    return True


def require_allowed(lease: Lease, decision: Decision) -> None:
    """Raise `Refused` ("policy") for an end that the policy denies, whoever would approve it.

    What it says may have nothing to do with the length, such as a budget of which nobody knows what is left.
    """
    if decision.outcome is Outcome.DENY:
        why = _spelled(decision.reasons)
        raise Refused("policy", f"the policy does not let it run until then ({why}); {_kept(lease)}")


def asked_for_longer(lease: Lease, decision: Decision) -> tuple[StepSpec, ...]:
    """Who has to approve a longer lease: whom the policy asks; after its free extensions those who were asked before,
    or the team's lead.

    `decision` is what the policy says of the lease with its new length.
    """
    if decision.outcome is not Outcome.APPROVE:
        return decision.steps
    if lease.extensions < lease.terms.auto_extensions:
        return ()
    before = lease.decision.steps if lease.decision else ()
    return before or (StepSpec("extension", (f"lead:{lease.request.team}",)),)


def why_asked(lease: Lease, decision: Decision) -> tuple[Reason, ...]:
    """Why people are asked about a longer lease, the policy's reasons or that it had its free extensions."""
    if decision.outcome is not Outcome.APPROVE:
        return decision.reasons
    used = f"it was extended {lease.extensions} times; people decide on more than {lease.terms.auto_extensions}"
    return (Reason("extensions", used),)


def covers(wanted: StepSpec, lease: Lease, person: Person, *, earlier: bool) -> bool:
    """Whether a step needs nobody any more: `person` may decide it, or it was decided `earlier` for this lease.

    What was decided counts if only those were asked who are `wanted`, without votes of who holds it by now (law 6).
    """
    decides = not person.is_same(lease.requester_ids) and not person.refs.isdisjoint(wanted.approvers)
    asked = (step for step in lease.steps if _first_asked(step) <= set(wanted.approvers))
    approved = earlier and any(len(_of_others(step, lease)) >= wanted.quorum for step in asked)
    return (decides and wanted.quorum <= 1) or approved


def require_covered(lease: Lease, decision: Decision, person: Person) -> None:
    """Raise `Refused` unless those whom the policy would ask about a longer lease approved it, or `person` is one.

    For what cannot wait for people: a stopped lease that is asked back. `decision` is what the policy says of the lease
    with its new length: coming back is no way around the rules, nor around the number of free extensions.
    """
    require_allowed(lease, decision)
    free = lease.extensions < lease.terms.auto_extensions
    wanted = asked_for_longer(lease, decision)
    missing = [step for step in wanted if not covers(step, lease, person, earlier=free)]
    if missing:
        names = ", ".join(f"{step.name} ({', '.join(step.approvers)})" for step in missing)
        why = _spelled(why_asked(lease, decision))
        raise Refused(
            "needs-approval",
            f"running until then needs the approval of {names}, because of {why}; {_kept(lease)}. "
            "Ask one of them to do it, or make a new request",
        )


def _first_asked(step: Step) -> set[str]:
    """Whom the policy asked, without the levels that the step was opened to since."""
    return set(step.approvers) - set(step.escalated.split(", "))


def _of_others(step: Step, lease: Lease) -> tuple[Vote, ...]:
    """The votes that count, without those of people who hold the lease by now."""
    mine = {i.casefold() for i in lease.requester_ids}
    return tuple(v for v in step.counted if mine.isdisjoint(i.casefold() for i in (v.by, *v.ids, v.stood_in)))


def _spelled(reasons: tuple[Reason, ...]) -> str:
    return "; ".join(f"{r.rule}: {r.text}" for r in reasons)


def _kept(lease: Lease) -> str:
    if lease.stopped_at is not None:
        return f"it stays stopped and is deleted at {minute(lease.stopped_at + lease.terms.grace)}"
    return f"the lease still ends at {minute(lease.ends_at)}" if lease.ends_at else "nothing was changed"
