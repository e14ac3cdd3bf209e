"""EC2 in a box for tests: the simulated AWS with a clock that only waiting moves, and a provider that works in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import boto3

from lessor.catalog import load_catalogue
from lessor.domain.provisioning import Candidate, Order, Provisioned
from lessor.domain.request import Market, Need, Place, Request
from lessor.domain.resource import Kind, Resource
from lessor.ports import Heartbeat, NoCapacityError
from lessor.providers.aws import Ec2Place, Ec2Provider
from lessor.providers.aws.site import Site
from lessor.providers.aws.types import InstanceTypes, TypeFacts
from lessor.sandbox.aws.controls import Controls
from lessor.sandbox.aws.identity import administrator_key
from lessor.sandbox.aws.server import RunningSimulator
from tests.builders import LEASE_ID, a_request
from tests.providers.attempts import silent

CATALOGUE = load_catalogue()
_FACTS: dict[str, Mapping[str, TypeFacts]] = {}


class SharedTypes(InstanceTypes):
    """Reads a region's instance types once for all tests: they never change, and the simulator is slow to list them."""

    def all(self, site: Site) -> Mapping[str, TypeFacts]:
        if site.region not in _FACTS:
            _FACTS[site.region] = super().all(site)
        return _FACTS[site.region]


class SharedClients(boto3.Session):
    """Makes each client once for all tests: they hold no state, and making one takes a tenth of a second."""

    @cache  # noqa: B019
    def client(self, service: str, region_name: str, **settings: Any) -> Any:
        return super().client(service, region_name=region_name, **settings)  # type: ignore[call-overload]


@cache
def shared_session() -> SharedClients:
    """The session of all providers; first made when the environment names the simulated AWS."""
    return SharedClients()


@dataclass
class World:
    """The simulated AWS and a provider. `slept` are the pauses that the provider made, in seconds."""

    simulator: RunningSimulator
    places: dict[str, Ec2Place]
    slept: list[float] = field(default_factory=list)

    @property
    def controls(self) -> Controls:
        return self.simulator.controls

    def now(self) -> datetime:
        return self.simulator.cloud.state.clock.now()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.controls.advance(seconds)

    def provider(self, **changes: Any) -> Ec2Provider:
        """A provider that knows nothing yet, as after a restart of the worker."""
        settings: dict[str, Any] = {"session_factory": shared_session, "clock": self.now, "sleep": self.sleep}
        settings["types"] = SharedTypes(CATALOGUE, self.now)
        return Ec2Provider(self.places, CATALOGUE, **(settings | changes))

    def order(
        self,
        provider: Ec2Provider,
        need: Need | None = None,
        market: Market = Market.ON_DEMAND,
        lease_id: str = LEASE_ID,
        **changes: Any,
    ) -> Order:
        """An approved order for one A10G, unless said otherwise."""
        fields: dict[str, Any] = {
            "need": need or Need("A10G", 1),
            "place": place(),
            "market": market,
            "duration": timedelta(hours=8),
        }
        request: Request = replace(a_request(), **(fields | changes))
        quote = provider.quote(request.need, request.place, market, self.now())
        return Order(lease_id, request, quote, "U0REQUESTER", "ml", "cc-7", self.now() + timedelta(hours=8))

    def lease(self, provider: Ec2Provider, order: Order) -> Provisioned:
        """What the provisioning activity does: try the candidates, then wait."""
        return provider.await_usable(order, launch_first(provider, order), silent)

    @property
    def administrator(self) -> Any:
        """EC2 in us-east-1 as the people who own the account."""
        return administrator("us-east-1")

    def alive(self, lease_id: str | None = None) -> list[str]:
        """Ids of machines that are not terminated, as the simulator knows them."""
        return [r.id for r in self.controls.leftovers(lease_id) if r.kind == "instance"]


@cache
def administrator(region: str) -> Any:
    """EC2 as the people who own the account; the environment names the simulated AWS when this is first called."""
    return boto3.Session().client(
        "ec2", region_name=region, aws_access_key_id=administrator_key(), aws_secret_access_key="s"
    )


def place(**changes: Any) -> Place:
    return Place(**({"provider": "aws", "name": "research", "region": "us-east-1"} | changes))


def launch_first(
    provider: Ec2Provider,
    order: Order,
    candidates: Sequence[Candidate] | None = None,
    heartbeat: Heartbeat = silent,
) -> tuple[Resource, ...]:
    """Launch the first candidate that has capacity. Raises `NoCapacityError` with all that was tried."""
    tried: list[str] = []
    for candidate in provider.candidates(order) if candidates is None else candidates:
        try:
            return provider.launch(order, candidate, heartbeat)
        except NoCapacityError as error:
            tried += error.tried
    raise NoCapacityError("nothing has capacity", tuple(tried))


def instances(resources: Sequence[Resource]) -> list[str]:
    return [resource.id for resource in resources if resource.kind is Kind.INSTANCE]


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Run the calls at the same time in threads; what each returned or raised, in order."""
    results: list[Any] = [None] * len(calls)
    barrier = threading.Barrier(len(calls))

    def run(index: int, call: Callable[[], Any]) -> None:
        barrier.wait(60)
        try:
            results[index] = call()
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(i, call)) for i, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results
