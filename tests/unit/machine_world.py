"""The world beside a lease in the state machine: what exists in a place, who acts, which terms hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import strategies as st

from lessor.domain.lease import State
from lessor.domain.pending import Changes
from lessor.domain.people import StandIn
from lessor.domain.request import Market
from lessor.domain.resource import Condition, Kind, Resource, Sighting
from lessor.domain.terms import Terms
from lessor.domain.worktime import Hours
from tests.builders import (
    ADMIN,
    ASKED,
    FINANCE,
    MANAGER,
    MORNINGS,
    REQUESTER,
    STRANGER,
    a_person,
)

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

OTHER_SELF = a_person("W0REQUESTER", leads=("ml",), groups=("finance",), admin=True)
BY_MAIL = a_person("U0MAIL", email="Requester@example.test", leads=("ml",), groups=("finance",))
GONE_LEAD = a_person("U0GONE", leads=("ml",), groups=("finance",), active=False)
SECOND_LEAD = a_person("U0SECOND", leads=("ml",), groups=("finance",))
SAME_LEAD = a_person("W0SECOND", ids=("W0SECOND", "U0SECOND"), leads=("ml",), groups=("finance",))
LENT_BY_LEAD = a_person("U0DEPUTY", stands_in=(StandIn("U0MANAGER", (), ("lead:ml",)),))
LENT_BY_SELF = a_person("U0FRIEND", stands_in=(StandIn("W0REQUESTER", (), ("lead:ml", "group:finance", "admins")),))
PEOPLE = (
    REQUESTER,
    LENT_BY_LEAD,
    LENT_BY_SELF,
    OTHER_SELF,
    BY_MAIL,
    MANAGER,
    FINANCE,
    ADMIN,
    STRANGER,
    GONE_LEAD,
    SECOND_LEAD,
    SAME_LEAD,
)
SELVES = frozenset({"U0REQUESTER", "W0REQUESTER", "U0MAIL", "requester@example.test"})

people = st.sampled_from(PEOPLE)
wishes = st.builds(
    Changes,
    duration=st.sampled_from([None, None, 20 * MINUTE, 2 * HOUR, 3 * DAY]),
    count=st.sampled_from([None, 1, 4, 8, 16]),
    market=st.sampled_from([None, Market.SPOT, Market.ON_DEMAND]),
)
steps_of_time = st.sampled_from(
    [timedelta(), timedelta(seconds=1), MINUTE, 20 * MINUTE, HOUR, 9 * HOUR, 3 * DAY, 9 * DAY]
)
terms = st.builds(
    Terms,
    notice=st.sampled_from([timedelta(seconds=10), 5 * MINUTE, HOUR]),
    warnings=st.sampled_from([Terms().warnings, (), (MINUTE,)]),
    short_warnings=st.sampled_from([Terms().short_warnings, (), (timedelta(seconds=30),)]),
    max_total=st.sampled_from([DAY, 30 * DAY]),
    capacity_waits=st.sampled_from([(), (MINUTE,), Terms().capacity_waits]),
    verify_passes=st.sampled_from([1, 2, 3]),
    grace=st.sampled_from([timedelta(), HOUR, 7 * DAY]),
)
lengths = st.sampled_from([MINUTE, 20 * MINUTE, 8 * HOUR, 3 * DAY, 40 * DAY])
schedules = st.sampled_from(
    [None, None, MORNINGS, Hours("Etc/GMT-10", ((ASKED - DAY, 600),), days=(0, 2, 4), opens=22 * 60, closes=1_440)]
)
"""None most of the time, since what is suspended has fewer adventures of other kinds."""
nights = st.sampled_from([None, Hours("UTC", ((ASKED - DAY, 0),), opens=7 * 60, closes=22 * 60)])
starts = st.sampled_from([None, None, None, HOUR, 3 * DAY])
TIMED = {
    State.AWAITING_APPROVAL,
    State.WAITING_FOR_CAPACITY,
    State.ACTIVE,
    State.SUSPENDED,
    State.STOPPED,
    State.DELETING,
    State.BLOCKED,
}


STARTS = (
    State.REQUESTED,
    State.AWAITING_APPROVAL,
    State.APPROVED,
    State.PROVISIONING,
    State.ACTIVE,
    State.ACTIVE,
    State.STOPPED,
    State.STOPPED,
)


class World:
    """What exists in the place, whatever the lease knows of it."""

    def __init__(self) -> None:
        self.things: dict[str, Resource] = {}

    def create(self, *things: Resource) -> tuple[Resource, ...]:
        self.things |= {r.ref: r for r in things}
        return things

    def turn(self, kind: Kind, condition: Condition) -> None:
        self.things = {
            ref: replace(r, condition=condition) if r.kind is kind and r.condition is not Condition.GONE else r
            for ref, r in self.things.items()
        }

    def delete(self, refs: list[str]) -> None:
        for ref in refs:
            self.things[ref] = replace(self.things[ref], condition=Condition.GONE)

    @property
    def deletable(self) -> list[str]:
        return [ref for ref, r in self.things.items() if r.kind is not Kind.SNAPSHOT]

    @property
    def running(self) -> bool:
        return any(r.kind is Kind.INSTANCE and r.condition is Condition.RUNNING for r in self.things.values())

    @property
    def left(self) -> bool:
        return any(self.things[ref].condition is not Condition.GONE for ref in self.deletable)

    def seen(self, at: datetime, hidden: int = 0) -> Sighting:
        shown = tuple(self.things.values())[hidden:]
        return Sighting(shown, at, complete=not hidden, problem="throttled" if hidden else "")
