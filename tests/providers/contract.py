"""What every provider must do, whatever vendor is behind it. Subclass `ProviderContract` and give it a `subject`.

The suite speaks the port only. What really exists is asked of the subject, which looks behind the provider's back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from lessor.domain.provisioning import Order
from lessor.domain.request import Market, Need, Place
from lessor.domain.resource import LEASED, Condition, Kind, Resource
from lessor.ports import NoCapacityError, PermanentError, Provider, ProviderError, RetryableError, Watch
from tests.providers.attempts import Beats, Stopped, silent
from tests.providers.lives import create, whole_life

NEVER_SOLD = Need("a GPU that nobody makes", 1)


@dataclass(frozen=True)
class Subject:
    """A provider in a place that can be broken on purpose.

    `restart` gives a provider that remembers nothing. `existing` lists the ids of all that exists of a lease, kept
    snapshots left out. `copy_tags` makes something that carries the lease's tags but was not made by the provider;
    its id comes back. `break_reads` makes every second list of the place unreadable until `mend`; `throttle` refuses
    the next calls with "later"; `lose_answer` does the next launch and swallows the answer; `refuse_all` leaves no
    capacity. `now` is the time in whole seconds. `at_once` is how many leases are taken down at once where many have
    to be: a place that takes its time with each of them does so with all of them together. `lease` and `another` are
    leases of this test alone where a place still takes down what the test before made.
    """

    provider: Provider
    watch: Watch
    place: Place
    need: Need
    order: Callable[[str], Order]
    restart: Callable[[], Provider]
    existing: Callable[[str], list[str]]
    copy_tags: Callable[[str], str]
    break_reads: Callable[[], None]
    mend: Callable[[], None]
    throttle: Callable[[int], None]
    lose_answer: Callable[[], None]
    refuse_all: Callable[[], None]
    now: Callable[[], datetime]
    at_once: int = 1
    lease: str = "gpu-00000002"
    another: str = "gpu-00000003"


class ProviderContract:
    """The suite."""

    @pytest.fixture
    def subject(self) -> Subject:
        raise NotImplementedError

    # -- quotes ---------------------------------------------------------------------------------------------------

    def test_offers_are_sorted_with_unknown_prices_last(self, subject: Subject) -> None:
        offers = subject.provider.offers(subject.need, subject.place, Market.ON_DEMAND)
        assert offers
        prices = [offer.hourly for offer in offers]
        known = [price for price in prices if price is not None]
        assert known == sorted(known)
        assert prices[len(known) :] == [None] * (len(prices) - len(known))
        assert all(price.amount > 0 for price in known)

    def test_a_quote_is_the_first_offer_and_says_where_the_price_is_from(self, subject: Subject) -> None:
        now = subject.now()
        quote = subject.provider.quote(subject.need, subject.place, Market.ON_DEMAND, now)
        assert quote.offer == subject.provider.offers(subject.need, subject.place, Market.ON_DEMAND)[0]
        assert quote.at == now
        assert quote.price_list
        assert quote.offer.gpu_count >= subject.need.count

    def test_what_is_not_sold_is_refused_with_what_is(self, subject: Subject) -> None:
        assert subject.provider.offers(NEVER_SOLD, subject.place, Market.ON_DEMAND) == ()
        with pytest.raises(PermanentError) as caught:
            subject.provider.quote(NEVER_SOLD, subject.place, Market.ON_DEMAND, subject.now())
        offered = subject.provider.offers(subject.need, subject.place, Market.ON_DEMAND)[0]
        assert offered.gpu_model in str(caught.value)
        assert caught.value.code == "no-offer"

    # -- creating -------------------------------------------------------------------------------------------------

    def test_candidates_are_the_same_every_time_with_tokens_of_their_own(self, subject: Subject) -> None:
        first = list(subject.provider.candidates(subject.order(subject.lease)))
        tokens = [candidate.token for candidate in first]
        assert tokens == [candidate.token for candidate in subject.restart().candidates(subject.order(subject.lease))]
        assert len(set(tokens)) == len(tokens) > 0
        assert all(token.isascii() and 0 < len(token) <= 64 for token in tokens)
        theirs = [candidate.token for candidate in subject.provider.candidates(subject.order(subject.another))]
        assert set(tokens).isdisjoint(theirs)

    def test_a_second_launch_returns_what_the_first_made(self, subject: Subject) -> None:
        order = subject.order(subject.lease)
        candidate = subject.provider.candidates(order)[0]
        first = subject.provider.launch(order, candidate, silent)
        assert ids(subject.restart().launch(order, candidate, silent)) == ids(first)

    def test_another_candidate_returns_it_as_well(self, subject: Subject) -> None:
        order = subject.order(subject.lease)
        candidates = subject.provider.candidates(order)
        first = subject.provider.launch(order, candidates[0], silent)
        assert ids(subject.restart().launch(order, candidates[-1], silent)) == ids(first)

    def test_a_lost_answer_leaves_one_resource(self, subject: Subject) -> None:
        order = subject.order(subject.lease)
        candidate = subject.provider.candidates(order)[0]
        subject.lose_answer()
        with pytest.raises(RetryableError):
            subject.provider.launch(order, candidate, silent)
        provisioned = create(subject.restart(), order)
        assert sorted(subject.existing(subject.lease)) == sorted(r.id for r in provisioned.resources)

    def test_no_capacity_names_what_was_tried(self, subject: Subject) -> None:
        order = subject.order(subject.lease)
        candidate = subject.provider.candidates(order)[0]
        subject.refuse_all()
        with pytest.raises(NoCapacityError) as caught:
            subject.provider.launch(order, candidate, silent)
        assert caught.value.tried == (str(candidate),)
        assert subject.existing(subject.lease) == []

    def test_what_is_usable_says_how_to_get_in_and_since_when_it_costs(self, subject: Subject) -> None:
        order = subject.order(subject.lease)
        begun = subject.now()
        provisioned = create(subject.provider, order)
        assert provisioned.access
        assert begun <= provisioned.launched_at <= subject.now()
        assert provisioned.launched_at.tzinfo is UTC
        assert provisioned.hourly == order.quote.offer.hourly
        assert sorted(r.id for r in provisioned.resources) == sorted(subject.existing(subject.lease))

    @pytest.mark.parametrize("call", ["launch", "await_usable", "stop", "delete"])
    def test_an_attempt_that_is_not_current_changes_nothing_more(self, subject: Subject, call: str) -> None:
        """Stopped at each heartbeat, then run again: exactly the right resources (cases B13, B27)."""
        waiting: list[Order] = []
        for stop_at in range(20):
            order = subject.order(f"gpu-0000010{stop_at}")
            stopped = False
            try:
                whole_life(subject.restart(), order, call, Beats(stop_at))
            except Stopped:
                stopped = True
            if stopped and call in ("launch", "await_usable"):
                provisioned = create(subject.restart(), order)
                assert sorted(subject.existing(order.lease_id)) == sorted(ids(provisioned.resources))
            waiting.append(order)
            if len(waiting) == subject.at_once or not stopped:
                clear(subject, waiting)
                waiting = []
            if not stopped:
                break
        assert 0 < stop_at < 19

    # -- looking --------------------------------------------------------------------------------------------------

    def test_a_look_shows_all_that_exists(self, subject: Subject) -> None:
        provisioned = create(subject.provider, subject.order(subject.lease))
        sighting = subject.restart().look(subject.lease, subject.place)
        assert sighting.complete
        assert sorted(ids(sighting.left)) == sorted(r.id for r in provisioned.resources)

    def test_a_lease_without_resources_is_clean(self, subject: Subject) -> None:
        create(subject.provider, subject.order(subject.lease))
        sighting = subject.provider.look(subject.another, subject.place)
        assert (sighting.resources, sighting.complete, sighting.clean) == ((), True, True)

    def test_what_cannot_be_read_is_unknown_and_not_clean(self, subject: Subject) -> None:
        subject.break_reads()
        sighting = subject.provider.look(subject.lease, subject.place)
        assert (sighting.complete, sighting.clean) == (False, False)
        assert sighting.problem
        with pytest.raises(ProviderError):
            subject.watch.conditions(subject.place)

    def test_the_watch_shows_every_lease(self, subject: Subject) -> None:
        first, second = (create(subject.provider, subject.order(lease)) for lease in (subject.lease, subject.another))
        seen = {(resource.id, resource.lease) for resource in subject.watch.conditions(subject.place)}
        assert seen >= {(r.id, subject.lease) for r in first.resources}
        assert seen >= {(r.id, subject.another) for r in second.resources}

    def test_the_watch_says_since_when_a_machine_is_stopped(self, subject: Subject) -> None:
        provisioned = create(subject.provider, subject.order(subject.lease))
        if not provisioned.stoppable:
            pytest.skip("nothing of this provider can be stopped")
        stopped_at = subject.provider.stop(subject.lease, subject.place, silent)
        known = {r.id for r in provisioned.resources}
        seen = [r for r in subject.watch.conditions(subject.place) if r.id in known and r.kind in LEASED]
        assert {(r.condition, r.changed_at) for r in seen} == {(Condition.STOPPED, stopped_at)}

    # -- living ---------------------------------------------------------------------------------------------------

    def test_stop_and_start_can_be_repeated(self, subject: Subject) -> None:
        provisioned = create(subject.provider, subject.order(subject.lease))
        if not provisioned.stoppable:
            pytest.skip("nothing of this provider can be stopped")
        stopped = subject.provider.stop(subject.lease, subject.place, silent)
        assert subject.restart().stop(subject.lease, subject.place, silent) == stopped
        assert main_conditions(subject) == {Condition.STOPPED}
        started = subject.provider.start(subject.lease, subject.place, silent)
        assert subject.restart().start(subject.lease, subject.place, silent) == started
        assert main_conditions(subject) == {Condition.RUNNING}
        assert stopped.tzinfo is started.tzinfo is UTC

    def test_the_end_can_be_moved_again_and_again(self, subject: Subject) -> None:
        create(subject.provider, subject.order(subject.lease))
        for hours in (1, 2, 2):
            subject.provider.set_end(subject.lease, subject.place, subject.now() + timedelta(hours=hours))
        assert subject.provider.look(subject.lease, subject.place).complete

    def test_the_owner_can_be_written_again_and_again_and_moves_nothing_else(self, subject: Subject) -> None:
        provisioned = create(subject.provider, subject.order(subject.lease))
        for owner in ("U0FIRST", "U0SECOND", "U0SECOND"):
            subject.restart().set_owner(subject.lease, subject.place, owner, "vision", "4711")
        assert main_conditions(subject) == {Condition.RUNNING}
        subject.provider.delete(subject.lease, subject.place, provisioned.resources, silent)
        assert subject.existing(subject.lease) == []

    # -- ending ---------------------------------------------------------------------------------------------------

    def test_delete_can_be_repeated_and_is_seen_clean(self, subject: Subject) -> None:
        provisioned = create(subject.provider, subject.order(subject.lease))
        for provider in (subject.provider, subject.restart()):
            provider.delete(subject.lease, subject.place, provisioned.resources, silent)
        assert subject.existing(subject.lease) == []
        assert subject.provider.look(subject.lease, subject.place).clean

    def test_delete_needs_no_record_of_what_the_launch_itself_proves(self, subject: Subject) -> None:
        create(subject.provider, subject.order(subject.lease))
        subject.restart().delete(subject.lease, subject.place, (), silent)
        assert subject.existing(subject.lease) == []

    def test_delete_spares_other_leases(self, subject: Subject) -> None:
        mine, theirs = (create(subject.provider, subject.order(lease)) for lease in (subject.lease, subject.another))
        undated = [replace(resource, created_at=None) for resource in theirs.resources]
        subject.provider.delete(subject.lease, subject.place, (*mine.resources, *undated), silent)
        assert sorted(subject.existing(subject.another)) == sorted(r.id for r in theirs.resources)

    def test_delete_spares_what_only_carries_the_tag(self, subject: Subject) -> None:
        """Law 3: a tag can be copied. The foreign thing is named, everything else goes all the same (law 11)."""
        provisioned = create(subject.provider, subject.order(subject.lease))
        foreign = subject.copy_tags(subject.lease)
        with pytest.raises(PermanentError, match=foreign):
            subject.provider.delete(subject.lease, subject.place, provisioned.resources, silent)
        assert subject.existing(subject.lease) == [foreign]
        assert ids(subject.provider.look(subject.lease, subject.place).left) == [foreign]

    def test_deleting_nothing_succeeds(self, subject: Subject) -> None:
        subject.provider.delete(subject.lease, subject.place, (), silent)

    def test_a_launch_of_late_that_is_not_shown_is_not_gone(self, subject: Subject) -> None:
        """Case C08: a record of minutes ago without a trace may be a machine that is not listed yet."""
        lately = Resource(Kind.INSTANCE, "i-0123456789abcdef0", token="t", created_at=subject.now())
        with pytest.raises(RetryableError, match="i-0123456789abcdef0"):
            subject.provider.delete(subject.lease, subject.place, [lately], silent)
        long_ago = replace(lately, created_at=subject.now() - timedelta(minutes=10))
        subject.provider.delete(subject.lease, subject.place, [long_ago], silent)

    # -- errors ---------------------------------------------------------------------------------------------------

    def test_throttling_is_retryable_and_says_nothing_of_what_exists(self, subject: Subject) -> None:
        provisioned = create(subject.provider, subject.order(subject.lease))
        subject.throttle(1)
        with pytest.raises(RetryableError):
            subject.provider.delete(subject.lease, subject.place, provisioned.resources, silent)
        assert sorted(subject.existing(subject.lease)) == sorted(r.id for r in provisioned.resources)

    def test_an_unknown_place_is_refused(self, subject: Subject) -> None:
        with pytest.raises(PermanentError, match="nowhere"):
            subject.provider.look(subject.lease, replace(subject.place, name="nowhere"))


def clear(subject: Subject, orders: Sequence[Order]) -> None:
    """Take down whatever stopped attempts left, beside each other; nothing may remain."""
    provider = subject.restart()
    with ThreadPoolExecutor(len(orders)) as threads:
        list(threads.map(lambda one: provider.delete(one.lease_id, one.request.place, (), silent), orders))
    for order in orders:
        assert subject.existing(order.lease_id) == []


def main_conditions(subject: Subject) -> set[Condition]:
    left = subject.provider.look(subject.lease, subject.place).left
    return {r.condition for r in left if r.kind in LEASED}


def ids(resources: Iterable[Resource]) -> list[str]:
    return [resource.id for resource in resources]
