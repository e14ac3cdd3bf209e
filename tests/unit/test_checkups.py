"""Whether places let us do what leases need: who is asked, and who is told of what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from lessor.checkups import check_places, tell_checkups
from lessor.contracts import Alarm, Delivery, PageInput
from lessor.domain.checkup import Checkup
from lessor.domain.request import Place
from lessor.ports import PermanentError, Provider, Watch

LAB, US = Place("kubernetes", "lab"), Place("aws", "research-us")


class Knowing:
    """A provider that knows what it may do."""

    def checkup(self, place: Place) -> Checkup:
        if place != LAB:
            raise PermanentError(f"{place.name} is no cluster", "unknown-place")
        return Checkup(place.name, ("list pods in every namespace: to see who holds GPUs",))


@dataclass
class Reading:
    """A place that can only be read."""

    answer: Callable[[], Any] = tuple

    def conditions(self, place: Place) -> Any:
        return self.answer()


@dataclass
class Pages:
    sent: list[PageInput] = field(default_factory=list)
    broken: bool = False

    async def __call__(self, page: PageInput) -> Delivery:
        if self.broken:
            raise RuntimeError("Slack is down")
        self.sent.append(page)
        return Delivery(True)


def refused() -> Any:
    raise PermanentError("access denied", "forbidden")


async def looked(places: list[Place], reading: Reading) -> tuple[Checkup, ...]:
    providers = cast(dict[str, Provider], {"kubernetes": Knowing(), "aws": object()})
    return await check_places(providers, cast(dict[str, Watch], {"aws": reading}), places)


async def test_places_are_asked_by_their_own_word_or_read_once() -> None:
    assert await looked([LAB, US], Reading()) == (
        Checkup("lab", ("list pods in every namespace: to see who holds GPUs",)),
        Checkup("research-us"),
    )


async def test_a_place_that_cannot_be_read_is_not_fine() -> None:
    [found] = await looked([US], Reading(refused))
    assert (found, found.fine) == (Checkup("research-us", problem="access denied"), False)


async def test_a_place_that_its_provider_does_not_know_is_a_problem() -> None:
    [found] = await looked([Place("kubernetes", "gone")], Reading())
    assert found == Checkup("gone", problem="gone is no cluster")


async def test_a_kind_of_place_that_nothing_provides_is_a_problem() -> None:
    [found] = await looked([Place("machines", "pool")], Reading())
    assert found.problem == "no provider of kind machines is there"


async def test_administrators_are_paged_for_missing_rights_only() -> None:
    """A place that gives no answer is the sweep's to tell, once that lasts."""
    pages = Pages()
    missing = Checkup("lab", ("create namespaces in the cluster: w", "list nodes in the cluster: g"))
    await tell_checkups([missing, Checkup("other"), Checkup("away", problem="gave no answer")], pages)
    words = "create namespaces in the cluster: w; list nodes in the cluster: g"
    assert pages.sent == [PageInput(Alarm.RIGHTS, "lab", words)]


async def test_administrators_are_paged_where_leases_cannot_be_ended_any_more() -> None:
    pages = Pages()
    await tell_checkups([Checkup("pool", problem="lessor.yaml has no hooks of pool any more", urgent=True)], pages)
    assert pages.sent == [PageInput(Alarm.RIGHTS, "pool", "lessor.yaml has no hooks of pool any more")]


async def test_a_worker_goes_on_when_nobody_can_be_told() -> None:
    await tell_checkups([Checkup("lab", ("list pods",))], Pages(broken=True))


def test_a_long_list_is_cut_and_says_so() -> None:
    assert str(Checkup("lab", tuple(f"right {n}" for n in range(14)))).endswith("right 11; and 2 more")
