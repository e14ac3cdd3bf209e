"""The lives that leases have in a place, as the provisioning activity leads them."""

from __future__ import annotations

from collections.abc import Callable

from lessor.domain.provisioning import Order, Provisioned
from lessor.ports import Provider
from tests.providers.attempts import Beats, silent


def create(provider: Provider, order: Order) -> Provisioned:
    return provider.await_usable(order, provider.launch(order, provider.candidates(order)[0], silent), silent)


def whole_life(provider: Provider, order: Order, watched: str, beats: Beats) -> None:
    """A lease from launch to deletion; `watched` is the call that gets `beats`."""

    def beat(call: str) -> Callable[[str], None]:
        return beats if call == watched else silent

    place = order.request.place
    candidate = provider.candidates(order)[0]
    resources = provider.launch(order, candidate, beat("launch"))
    provisioned = provider.await_usable(order, resources, beat("await_usable"))
    provider.stop(order.lease_id, place, beat("stop"))
    provider.delete(order.lease_id, place, provisioned.resources, beat("delete"))
