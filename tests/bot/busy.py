"""What can stand around a lease and wait on it, all at once, for tests of words and lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from bot.around import Around, Decider, OpenStep, Room, Similar
from lessor.domain.approval import Step, Vote
from lessor.domain.idle import Evidence, IdleTerms, Verdict
from lessor.domain.ladder import Ladder, Pause, Snooze, Spared, Why
from lessor.domain.lease import IN_USE, Announced, Lease, State, Storage
from lessor.domain.pending import Changes, CoOwner, Counter, Exemption, Question, Transfer, Wish
from lessor.domain.policy import Reason, Suggestion
from lessor.domain.request import Market
from lessor.domain.worktime import Hours
from tests.builders import ASKED, FINANCE, MANAGER, a_need, an_offer, usd

LATER = ASKED + timedelta(days=2)


def around(lease: Lease) -> Around:
    """Two steps side by side, one of them with a vote and a stand-in; ceilings that fit, do not, and are unknown."""
    manager = Step("manager", ("lead:ml",), 2, (Vote(FINANCE.id, ASKED, stood_in="U0AWAY"),), asked_at=ASKED)
    finance = Step("finance", ("group:finance",), escalated="admins", escalations=1, asked_at=ASKED)
    return Around(
        (
            OpenStep(manager, (Decider(MANAGER.id), Decider(FINANCE.id, "U0AWAY", LATER))),
            OpenStep(finance, (Decider(FINANCE.id),)),
        ),
        (
            Room("team:ml", "A100-80GB", Decimal(3), Decimal(8)),
            Room("team:ml", "USD in 2026-11", Decimal("-12.50"), Decimal(1000), hard=False),
            Room("project:p", "GPU-hours in 2026-11", None, Decimal(100)),
        ),
        (Similar("gpu-00000001", a_need(), "active", LATER), Similar("gpu-00000002", a_need(), "approved")),
    )


def busy(lease: Lease, text: Callable[[str], str] = str) -> Lease:
    """The lease with everything on it that its state allows; `text` makes each of people's words longer."""
    counter = Counter(
        MANAGER.id, Changes(timedelta(hours=4), None, 4, "g6.xlarge", Market.SPOT), ASKED, (), text("too long")
    )
    asked = Question(MANAGER.id, text("which data?"), ASKED)
    answered = replace(asked, answer=text("ours"), answered_by=lease.owner, answered_at=ASKED)
    waiting = lease.state is State.AWAITING_APPROVAL
    in_use = lease.state in IN_USE and lease.ends_at is not None
    end = lease.ends_at or LATER
    steps = (Step("lead", ("lead:ml",), asked_at=ASKED, lapses_at=LATER),)
    hours = Hours("Europe/Berlin", ((ASKED, 60),), (0, 1, 2, 3, 4), 540, 1080)
    suggestion = Suggestion("cheaper", text("spot fits"), market="spot")
    decision = replace(lease.decision, suggestions=(suggestion,)) if lease.decision else None
    other = an_offer(instance_type="g6.xlarge", hourly=usd("2.50"))
    quote = replace(lease.quote, alternatives=(other,), note="2 of 8 left") if lease.quote else None
    return replace(
        lease,
        decision=decision,
        quote=quote,
        request=replace(lease.request, start=ASKED, project="ranker", data="secret", schedule="office"),
        counter=counter if waiting else None,
        questions=(answered, asked),
        wish=Wish(
            end + timedelta(days=1), lease.owner, ASKED, text("more epochs"), (), steps, (Reason("long", text("x")),)
        )
        if in_use
        else None,
        transfer=Transfer((f"person:{FINANCE.id}",), "ml", lease.owner, ASKED, LATER) if in_use else None,
        co_owners=(CoOwner(FINANCE.id),),
        former_owners=("U0FORMER",),
        schedule=hours,
        announced=Announced(ASKED + timedelta(hours=9), ASKED) if lease.state is State.ACTIVE else None,
        exemption=Exemption(LATER, lease.owner, ASKED, text("deadline")) if in_use else None,
        **_doing_nothing(lease, text),
    )


def _doing_nothing(lease: Lease, text: Callable[[str], str]) -> dict[str, Any]:
    """Everything about idleness at once, whether or not it can be so together."""
    seen = Evidence(
        *(Verdict.HELD, ASKED, ASKED + timedelta(hours=1), 8, 7, 0.98, 0.004, 0.0, 0.93, 61.0, 2.0, 12_000.0, None),
        peak_sessions=0,
        active_at=ASKED,
        active_kind="gpu",
    )
    terms = IdleTerms(stop=timedelta(hours=4), power=200.0, origins={"stop": text("project ranker")})
    return {
        "idle": Ladder(seen, terms, held_back=text("the brake is on")) if lease.state is State.ACTIVE else None,
        "snooze": Snooze(LATER, lease.owner, ASKED, text("a demo")),
        "spared": Spared("U0ADMIN", ASKED, text("serves customers")),
        "pause": Pause(Why.IDLE, "lessor", ASKED, text("idle since noon")) if lease.state is State.SUSPENDED else None,
        "volatile": True,
        "storage": (Storage(ASKED, None, 500, usd("0.08")),),
        "cap_told": (50, 80),
    }
